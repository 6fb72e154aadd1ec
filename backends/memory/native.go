package memory

import (
	"fmt"
	"maps"
	"slices"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A native is a native index: its entries, as rows that each stand for one of the records.
type native struct {
	table   *driver.Table
	entries *backend.Entries
	rows    rows
}

// fitsNative says what speaks against a native table beside what there is.
func (s *Store) fitsNative(t *driver.Table, tables []*driver.Table) error {
	if err := backend.ValidateNative(t); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	if s.tables[t.Name] != nil {
		return fmt.Errorf("memory: %w", backend.OtherKey(t))
	}
	home := s.tables[t.Home.Name]
	if home == nil {
		if !slices.Contains(tables, t.Home) {
			return schema("native table %s: its home %s is not there; define it first", t.Name, t.Home.Name)
		}
		return nil
	}
	if have := home.natives[t.Name]; have != nil && !sameNative(have.table, t) {
		return fmt.Errorf("memory: %w", backend.OtherKey(t))
	}
	return nil
}

func sameNative(a, b *driver.Table) bool {
	return a.Class == b.Class && slices.Equal(a.Partition, b.Partition) && slices.Equal(a.Sort, b.Sort)
}

// defineNative makes a native table that fits. Records that have a value of a unique one
// together are ErrExists.
func (s *Store) defineNative(t *driver.Table) error {
	home := s.tables[t.Home.Name]
	if home.natives[t.Name] == nil {
		n := &native{table: t, entries: backend.NewEntries(t)}
		if err := n.fill(&home.rows); err != nil {
			return err
		}
		if home.natives == nil {
			home.natives = map[string]*native{}
		}
		home.natives[t.Name] = n
	}
	v := newView(home, t.Home)
	v.native = home.natives[t.Name]
	s.views[t] = v
	return nil
}

// fill adds the entries of all records.
func (n *native) fill(records *rows) error {
	for _, block := range records.blocks {
		for _, r := range block {
			entries, err := n.of(r)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if other := n.rows.get(e.Partition + e.Sort); other != nil {
					return driver.Errorf("memory: unique table %s: the records %q and %q have the same values: %w", n.table.Name, driver.Private(other.of.key), driver.Private(r.key), driver.ErrExists)
				}
			}
			n.add(entries, r)
		}
	}
	return nil
}

// of returns the entries of a record.
func (n *native) of(r *row) ([]driver.Key, error) {
	if r == nil || r.dead {
		return nil, nil
	}
	entries, err := n.entries.Of(r.driverKey(), r.field)
	if err != nil {
		return nil, fmt.Errorf("memory: table %s: %w", n.table.Name, err)
	}
	return entries, nil
}

func (n *native) add(entries []driver.Key, r *row) {
	for _, e := range entries {
		n.rows.set(&row{key: e.Partition + e.Sort, cut: len(e.Partition), of: r})
	}
}

// move makes the entries of a record those of what it is next. Those of next were made
// before without an error.
func (n *native) move(old, next *row) {
	gone, _ := n.of(old)
	for _, e := range gone {
		if at := n.rows.get(e.Partition + e.Sort); at != nil && at.of == old {
			n.rows.remove(at.key)
		}
	}
	entries, _ := n.of(next)
	n.add(entries, next)
}

// refuseNative returns the refusal of the first op after which two rows would have a
// value of a unique native table together. Next has the rows as the ops leave them; of
// those from end on, which are not done, nothing remains. An error says that a row can have
// no entries.
func (s *Store) refuseNative(ops []driver.Op, next []*row, end int) (*driver.Refusal, error) {
	for i := range ops[:end] {
		if next[i] == nil {
			continue
		}
		for _, n := range s.views[ops[i].Table].natives {
			wanted, err := n.of(next[i])
			if err != nil {
				return nil, err
			}
			other, err := s.rival(n, wanted, ops, next, i)
			if err != nil {
				return nil, err
			}
			if other != nil {
				refusal := &driver.Refusal{Op: i, Native: n.table.Name}
				s.views[ops[i].Table].load(&refusal.Row, other.driverKey(), other, nil)
				return refusal, nil
			}
		}
	}
	return nil, nil
}

// rival returns a row that has an entry of a unique native table which an op would write:
// one that no op writes, or as another op leaves it.
func (s *Store) rival(n *native, wanted []driver.Key, ops []driver.Op, next []*row, i int) (*row, error) {
	if n.table.Class != driver.Claims || len(wanted) == 0 {
		return nil, nil
	}
	written := s.written(ops, next, s.tables[n.table.Home.Name])
	for _, e := range wanted {
		if at := n.rows.get(e.Partition + e.Sort); at != nil {
			if _, ok := written[at.of.key]; !ok {
				return at.of, nil
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(written)) {
		if key == next[i].key {
			continue
		}
		entries, err := n.of(written[key])
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(entries, func(e driver.Key) bool { return slices.Contains(wanted, e) }) {
			return written[key], nil
		}
	}
	return nil, nil
}

// written returns the rows of a table as ops leave them, nil where there is none then.
func (s *Store) written(ops []driver.Op, next []*row, in *table) map[string]*row {
	rows := map[string]*row{}
	for i := range ops {
		if s.views[ops[i].Table].table == in && ops[i].Do != driver.Check {
			rows[ops[i].Row.Key.Partition+ops[i].Row.Key.Sort] = next[i]
		}
	}
	return rows
}
