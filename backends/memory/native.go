package memory

import (
	"fmt"
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
	wishes := map[*native]*wishes{}
	for i := range ops[:end] {
		if next[i] == nil {
			continue
		}
		for _, n := range s.views[ops[i].Table].natives {
			wanted, err := n.of(next[i])
			if err != nil {
				return nil, err
			}
			if n.table.Class != driver.Claims || len(wanted) == 0 {
				continue
			}
			if wishes[n] == nil {
				if wishes[n], err = s.wishes(n, ops, next); err != nil {
					return nil, err
				}
			}
			if other := wishes[n].rival(wanted, next[i].key); other != nil {
				refusal := &driver.Refusal{Op: i, Native: n.table.Name}
				s.views[ops[i].Table].load(&refusal.Row, other.driverKey(), other, nil)
				return refusal, nil
			}
		}
	}
	return nil, nil
}

// A wishes is what ops make of the records of a unique native table: the rows as they leave
// them, nil where there is none then, by key and by the entries that they would have.
type wishes struct {
	*native
	rows    map[string]*row
	entries map[driver.Key][]*row
}

func (s *Store) wishes(n *native, ops []driver.Op, next []*row) (*wishes, error) {
	w := &wishes{native: n, rows: map[string]*row{}, entries: map[driver.Key][]*row{}}
	home := s.tables[n.table.Home.Name]
	for i := range ops {
		if s.views[ops[i].Table].table != home || ops[i].Do == driver.Check {
			continue
		}
		w.rows[ops[i].Row.Key.Partition+ops[i].Row.Key.Sort] = next[i]
		entries, err := n.of(next[i])
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			w.entries[e] = append(w.entries[e], next[i])
		}
	}
	return w, nil
}

// rival returns a row, but the one of a key, that has an entry which that one would have: one that
// no op writes, or as another op leaves it, of these the first by its key.
func (w *wishes) rival(wanted []driver.Key, key string) (other *row) {
	for _, e := range wanted {
		if at := w.native.rows.get(e.Partition + e.Sort); at != nil {
			if _, ok := w.rows[at.of.key]; !ok {
				return at.of
			}
		}
	}
	for _, e := range wanted {
		for _, r := range w.entries[e] {
			if r.key != key && (other == nil || r.key < other.key) {
				other = r
			}
		}
	}
	return other
}
