package mongo

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A state is what the server has of tables.
type state struct {
	store   *store
	doing   string
	entries map[string]*entry
}

// Tables reads what the server has of tables, and says what speaks against them.
func (s *store) Tables(ctx context.Context, doing string, tables []*driver.Table) (frame.Tables[view], error) {
	for _, t := range tables {
		if err := s.catalog.possible(t); err != nil {
			return nil, err
		}
	}
	have, err := s.catalog.entries(ctx, doing, tables)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if _, err := have[t.Name].lacks(t); err != nil {
			return nil, err
		}
	}
	return &state{s, doing, have}, nil
}

// Absent says what the server lacks of a table.
func (st *state) Absent(t *driver.Table) error {
	e := st.entries[t.Name]
	if !e.made {
		return who.NoTable(st.doing, t)
	}
	missing, _ := e.lacks(t)
	return e.Absent(who, st.doing, t, missing)
}

// Declare adds to the server what it lacks of tables.
func (st *state) Declare(ctx context.Context, tables []*driver.Table) error {
	for _, t := range tables {
		if err := st.declare(ctx, t, st.entries[t.Name]); err != nil {
			return err
		}
	}
	return nil
}

// declare adds to the server what it lacks of a table: to the catalog first, so that a
// collection of which it says nothing is another program's. Where another program is
// first, its word stands.
func (st *state) declare(ctx context.Context, t *driver.Table, e *entry) error {
	missing, err := e.lacks(t)
	if err != nil {
		return err
	}
	if e.Header == "" {
		created, err := st.store.catalog.describe(ctx, t)
		if err != nil {
			return err
		}
		if created {
			missing = nil
		}
	}
	if len(missing) > 0 {
		if err := st.store.catalog.addFields(ctx, t, missing); err != nil {
			return err
		}
	}
	if e.made {
		return nil
	}
	w := command("create", st.store.catalog.prefix+t.Name)
	return st.store.conn.alter(ctx, "define "+t.Name, &w, codeNamespaceExists)
}

// View returns the view of a table.
func (st *state) View(t *driver.Table) *view { return st.store.newView(t, st.entries[t.Name]) }

// possible says what this store cannot have in a table.
func (c *catalog) possible(t *driver.Table) error {
	if t.Name == catalogName || c.prefix == "" && strings.HasPrefix(t.Name, "system.") {
		return who.Invalid("table %s: the collection of this name is taken for something else; take another name, or a prefix", t.Name)
	}
	for _, f := range t.Fields {
		if !possibleName(f.Name) {
			return who.Invalid("table %s declares the field %q, which documents cannot have, or have for something else; take another name", t.Name, f.Name)
		}
	}
	return nil
}

// possibleName reports whether documents can have a field of a name at their top.
func possibleName(name string) bool {
	return name != "" && !strings.ContainsAny(name, ".$\x00") && !slices.Contains(libraryFields[:], name)
}
