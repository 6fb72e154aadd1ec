package cassandra

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A state is what the server has of some tables: what the catalog says of each, and
// the tables in which their rows lie, by the names of their homes.
type state struct {
	store     *store
	doing     string
	entries   map[string]*entry
	physicals map[string]*physical
}

// Tables reads what the server has of tables, and says what speaks against them. It waits until
// the server knows those that it lists.
func (s *store) Tables(ctx context.Context, doing string, tables []*driver.Table) (frame.Tables[view], error) {
	for _, t := range tables {
		if err := possible(t); err != nil {
			return nil, err
		}
	}
	if err := s.catalog.look(ctx, doing); err != nil {
		return nil, err
	}
	st, err := s.stateOf(ctx, doing, tables)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if err := st.refuses(t); err != nil {
			return nil, err
		}
	}
	return st, st.settle(ctx, tables)
}

// View returns the view of a table.
func (st *state) View(t *driver.Table) *view {
	return st.store.newView(t, st.entries[t.Name], st.physicals[t.Root().Name])
}

// stateOf reads what the server has of tables, all at once.
func (s *store) stateOf(ctx context.Context, doing string, tables []*driver.Table) (*state, error) {
	homes := homesOf(tables)
	var named []string
	for _, t := range slices.Concat(tables, homes) {
		if !slices.Contains(named, t.Name) {
			named = append(named, t.Name)
		}
	}
	entries, physicals := make([]*entry, len(named)), make([]*physical, len(homes))
	err := atOnce(ctx, len(named)+len(homes), func(ctx context.Context, i int) (err error) {
		if i < len(named) {
			entries[i], err = s.catalog.entry(ctx, doing+" "+named[i], named[i])
			return err
		}
		i -= len(named)
		physicals[i], err = s.conn.physical(ctx, doing+" "+homes[i].Name, physicalName(homes[i].Name))
		return err
	})
	st := &state{s, doing, map[string]*entry{}, map[string]*physical{}}
	for i, name := range named {
		st.entries[name] = entries[i]
	}
	for i, home := range homes {
		st.physicals[home.Name] = physicals[i]
	}
	return st, err
}

// homesOf returns the tables in which the rows of tables lie, each once.
func homesOf(tables []*driver.Table) (homes []*driver.Table) {
	for _, t := range tables {
		if home := t.Root(); !slices.ContainsFunc(homes, func(h *driver.Table) bool { return h.Name == home.Name }) {
			homes = append(homes, home)
		}
	}
	return homes
}

// refuses says what speaks against t beside what the server has.
func (st *state) refuses(t *driver.Table) error {
	if _, err := st.entries[t.Name].lacks(t); err != nil {
		return err
	}
	home := t.Root()
	p := st.physicals[home.Name]
	switch {
	case home != t && st.entries[home.Name].Header == "" && t.Class == driver.Records:
		return who.Schema("table %s: its home %s is not there; define it first", t.Name, home.Name)
	case !p.made:
		return nil
	case st.entries[home.Name].Header == "":
		return who.Schema("table %s: there is a table %s, and another program made it; use another keyspace, or remove it", t.Name, physicalName(home.Name))
	}
	if odd := p.odd(t); odd != "" {
		return who.Schema("table %s: the table %s %s, so another program made it; use another keyspace, or remove it", t.Name, physicalName(home.Name), odd)
	}
	return nil
}

// Absent says what of a table is not there.
func (st *state) Absent(t *driver.Table) error {
	e, p := st.entries[t.Name], st.physicals[t.Root().Name]
	switch {
	case e.Header == "" || !p.made:
		return who.NoTable(st.doing, t)
	case e.Layout < layout:
		return who.Schema("attach %s: it has the layout %d of an earlier release, and this one writes %d; define it once, with no program of that release beside", t.Name, e.Layout, layout)
	}
	missing, _ := e.lacks(t)
	if err := e.Absent(who, st.doing, t, missing); err != nil {
		return err
	}
	if missing := p.missing(t); len(missing) > 0 {
		return who.Schema("attach %s: there is no column %s; define the table first", t.Name, missing[0].Name)
	}
	return nil
}

