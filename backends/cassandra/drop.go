package cassandra

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Drop removes the tables with all their rows: one of records by one statement, together
// with the rows of its indexes; an index alone by the commits of a walk.
func (s *store) Drop(ctx context.Context, tables []*driver.Table) error {
	if err := s.catalog.look(ctx, "drop"); err != nil {
		return err
	}
	entries := map[string]*entry{}
	for _, t := range tables {
		e, err := s.catalog.entry(ctx, "drop "+t.Name, t.Name)
		if err != nil {
			return err
		}
		if e.Header != "" { // a table that the catalog has not is another program's
			entries[t.Name] = e
		}
	}
	var homes []string
	for name, e := range entries {
		var err error
		switch {
		case e.home == name:
			homes = append(homes, name)
		case entries[e.home] != nil:
		case e.native():
			err = s.catalog.dropNative(ctx, name, e)
		default:
			err = s.dropRows(ctx, name, e)
		}
		if err != nil {
			return err
		}
	}
	return s.catalog.dropHomes(ctx, homes)
}

// native reports whether an entry is that of a native index.
func (e *entry) native() bool {
	h, ok := frame.ParseHeader(e.Header)
	return ok && h.Native
}

// dropNative removes a native index from the catalog, and then from the server the indexes
// of its fields that no other has.
func (c *catalog) dropNative(ctx context.Context, name string, e *entry) error {
	doing := "drop " + name
	if _, err := c.decide(ctx, doing, dropEntry, name); err != nil {
		return err
	}
	fields, err := e.wanted(name)
	if err != nil {
		return err
	}
	others, err := c.local(ctx, e.home)
	if err != nil {
		return err
	}
	for _, other := range others {
		o, err := c.entry(ctx, doing, other)
		if err != nil {
			return err
		}
		if !o.native() {
			continue
		}
		kept, err := o.wanted(other)
		if err != nil {
			return err
		}
		fields = slices.DeleteFunc(fields, func(f string) bool { return slices.Contains(kept, f) })
	}
	for _, f := range fields {
		if err := c.conn.change(ctx, doing, "DROP INDEX IF EXISTS "+quoted(indexName(physicalName(e.home), f))); err != nil {
			return err
		}
	}
	return nil
}

// wanted returns the columns of the partition of an entry's table: among them are the
// fields that have indexes.
func (e *entry) wanted(name string) ([]string, error) {
	t, err := e.table(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range t.Partition {
		names = append(names, prefixOf(t)+c.Name)
	}
	return names, nil
}

// dropHomes removes tables of records, and then what the catalog says of them and, before
// that, of the indexes whose rows lay in them. The catalog is left alone while tables are
// removed: with each, the server brings to disk whatever table has changed since the last.
func (c *catalog) dropHomes(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := c.conn.change(ctx, "drop "+name, "DROP TABLE IF EXISTS "+quoted(physicalName(name))); err != nil {
			return err
		}
	}
	local, err := c.local(ctx, names...)
	if err != nil {
		return err
	}
	for _, list := range [][]string{local, names} {
		err := atOnce(ctx, len(list), func(ctx context.Context, i int) error {
			_, err := c.decide(ctx, "drop "+list[i], dropEntry, list[i])
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropRows removes the rows of an index from the table of its records, and then what the
// catalog says of it.
func (s *store) dropRows(ctx context.Context, name string, e *entry) error {
	t, err := e.table(name)
	if err != nil {
		return err
	}
	p, err := s.conn.physical(ctx, "drop "+name, physicalName(e.home))
	if err != nil {
		return err
	}
	if p.made {
		v := s.newView(t, e, p)
		s.frame.Know(t, v)
		defer s.frame.Forget(t)
		if err := s.removeAll(ctx, v); err != nil {
			return err
		}
	}
	_, err = s.catalog.decide(ctx, "drop "+name, dropEntry, name)
	return err
}

// removeAll walks rows and removes them, those of a partition in a chunk by one commit.
// Chunks after what was removed are asked for from the beginning, where nothing is left.
func (s *store) removeAll(ctx context.Context, v *view) error {
	for from := ""; ; {
		chunk, err := s.chunk(ctx, v, from)
		if err != nil {
			return err
		}
		for rows := chunk.Rows; len(rows) > 0; {
			n := slices.IndexFunc(rows, func(r driver.Row) bool { return r.Key.Partition != rows[0].Key.Partition })
			if n < 0 {
				n = len(rows)
			}
			if err := s.remove(ctx, v, rows[:n]); err != nil {
				return err
			}
			rows = rows[n:]
		}
		if from = chunk.Mark; from == "" {
			return nil
		}
	}
}

// remove removes rows of one partition. Those that are gone already are no reason not to,
// so that the condition is none that can fail.
func (s *store) remove(ctx context.Context, v *view, rows []driver.Row) error {
	c := commit{store: s, token: driver.NewToken(), ops: make([]driver.Op, len(rows)), plan: make([]planned, len(rows))}
	for i := range rows {
		c.ops[i] = driver.Op{Do: driver.Delete, Row: driver.Row{Key: rows[i].Key}}
		c.plan[i] = planned{Op: &c.ops[i], v: v}
	}
	_, err := who.Contend(ctx, s.conn.addr, func() (*driver.Refusal, error) { return c.attempt(ctx) })
	return err
}

// table returns what an entry describes, without fields, which do not matter to whoever
// removes it.
func (e *entry) table(name string) (*driver.Table, error) {
	h, ok := frame.ParseHeader(e.Header)
	if !ok {
		return nil, who.Corrupt("drop %s: the row %q of the table %s does not describe a table", name, name, catalogName)
	}
	parts, err1 := frame.ParseColumns(h.Partition)
	sort, err2 := frame.ParseColumns(h.Sort)
	if err1 != nil || err2 != nil {
		return nil, who.Corrupt("drop %s: the row %q of the table %s has a column of an unknown kind", name, name, catalogName)
	}
	home := &driver.Table{Name: e.home, Partition: parts}
	switch h.Of {
	case "":
	case name:
		return &driver.Table{Name: name, Partition: parts, Sort: sort, Home: home}, nil
	default:
		home = &driver.Table{Name: h.Of, Partition: parts, Home: home}
	}
	return &driver.Table{Name: name, Class: driver.Rows, Partition: parts, Sort: sort, Home: home}, nil
}
