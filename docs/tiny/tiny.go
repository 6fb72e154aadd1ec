// Package tiny is a whole backend in one file: rows in maps, behind one mutex. It passes
// the conformance suite, and is there to be read beside docs/howto/backend.md.
package tiny

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A table is what all programs share that define one name. Rows keep their fields by
// name, because each program has ordinals of its own.
type table struct {
	partition, sort []driver.Column
	kinds           map[string]driver.Kind
	rows            map[string]map[string]row // by partition and sort
}

// A row is what a commit left: another one takes its place, and none ever changes.
type row struct {
	driver.Row // without Fields and Extra
	fields     map[string]driver.Value
}

// A Store is a driver.Store. Make one with New.
type Store struct{ *frame.Store[view] }

// A store is what a frame does not do: it keeps rows.
type store struct {
	frame  *frame.Frame[view]
	mu     sync.Mutex
	tables map[string]*table
}

// A view is a table as the program sees it that declared it.
type view struct {
	*driver.Table
	*table
}

// New returns an empty store.
func New() *Store {
	no := driver.Ability{Reason: "tiny is as small as can be"}
	facts := driver.Facts{Name: "tiny", Detail: "maps", Scope: driver.ScopeStore, Durability: driver.Memory, Setting: "none",
		OneProcess: true, Remote: no, Native: no, Counts: no, Sizes: no}
	s := &store{tables: map[string]*table{}, frame: frame.New[view](who, facts)}
	return &Store{s.frame.Store(s)}
}

const who = frame.Name("tiny")

// Tables says what speaks against tables beside those that there are.
func (s *store) Tables(_ context.Context, _ string, tables []*driver.Table) (frame.Tables[view], error) {
	for _, t := range tables {
		have, is := s.tables[t.Name]
		other := func(f driver.Column) bool { return have.kinds[f.Name] != driver.None && have.kinds[f.Name] != f.Kind }
		same := is && slices.Equal(have.partition, t.Partition) && slices.Equal(have.sort, t.Sort)
		if is && (!same || slices.ContainsFunc(t.Fields, other)) {
			return nil, who.Schema("%s exists with another key, or with fields of other kinds", t.Name)
		}
	}
	return s, nil
}

// Absent says whether a table lacks something.
func (s *store) Absent(t *driver.Table) error {
	have, is := s.tables[t.Name]
	if !is || slices.ContainsFunc(t.Fields, func(f driver.Column) bool { return have.kinds[f.Name] == driver.None }) {
		return who.Schema("no table %s has these fields; define it first", t.Name)
	}
	return nil
}

// Declare makes tables and fields.
func (s *store) Declare(_ context.Context, tables []*driver.Table) error {
	for _, t := range tables {
		if s.tables[t.Name] == nil {
			partition, sort := slices.Clone(t.Partition), slices.Clone(t.Sort)
			s.tables[t.Name] = &table{partition, sort, map[string]driver.Kind{}, map[string]map[string]row{}}
		}
		for _, f := range t.Fields {
			s.tables[t.Name].kinds[f.Name] = f.Kind
		}
	}
	return nil
}

// View returns a table as t declares it.
func (s *store) View(t *driver.Table) *view { return &view{t, s.tables[t.Name]} }

