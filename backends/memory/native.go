package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A native index is no rows here: its entries are made anew from the records whenever
// they are wanted. That is slow, and as plain as a reference ought to be.

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
	if have := home.natives[t.Name]; have != nil && !sameNative(have, t) {
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
		if err := s.alone(t); err != nil {
			return err
		}
		if home.natives == nil {
			home.natives = map[string]*driver.Table{}
		}
		home.natives[t.Name] = t
	}
	v := newView(home, t.Home)
	v.native = t
	s.views[t] = v
	return nil
}

// alone says which two records have a value of a unique native table together.
func (s *Store) alone(t *driver.Table) error {
	if t.Class != driver.Claims {
		return nil
	}
	owners := map[driver.Key]string{}
	home := &s.tables[t.Home.Name].rows
	for r := home.from(""); r != nil; r = home.from(r.key + "\x00") {
		entries, err := r.entries(t)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if other, ok := owners[e]; ok {
				return fmt.Errorf("memory: unique table %s: the records %q and %q have the same values: %w", t.Name, other, r.key, driver.ErrExists)
			}
			owners[e] = r.key
		}
	}
	return nil
}

// entries returns the entries that a row has in a native table.
func (r *row) entries(t *driver.Table) ([]driver.Key, error) {
	if r.dead {
		return nil, nil
	}
	entries, err := backend.Entries(t, r.driverKey(), r.field)
	if err != nil {
		return nil, fmt.Errorf("memory: table %s: %w", t.Name, err)
	}
	return entries, nil
}

// A listed is a row and its place in a native index.
type listed struct {
	place string
	row   *row
}

// rangeNative yields the rows of a span of a native index, as they were at first.
func (s *Store) rangeNative(ctx context.Context, span *driver.Span, yield func(*driver.Row, error) bool) {
	if err := s.read(ctx); err != nil {
		yield(nil, err)
		return
	}
	found, err := s.list(span)
	v := s.views[span.Table]
	s.mu.RUnlock()
	if err != nil {
		yield(nil, err)
		return
	}
	var out driver.Row
	for _, f := range found {
		if err := ended(ctx); err != nil {
			yield(nil, err)
			return
		}
		if v.load(&out, f.row.driverKey(), f.row, span.Mask); !yield(&out, nil) {
			return
		}
	}
}

// list returns the rows of a span of a native index, in its order. The caller has the
// lock.
func (s *Store) list(span *driver.Span) ([]listed, error) {
	v := s.views[span.Table]
	if v == nil {
		return nil, fmt.Errorf("memory: %w", backend.Unknown(span.Table))
	}
	if err := span.Table.Home.ValidateMask(span.Mask); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	return v.list(span)
}

// list returns the rows of a span of a native index, in its order.
func (v *view) list(span *driver.Span) ([]listed, error) {
	var found []listed
	for r := v.rows.from(""); r != nil; r = v.rows.from(r.key + "\x00") {
		entries, err := r.entries(v.native)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if e.Partition == span.Key.Partition && e.Sort >= span.From && (span.To == "" || e.Sort < span.To) {
				found = append(found, listed{e.Sort, r})
			}
		}
	}
	slices.SortFunc(found, func(a, b listed) int {
		if span.Reverse {
			a, b = b, a
		}
		return strings.Compare(a.place, b.place)
	})
	if span.Limit > 0 {
		found = found[:min(len(found), span.Limit)]
	}
	return found, nil
}

// refuseNative returns the refusal of the first op after which two rows would have a
// value of a unique native table together. Next has the rows as the ops leave them; of
// those from end on, which are not done, nothing remains.
func (s *Store) refuseNative(ops []driver.Op, next []*row, end int) (*driver.Refusal, error) {
	for i := range ops[:end] {
		if next[i] == nil {
			continue
		}
		for _, t := range s.views[ops[i].Table].natives {
			other, err := s.rival(t, ops, next, i)
			if err != nil {
				return nil, err
			}
			if other != nil {
				refusal := &driver.Refusal{Op: i, Native: t.Name}
				s.views[ops[i].Table].load(&refusal.Row, other.driverKey(), other, nil)
				return refusal, nil
			}
		}
	}
	return nil, nil
}

// rival returns a row that has a value of a unique native table which an op would write.
func (s *Store) rival(t *driver.Table, ops []driver.Op, next []*row, i int) (*row, error) {
	if t.Class != driver.Claims {
		return nil, nil
	}
	wanted, err := next[i].entries(t)
	if err != nil || len(wanted) == 0 {
		return nil, err
	}
	written := s.written(ops, next, s.tables[t.Home.Name])
	home := &s.tables[t.Home.Name].rows
	for r := home.from(""); r != nil; r = home.from(r.key + "\x00") {
		if _, ok := written[r.key]; !ok {
			written[r.key] = r
		}
	}
	for _, key := range slices.Sorted(maps.Keys(written)) {
		other := written[key]
		if other == nil || key == next[i].key {
			continue
		}
		entries, err := other.entries(t)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(entries, func(e driver.Key) bool { return slices.Contains(wanted, e) }) {
			return other, nil
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
