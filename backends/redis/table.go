package redis

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A state is what the catalog has of tables.
type state struct {
	store   *store
	doing   string
	entries map[string]*frame.Entry
}

// Tables reads what the catalog has of tables, and says what speaks against them.
func (s *store) Tables(ctx context.Context, doing string, tables []*driver.Table) (frame.Tables[view], error) {
	for _, t := range tables {
		if err := possible(t); err != nil {
			return nil, err
		}
	}
	have, err := s.conn.entries(ctx, doing, tables...)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if _, err := lacks(have[t.Name], t); err != nil {
			return nil, err
		}
	}
	return &state{s, doing, have}, nil
}

// Absent says what the catalog lacks of a table.
func (st *state) Absent(t *driver.Table) error {
	missing, _ := lacks(st.entries[t.Name], t)
	return st.entries[t.Name].Absent(who, st.doing, t, missing)
}

// View returns the view of a table.
func (st *state) View(t *driver.Table) *view { return st.store.newView(t, st.entries[t.Name]) }

// Declare adds to the catalog what it lacks of tables. Where another program is first, its
// word stands.
func (st *state) Declare(ctx context.Context, tables []*driver.Table) error {
	c := st.store.conn
	for _, t := range tables {
		e := st.entries[t.Name]
		if e.Header == "" {
			created, err := c.create(ctx, t)
			if err != nil {
				return err
			}
			if created {
				continue
			}
			again, err := c.entries(ctx, "define", t)
			if err != nil {
				return err
			}
			e = again[t.Name]
		}
		missing, err := lacks(e, t)
		if err != nil {
			return err
		}
		for _, f := range missing {
			known := frame.Known{Kind: f.Kind, Later: true}
			if _, err := c.ask(ctx, "define "+t.Name, "hsetnx", c.prefix+catalogName+t.Name, f.Name, known.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// possible says what this store cannot have in a table.
func possible(t *driver.Table) error {
	for _, f := range t.Fields {
		if f.Name == "" || strings.HasPrefix(f.Name, ".") || slices.Contains(metaNames[:], f.Name) {
			return who.Invalid("table %s declares the field %q, which rows have for something else; take another name", t.Name, f.Name)
		}
	}
	return nil
}