// Drop removes the tables.
func (s *store) Drop(_ context.Context, tables []*driver.Table) error {
	for _, t := range tables {
		delete(s.tables, t.Name)
	}
	return nil
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
func (s *store) Get(_ context.Context, v *view, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range keys {
		v.row(keys[i]).load(&rows[i], v.Table, keys[i], mask)
	}
	return nil
}

// The order of keys is that of their texts.
func text(k driver.Key) string { return k.Partition + k.Sort }

// row returns a row, a zero one if there is none.
func (t *table) row(k driver.Key) row { return t.rows[k.Partition][k.Sort] }

// first returns so many rows of some partitions, or of all if that is nil, that a test holds for, in the order of their
// keys or the reverse, and whether there are more.
func (s *store) first(v *view, partitions []string, mask []int, most int, reverse bool, test func(driver.Key, row) bool) (list []driver.Row, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if partitions == nil {
		partitions = slices.Collect(maps.Keys(v.rows))
	}
	var keys []driver.Key
	inOrder := func(a, b driver.Key) int { // no partition begins with another one
		d := cmp.Or(strings.Compare(a.Partition, b.Partition), strings.Compare(a.Sort, b.Sort))
		if reverse {
			d = -d
		}
		return d
	}
	cut := false // when it is, keys[most] is the last that can be needed
	for _, p := range partitions {
		for sort, r := range v.rows[p] {
			k := driver.Key{Partition: p, Sort: sort}
			if cut && inOrder(k, keys[most]) > 0 || !test(k, r) {
				continue
			}
			if keys = append(keys, k); len(keys) > 8*most {
				slices.SortFunc(keys, inOrder)
				keys, cut = keys[:most+1], true
			}
		}
	}
	slices.SortFunc(keys, inOrder)
	list = make([]driver.Row, min(len(keys), most))
	for i := range list {
		v.row(keys[i]).load(&list[i], v.Table, keys[i], mask)
	}
	return list, len(keys) > most
}

// Range yields the rows of a span, page by page.
func (s *store) Range(ctx context.Context, sp driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) { s.frame.Pages(ctx, sp, s.page, yield) }
}

// page reads the next page of a span.
func (s *store) page(_ context.Context, v *view, p *frame.Pager) error {
	sp := &p.Span
	rows, more := s.first(v, []string{sp.Key.Partition}, sp.Mask, p.Limit(), sp.Reverse, func(k driver.Key, r row) bool {
		return k.Sort >= sp.From && (sp.To == "" || k.Sort < sp.To) && !r.Dead
	})
	p.Rows, p.Done = rows, !more
	p.GoOn(v.Table.Sort, 0)
	return nil
}

// Walk yields all rows. A mark has the last key.
func (s *store) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return s.frame.Chunks(ctx, t, mark, func(_ context.Context, v *view, mark string) (c driver.Chunk, err error) {
		last, own := frame.ParseMark(t.Name, mark)
		if !own {
			return c, who.OtherMark(t.Name)
		}
		rows, more := s.first(v, nil, nil, frame.ChunkRows, false, func(k driver.Key, _ row) bool { return mark == "" || text(k) > last })
		if c.Rows = rows; more {
			c.Mark = frame.Mark(t.Name, text(c.Rows[frame.ChunkRows-1].Key))
		}
		return c, nil
	})
}

// Commit does all ops or none: everything is looked at before anything is written.
func (s *store) Commit(_ context.Context, token driver.Token, ops []driver.Op, views []*view) (*driver.Refusal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := make([]row, len(ops))
	for i := range ops {
		op := &ops[i]
		old := views[i].row(op.Row.Key)
		if i == 0 && slices.Contains(old.Ring, token) {
			return nil, nil // sent again
		}
		edit, held := -1, frame.Holds(op, &old.Row)
		if held {
			next[i], edit = old.after(op, token)
		}
		if !held || edit >= 0 {
			refusal := &driver.Refusal{Op: i, Overflow: held, Edit: max(edit, 0)}
			old.load(&refusal.Row, views[i].Table, op.Row.Key, nil)
			return refusal, nil
		}
	}
	for i := range ops {
		at, rows := ops[i].Row.Key, views[i].rows
		if next[i].Rev.IsZero() {
			delete(rows[at.Partition], at.Sort)
			continue
		}
		if rows[at.Partition] == nil {
			rows[at.Partition] = map[string]row{}
		}
		rows[at.Partition][at.Sort] = next[i]
	}
	return nil, nil
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
		next.Expires, next.Meta = op.Row.Expires, op.Row.Meta
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
	sum, can := frame.Sum(r.fields[e.Name], e.Value.Int())
	if delete(r.fields, e.Name); e.Do == driver.Set && !e.Value.IsNone() {
		r.fields[e.Name] = e.Value
	} else if e.Do == driver.Add {
		r.fields[e.Name] = sum
	}
	return e.Do != driver.Add || can
}

// Close forgets everything.
func (s *store) Close() error {
	s.tables = nil
	return nil
}
