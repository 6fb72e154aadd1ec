// Package tiny is a whole backend in one file: rows in maps, behind one mutex. It passes
// the conformance suite, and is there to be read beside docs/howto/backend.md.
package tiny

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// A table is what all programs share that define one name. Rows keep their fields by
// name, because each program has ordinals of its own.
type table struct {
	partition, sort []driver.Column
	kinds           map[string]driver.Kind
	rows            map[driver.Key]row
}

// A row is what a commit left: another one takes its place, and none ever changes.
type row struct {
	driver.Row // without Fields and Extra
	fields     map[string]driver.Value
}

// A Store is a driver.Store. Make one with New.
type Store struct {
	mu     sync.Mutex
	closed bool
	tables map[string]*table
	known  map[*driver.Table]*table
}

// New returns an empty store.
func New() *Store { return &Store{tables: map[string]*table{}, known: map[*driver.Table]*table{}} }

// Facts says what the store is.
func (s *Store) Facts() driver.Facts {
	no := driver.Ability{Reason: "tiny is as small as can be"}
	return driver.Facts{Name: "tiny", Detail: "maps", Unit: driver.UnitStore, Durability: driver.Memory, Setting: "none",
		OneProcess: true, Apart: no, Native: no, Counts: no, Sizes: no}
}

func fail(kind error, format string, args ...any) error {
	return fmt.Errorf("tiny: %s: %w", fmt.Sprintf(format, args...), kind)
}

// alone calls do with the mutex held, unless ctx has ended or the store is closed.
func (s *Store) alone(ctx context.Context, do func() error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("tiny: %w: %w", driver.ErrTimeout, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fail(driver.ErrClosed, "the call came after Close")
	}
	return do()
}

// of returns the table that a program knows as t and may read by a mask.
func (s *Store) of(t *driver.Table, mask []int) (*table, error) {
	if s.known[t] == nil {
		return nil, fail(driver.ErrInvalid, "a table that was neither defined nor attached")
	}
	return s.known[t], t.ValidateMask(mask)
}

// Define makes the tables exist.
func (s *Store) Define(ctx context.Context, tables []*driver.Table) error {
	return s.alone(ctx, func() error { return s.declare(tables, true) })
}

// Attach makes the store know tables that exist.
func (s *Store) Attach(ctx context.Context, tables []*driver.Table) error {
	return s.alone(ctx, func() error { return s.declare(tables, false) })
}

// declare looks at all tables before it makes any of them known.
func (s *Store) declare(tables []*driver.Table, create bool) error {
	for _, t := range tables {
		have, is := s.tables[t.Name]
		missing := func(f driver.Column) bool { return have.kinds[f.Name] == driver.None }
		other := func(f driver.Column) bool { return !missing(f) && have.kinds[f.Name] != f.Kind }
		switch {
		case t.Native:
			return fail(driver.ErrUnsupported, "%s is a native index, and the store keeps none", t.Name)
		case len(t.Partition) == 0:
			return fail(driver.ErrInvalid, "%s has no partition", t.Name)
		case is && (!slices.Equal(have.partition, t.Partition) || !slices.Equal(have.sort, t.Sort) || slices.ContainsFunc(t.Fields, other)):
			return fail(driver.ErrSchema, "%s exists with another key, or with fields of other kinds", t.Name)
		case !create && (!is || slices.ContainsFunc(t.Fields, missing)):
			return fail(driver.ErrSchema, "no table %s has these fields; define it first", t.Name)
		}
	}
	for _, t := range tables {
		if s.tables[t.Name] == nil {
			s.tables[t.Name] = &table{slices.Clone(t.Partition), slices.Clone(t.Sort), map[string]driver.Kind{}, map[driver.Key]row{}}
		}
		s.known[t] = s.tables[t.Name]
		for _, f := range t.Fields {
			s.known[t].kinds[f.Name] = f.Kind
		}
	}
	return nil
}

