package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A native is a native index: its entries, as rows that each stand for one of the records.
type native struct {
	table   *driver.Table
	entries *frame.Entries
	rows    rows
}

// Native makes a native table that fits, or sees that it is there. Records that have a value of a unique one
// together are ErrExists.
func (s *store) Native(_ context.Context, doing string, t *driver.Table, define bool) (*view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	home := s.tables[t.Home.Name]
	if home == nil {
		return nil, who.Schema("native table %s: its home %s is not there; define it first", t.Name, t.Home.Name)
	}
	n := home.natives[t.Name]
	switch {
	case s.tables[t.Name] != nil, n != nil && !sameNative(n.table, t):
		return nil, who.Wrap(frame.OtherKey(t))
	case n == nil && !define:
		return nil, who.Schema("%s %s: there is no such index; define it first", doing, t.Name)
	case n == nil:
		n = &native{table: t, entries: frame.NewEntries(t)}
		if err := n.fill(&home.rows); err != nil {
			return nil, err
		}
		home.natives[t.Name] = n
	}
	return &view{Table: frame.NewTable(t.Home, nil), table: home, native: n}, nil
}

func sameNative(a, b *driver.Table) bool {
	return a.Class == b.Class && slices.Equal(a.Partition, b.Partition) && slices.Equal(a.Sort, b.Sort)
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
func refuseNative(ops []driver.Op, views []*view, next []*row, end int) (*driver.Refusal, error) {
	wishes := map[*native]*wishes{}
	for i := range ops[:end] {
		if next[i] == nil {
			continue
		}
		for _, n := range views[i].natives {
			wanted, err := n.of(next[i])
			if err != nil {
				return nil, err
			}
			if n.table.Class != driver.Claims || len(wanted) == 0 {
				continue
			}
			if wishes[n] == nil {
				if wishes[n], err = n.wishes(ops, views, next); err != nil {
					return nil, err
				}
			}
			if other := wishes[n].rival(wanted, next[i].key); other != nil {
				refusal := &driver.Refusal{Op: i, Native: n.table.Name}
				views[i].load(&refusal.Row, other.driverKey(), other, nil)
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

func (n *native) wishes(ops []driver.Op, views []*view, next []*row) (*wishes, error) {
	w := &wishes{native: n, rows: map[string]*row{}, entries: map[driver.Key][]*row{}}
	for i := range ops {
		if views[i].natives[n.table.Name] != n || ops[i].Do == driver.Check {
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
