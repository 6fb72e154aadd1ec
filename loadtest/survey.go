package loadtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/limit"
)

// A table is what is kept in memory of a collection's data: the number of
// records, and the values of the fields that operations draw from.
type table struct {
	name    string
	n       int
	columns map[string][]any
}

func (t *table) column(field string) []any { return t.columns[field] }

// A maker makes the records of a collection that has generators: the n-th is the
// same whenever it is made.
type maker struct {
	c      *collection
	seed   uint64
	making making
	source *rand.PCG
}

func newMaker(w *Workload, c *collection, data []*table) *maker {
	m := &maker{c: c, seed: newRand(w.Seed, "records of "+c.schema.Collection, 0).Uint64(), source: rand.NewPCG(0, 0)}
	m.making = making{rand: rand.New(m.source), count: w.limited(c.data.count), data: data, refs: map[int]int{}, pickers: map[*reference]*picker{}}
	return m
}

// begin starts the n-th record.
func (m *maker) begin(n int) {
	m.source.Seed(m.seed, uint64(n)*0x9e3779b97f4a7c15+1)
	m.making.n = n
	clear(m.making.refs)
}

func (m *maker) record(n int) map[string]any {
	m.begin(n)
	m.making.record = make(map[string]any, len(m.c.data.fields))
	for _, f := range m.c.data.fields {
		if v := f.make.value(&m.making); v != nil {
			m.making.record[f.name] = v
		}
	}
	return m.making.record
}

// rowsOf yields the records of a collection, and the faults of its file, if it has
// any, or the end of the context, once, last.
func rowsOf(ctx context.Context, w *Workload, c *collection, data []*table) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		if c.data.file == "" {
			m := newMaker(w, c, data)
			for n := range w.limited(c.data.count) {
				if !yield(row{n + 1, m.record(n)}, nil) {
					return
				}
			}
			return
		}
		f := &rowFile{ctx: ctx, c: c, src: &c.data, told: map[string]bool{}}
		taken := 0
		for r := range f.rows() {
			if !yield(r, nil) {
				return
			}
			if taken++; taken == w.Records {
				break
			}
		}
		if err := cmp.Or(ctx.Err(), f.faults.asError()); err != nil {
			yield(row{}, err)
		}
	}
}

// limited returns how many of n records are taken.
func (w *Workload) limited(n int) int {
	if w.Records > 0 {
		return min(n, w.Records)
	}
	return n
}

// A surveyor reads the data of a collection once, before anything is written: it
// checks every record and keeps what operations draw from.
type surveyor struct {
	w      *Workload
	c      *collection
	t      *table
	keys   map[string]int  // by key: the line
	unique []uniqueValues  // by unique index of any model
	lists  map[string]bool // lists whose elements some model indexes
	faults Faults
}

type uniqueValues struct {
	fields []string
	lines  map[string]int
}

// survey reads the data of all collections.
func survey(ctx context.Context, w *Workload, p *progress) ([]*table, error) {
	var data []*table
	for _, c := range w.collections {
		s := newSurveyor(w, c)
		step := p.begin("read "+c.schema.Collection, w.limited(c.data.count), "records")
		for r, err := range rowsOf(ctx, w, c, data) {
			if err != nil {
				return nil, err
			}
			if s.add(r); len(s.faults) >= limit.MaxFaults {
				break
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			step.add(1)
		}
		step.end()
		if err := s.faults.asError(); err != nil {
			return nil, err
		}
		if s.t.n == 0 {
			return nil, Faults{{File: c.data.name(w), Text: "there is no record in it"}}
		}
		data = append(data, s.t)
	}
	return data, nil
}

// name returns the file that data comes from, for messages.
func (s *source) name(w *Workload) string {
	if s.file == "" {
		return w.File
	}
	return s.file
}

func newSurveyor(w *Workload, c *collection) *surveyor {
	s := &surveyor{w: w, c: c, keys: map[string]int{}, lists: map[string]bool{}}
	s.t = &table{name: c.schema.Collection, columns: map[string][]any{}}
	for f := range c.needs {
		s.t.columns[f] = nil
	}
	for _, mo := range w.models {
		for _, x := range mo.schemas[c.at].Indexes {
			fields := slices.Concat(x.Partition, x.Sort)
			for _, f := range fields {
				if bare, ok := strings.CutSuffix(strings.TrimPrefix(f, "-"), "[]"); ok {
					s.lists[bare] = true
				}
			}
			if x.Unique {
				s.addUnique(fields)
			}
		}
	}
	return s
}

func (s *surveyor) addUnique(fields []string) {
	for i := range fields {
		fields[i] = strings.TrimPrefix(fields[i], "-")
	}
	if !slices.ContainsFunc(s.unique, func(u uniqueValues) bool { return slices.Equal(u.fields, fields) }) {
		s.unique = append(s.unique, uniqueValues{fields, map[string]int{}})
	}
}

func (s *surveyor) add(r row) {
	s.t.n++
	for _, k := range s.c.key() {
		if r.record[k] == nil {
			s.fault(r, "it has no %s, which is part of the key; the generator of a key field makes a value each time", k)
			return
		}
	}
	key := identity(r.record, s.c.key())
	if first, taken := s.keys[key]; taken {
		s.fault(r, "the key %s is that of %s %d, too; a key names one record", showKey(r.record, s.c.key()), s.rowWord(), first)
		return
	}
	s.keys[key] = r.line
	for _, u := range s.unique {
		s.checkUnique(r, u)
	}
	for _, f := range slices.Sorted(maps.Keys(s.lists)) {
		s.checkElements(r, f)
	}
	for f, col := range s.t.columns {
		s.t.columns[f] = append(col, r.record[f])
	}
}

// checkUnique reports a second record with the values of a unique index. One that
// lacks a field has no place in the index.
func (s *surveyor) checkUnique(r row, u uniqueValues) {
	for _, f := range u.fields {
		if r.record[f] == nil {
			return
		}
	}
	value := identity(r.record, u.fields)
	if first, taken := u.lines[value]; taken {
		s.fault(r, "%s %s is that of %s %d, too, and an index on it is unique; make that index not unique, or mend the data",
			strings.Join(u.fields, ", "), showKey(r.record, u.fields), s.rowWord(), first)
		return
	}
	u.lines[value] = r.line
}

// checkElements reports elements that an index over a list cannot take.
func (s *surveyor) checkElements(r row, field string) {
	list, _ := r.record[field].([]any)
	for _, x := range list {
		if _, ok := x.(string); !ok {
			s.fault(r, "list %s has the element %v, and an index over the elements takes text only", field, x)
			return
		}
	}
}

func (s *surveyor) rowWord() string {
	if s.c.data.file == "" {
		return "record"
	}
	return "line"
}

func (s *surveyor) fault(r row, format string, args ...any) {
	f := Fault{File: s.c.data.name(s.w), Line: r.line, Text: fmt.Sprintf(format, args...)}
	if s.c.data.file == "" {
		f.Line, f.Column = s.c.data.place.line, s.c.data.place.column
		f.Text = fmt.Sprintf("record %d of %s: ", r.line, s.c.schema.Collection) + f.Text
	}
	s.faults = append(s.faults, f)
}

// identity returns text that two records share if and only if they agree in the
// fields.
func identity(record map[string]any, fields []string) string {
	var b strings.Builder
	for _, f := range fields {
		appendCanonical(&b, record[f])
		b.WriteByte(0)
	}
	return b.String()
}

func showKey(record map[string]any, fields []string) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = fmt.Sprint(record[f])
	}
	return show(strings.Join(parts, "/"))
}