// Drop removes the tables.
func (s *Store) Drop(ctx context.Context, tables []*driver.Table) error {
	return s.alone(ctx, func() error {
		for _, t := range tables {
			delete(s.tables, t.Name)
			maps.DeleteFunc(s.known, func(known *driver.Table, _ *table) bool { return known.Name == t.Name })
		}
		return nil
	})
}

// load sets out to a row as the program reads it that knows its table as t.
func (r row) load(out *driver.Row, t *driver.Table, key driver.Key, mask []int) {
	ring, fields, rest := append(out.Ring[:0], r.Ring...), out.Fields[:0], maps.Clone(r.fields)
	*out = r.Row
	out.Key, out.Ring, out.Fields = key, ring, fields
	for _, i := range mask {
		out.Fields = append(out.Fields, r.fields[t.Fields[i].Name])
	}
	for i := 0; mask == nil && i < len(t.Fields); i++ {
		out.Fields = append(out.Fields, rest[t.Fields[i].Name])
		delete(rest, t.Fields[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if mask == nil {
			out.Extra = append(out.Extra, driver.Pair{Name: name, Value: rest[name]})
		}
	}
}

// Get reads rows under keys.
func (s *Store) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	return s.alone(ctx, func() error {
		have, err := s.of(t, mask)
		if err == nil && len(keys) != len(rows) {
			err = fail(driver.ErrInvalid, "get %d keys into %d rows", len(keys), len(rows))
		}
		for i := 0; i < len(keys) && err == nil; i++ {
			have.rows[keys[i]].load(&rows[i], t, keys[i], mask)
		}
		return err
	})
}

// The order of keys is that of their texts.
func text(k driver.Key) string { return k.Partition + k.Sort }

// all returns the rows that a test holds for, in the order of their keys.
func (s *Store) all(ctx context.Context, t *driver.Table, mask []int, test func(driver.Key, row) bool) (list []driver.Row, err error) {
	err = s.alone(ctx, func() error {
		have, err := s.of(t, mask)
		if err != nil {
			return err
		}
		for k, r := range have.rows {
			if test(k, r) {
				list = append(list, driver.Row{})
				r.load(&list[len(list)-1], t, k, mask)
			}
		}
		slices.SortFunc(list, func(a, b driver.Row) int { return strings.Compare(text(a.Key), text(b.Key)) })
		return nil
	})
	return list, err
}

// Range yields the rows of a span as they are when the loop begins.
func (s *Store) Range(ctx context.Context, sp driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		rows, err := s.all(ctx, sp.Table, sp.Mask, func(k driver.Key, r row) bool {
			return k.Partition == sp.Key.Partition && k.Sort >= sp.From && (sp.To == "" || k.Sort < sp.To) && !r.Dead
		})
		if sp.Reverse {
			slices.Reverse(rows)
		}
		for i := 0; err == nil && i < len(rows) && (sp.Limit == 0 || i < sp.Limit); i++ {
			if !yield(&rows[i], nil) { // without the mutex: the loop's body may call the store
				return
			}
			err = s.alone(ctx, func() error { return nil })
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// Walk yields all rows. A mark is the name of the table and the last key.
func (s *Store) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		last, own := strings.CutPrefix(mark, t.Name+"/")
		_, rest, whole := driver.CutParts(last, slices.Concat(t.Partition, t.Sort))
		rows, err := s.all(ctx, t, nil, func(k driver.Key, _ row) bool { return mark == "" || text(k) > last })
		if mark != "" && (!own || !whole || rest != "") {
			err = fail(driver.ErrInvalid, "walk %s: the mark is none of it", t.Name)
		}
		for err == nil && len(rows) > 0 {
			c := driver.Chunk{Rows: rows[:min(len(rows), 256)]}
			if rows = rows[len(c.Rows):]; len(rows) > 0 {
				c.Mark = t.Name + "/" + text(c.Rows[len(c.Rows)-1].Key)
			}
			if !yield(c, nil) {
				return
			}
			err = s.alone(ctx, func() error { return nil })
		}
		if err != nil {
			yield(driver.Chunk{}, err)
		}
	}
}

// Commit does all ops or none: everything is looked at before anything is written.
func (s *Store) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (refusal *driver.Refusal, err error) {
	err = s.alone(ctx, func() (err error) {
		refusal, err = s.commit(token, ops)
		return err
	})
	return refusal, err
}

func (s *Store) commit(token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	type place struct {
		in  *table
		key driver.Key
	}
	next := map[place]row{}
	for i := range ops {
		have, err := s.of(ops[i].Table, nil)
		if err == nil {
			err = ops[i].Validate()
		}
		if _, twice := next[place{have, ops[i].Row.Key}]; err == nil && (twice || token.IsZero()) {
			err = fail(driver.ErrInvalid, "commit without a token, or of two ops on one key of %s", ops[i].Table.Name)
		}
		if err != nil {
			return nil, err
		}
		next[place{have, ops[i].Row.Key}] = row{}
	}
	for i := range ops {
		op, at := &ops[i], place{s.known[ops[i].Table], ops[i].Row.Key}
		old := at.in.rows[at.key]
		if i == 0 && slices.Contains(old.Ring, token) {
			return nil, nil // sent again
		}
		held, edit := old.meets(op), -1
		if held {
			next[at], edit = old.after(op, token)
		}
		if !held || edit >= 0 {
			refusal := &driver.Refusal{Op: i, Overflow: held, Edit: max(edit, 0)}
			old.load(&refusal.Row, op.Table, op.Row.Key, nil)
			return refusal, nil
		}
	}
	for at, r := range next {
		if at.in.rows[at.key] = r; r.Rev.IsZero() {
			delete(at.in.rows, at.key)
		}
	}
	return nil, nil
}

func (r row) meets(op *driver.Op) bool {
	there := !r.Rev.IsZero()
	return op.If == driver.Any || op.If == driver.Absent && !there || op.If == driver.Present && there && !r.Dead ||
		op.If == driver.AtRev && there && r.Rev == op.Rev
}

// after returns the row as an op leaves it, without a Rev if there is none, and the edit
// that cannot be done or -1.
func (r row) after(op *driver.Op, token driver.Token) (row, int) {
	next := row{r.Row, maps.Clone(r.fields)}
	edits := op.Edits
	switch {
	case op.Do == driver.Check:
		return r, -1
	case op.Do == driver.Delete:
		return row{}, -1
	case op.Do == driver.Fence && r.Rev.IsZero():
		return row{driver.Row{Rev: token, Dead: true, Expires: op.Row.Expires}, nil}, -1
	case op.Do == driver.Put:
		next = row{driver.Row{Dead: op.Row.Dead}, map[string]driver.Value{}}
		for i, v := range op.Row.Fields {
			edits = append(edits, driver.Edit{Field: i, Value: v})
		}
		for _, p := range op.Row.Extra {
			edits = append(edits, driver.Edit{Field: -1, Name: p.Name, Value: p.Value})
		}
	}
	if next.Rev = token; op.Do == driver.Put || op.PatchMeta {
		next.Expires, next.Note = op.Row.Expires, op.Row.Note
	}
	if ring := append([]driver.Token{token}, r.Ring...); op.Do != driver.Fence {
		next.Ring = ring[:min(len(ring), op.Table.Ring)]
	}
	for i, e := range edits {
		if !next.edit(op.Table, e) {
			return r, i
		}
	}
	return next, -1
}

// edit changes a field, and reports whether that can be done.
func (r row) edit(t *driver.Table, e driver.Edit) bool {
	if e.Field >= 0 {
		e.Name = t.Fields[e.Field].Name
	}
	have := r.fields[e.Name]
	a, b := have.Int(), e.Value.Int()
	if delete(r.fields, e.Name); e.Do == driver.Set && !e.Value.IsNone() {
		r.fields[e.Name] = e.Value
	} else if e.Do == driver.Add {
		r.fields[e.Name] = driver.IntValue(a + b)
	}
	over := (a < 0) == (b < 0) && (a+b < 0) != (a < 0)
	return e.Do != driver.Add || !over && (have.IsNone() || have.Kind() == driver.Int)
}

// Close forgets everything.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed, s.tables, s.known = true, nil, nil
	return nil
}
