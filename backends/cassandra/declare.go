package cassandra

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// declare adds to the server what it lacks of tables: to the catalog first, so that a
// table of which it says nothing is another program's.
func (s *store) declare(ctx context.Context, tables []*driver.Table, st *state) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	first := map[string]bool{} // this program was the first to say so
	for _, t := range tables {
		e := st.entries[t.Name]
		missing, err := e.lacks(t)
		if err == nil {
			err = s.raise(ctx, t.Name, e)
		}
		if err != nil {
			return err
		}
		var won bool
		if e.Header == "" {
			if won, err = s.describe(ctx, t); err != nil {
				return err
			}
			if won {
				missing = nil
			} else if missing, err = s.stillMissing(ctx, t); err != nil {
				return err
			}
		}
		if len(missing) > 0 {
			if won, err = s.addFields(ctx, t, missing); err != nil {
				return err
			}
		}
		first[t.Root().Name] = first[t.Root().Name] || won
	}
	for i, t := range tables {
		home := t.Root()
		if !slices.ContainsFunc(tables[:i], func(o *driver.Table) bool { return o.Root().Name == home.Name }) {
			if err := s.build(ctx, home, tables, first[home.Name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// stillMissing returns the fields that an entry lacks which another program has made.
func (s *store) stillMissing(ctx context.Context, t *driver.Table) ([]driver.Column, error) {
	e, err := s.entry(ctx, "define "+t.Name, t.Name)
	if err != nil {
		return nil, err
	}
	return e.lacks(t)
}

// build makes the table of a home, or the columns that it lacks. A program that was not
// the first to say so waits for the one that was, because statements which change
// the schema at once, at several servers, disturb each other.
func (s *store) build(ctx context.Context, home *driver.Table, tables []*driver.Table, first bool) error {
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
		p, err = s.physical(ctx, doing, physicalName(home.Name))
		return err == nil && p.made && len(p.missing(&all)) == 0, err
	}
	done, err := look()
	if err == nil && !done && !first {
		done, err = s.awaitOther(ctx, look)
	}
	if err != nil || done {
		return err
	}
	if !p.made {
		return s.change(ctx, doing, makeTable(home, all.Fields))
	}
	for _, f := range p.missing(&all) {
		if err := s.change(ctx, doing, addColumn(home.Name, f)); err != nil {
			return err
		}
	}
	return nil
}