// Declare adds to the server what it lacks of tables: to the catalog first, so that a
// table of which it says nothing is another program's.
func (st *state) Declare(ctx context.Context, tables []*driver.Table) error {
	if err := st.store.catalog.ready(ctx); err != nil {
		return err
	}
	first := map[string]bool{} // this program was the first to say so
	for _, t := range tables {
		e := st.entries[t.Name]
		missing, err := e.lacks(t)
		if err == nil {
			err = st.store.catalog.raise(ctx, t.Name, e)
		}
		if err != nil {
			return err
		}
		var won bool
		if e.Header == "" {
			if won, err = st.store.catalog.describe(ctx, t); err != nil {
				return err
			}
			if won {
				missing = nil
			} else if e, err = st.store.catalog.entry(ctx, "define "+t.Name, t.Name); err != nil {
				return err
			} else if missing, err = e.lacks(t); err != nil {
				return err
			}
		}
		if len(missing) > 0 {
			if won, err = st.store.catalog.addFields(ctx, t, missing); err != nil {
				return err
			}
		}
		first[t.Root().Name] = first[t.Root().Name] || won
	}
	for _, home := range homesOf(tables) {
		if err := st.build(ctx, home, tables, first[home.Name]); err != nil {
			return err
		}
	}
	return nil
}

// build makes the table of a home, or the columns that it lacks. A program that was not
// the first to say so waits for the one that was, because statements which change
// the schema at once, at several servers, disturb each other.
func (st *state) build(ctx context.Context, home *driver.Table, tables []*driver.Table, first bool) error {
	doing := "define " + home.Name
	all := *home
	all.Fields = nil
	for _, t := range append([]*driver.Table{home}, tables...) {
		for _, f := range t.Fields {
			f.Name = prefixOf(t) + f.Name
			if t.Root().Name == home.Name && !slices.ContainsFunc(all.Fields, func(c driver.Column) bool { return c.Name == f.Name }) {
				all.Fields = append(all.Fields, f)
			}
		}
	}
	var p *physical
	look := func() (done bool, err error) {
		p, err = st.store.conn.physical(ctx, doing, physicalName(home.Name))
		return err == nil && p.made && len(p.missing(&all)) == 0, err
	}
	done, err := look()
	if err == nil && !done && !first {
		done, err = who.Until(ctx, turn, 50*time.Millisecond, look)
	}
	if err != nil || done {
		return err
	}
	if !p.made {
		return st.store.conn.change(ctx, doing, makeTable(home, all.Fields))
	}
	for _, f := range p.missing(&all) {
		text := fmt.Sprintf("ALTER TABLE %s ADD IF NOT EXISTS %s %s", quoted(physicalName(home.Name)), quoted(f.Name), typeOf(f.Kind))
		if err := st.store.conn.change(ctx, doing, text); err != nil {
			return err
		}
	}
	return nil
}

// possible says what this store cannot have in a table.
func possible(t *driver.Table) error {
	home := t.Root()
	switch {
	case t.Name == catalogName:
		return who.Invalid("table %s: this name is taken for something else; take another name", t.Name)
	case home != t && home.Class != driver.Records:
		return who.Invalid("table %s: its home %s has no records", t.Name, home.Name)
	case t.Unconditional && (home != t || t.Class != driver.Rows):
		return who.Invalid("table %s is plain, and its %s are written with conditions", t.Name, home.Class)
	case !slices.Equal(t.Partition, home.Partition):
		return who.Invalid("table %s does not have the partition columns of %s", t.Name, home.Name)
	}
	for _, c := range slices.Concat(t.Partition, t.Fields) {
		if !possibleName(c.Name) {
			return who.Invalid("table %s declares the column %q, which tables cannot have, or have for something else; take another name", t.Name, c.Name)
		}
	}
	for _, f := range t.Fields {
		if slices.ContainsFunc(t.Partition, func(c driver.Column) bool { return c.Name == f.Name }) {
			return who.Invalid("table %s declares the field %s, which is a column of its partition", t.Name, f.Name)
		}
	}
	return nil
}

// possibleName reports whether tables can have a column of a name for a field.
func possibleName(name string) bool {
	return name != "" && name != sortColumn && name != writtenColumn && !isOwn(name)
}

// settle waits until the server knows the tables that it lists: it reads a row that there is not.
func (st *state) settle(ctx context.Context, tables []*driver.Table) error {
	homes := slices.DeleteFunc(homesOf(tables), func(h *driver.Table) bool { return !st.physicals[h.Name].made })
	return atOnce(ctx, len(homes), func(ctx context.Context, i int) error {
		names := quotedNames(homes[i].Partition)
		text := `SELECT "_sort" FROM ` + quoted(physicalName(homes[i].Name)) + ` WHERE "_sort" = '' AND ` + strings.Join(names, " = ? AND ") + " = ?"
		args := slices.Repeat([]any{some{}}, len(names))
		return settled(ctx, func() error {
			_, err := st.store.conn.read(ctx, "define "+homes[i].Name, gocql.One, text, args...)
			return err
		})
	})
}
