// Package operation makes the operations of a mix. A workload and its data come in; calls with all their
// parameters go out, the same ones for every candidate, and the ways in which calls end.
package operation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/random"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// A Stream makes the operations of a workload. The same seed and data give the
// same operations, whichever candidate they are for. It is for one goroutine.
type Stream struct {
	w        *workload.Workload
	Data     []*generate.Table
	mix      random.Weights
	pickers  []*random.Picker // by query: of its eligible records
	eligible [][]int32        // by query: the records with all fields that it draws; nil is all
	makers   []*data.Maker    // by collection
	making   generate.Making

	positions map[position]any // of the records that were changed so far
}

// NewStream returns the operations of a workload on its data. A query that no record can serve is a fault.
func NewStream(w *workload.Workload, tables []*generate.Table) (*Stream, error) {
	s := &Stream{w: w, Data: tables, positions: map[position]any{}}
	each := make([]float64, len(w.Queries))
	for i, q := range w.Queries {
		each[i] = q.Weight
		t := tables[q.Collection.At]
		list, n := drawsFrom(q, t)
		if n == 0 {
			return nil, failure.Faults{{File: w.File, Line: q.Place.Line, Column: q.Place.Column, Text: nothingToDraw(q, t)}}
		}
		s.eligible = append(s.eligible, list)
		s.pickers = append(s.pickers, random.NewPicker(n, q.Skew, w.Seed, "query "+q.Name))
	}
	s.mix = random.NewWeights(each)
	for _, c := range w.Collections {
		s.makers = append(s.makers, data.NewMaker(w, c, tables))
	}
	s.making = generate.Making{Data: tables, Refs: map[int]int{}, Pickers: map[*generate.Reference]*random.Picker{}}
	return s, nil
}

// nothingToDraw says why a query has no record to draw.
func nothingToDraw(q *workload.Query, t *generate.Table) string {
	if q.Collection.Tree == nil {
		return fmt.Sprintf("query %s: no record of %s has all the fields that it draws", q.Name, t.Name)
	}
	return fmt.Sprintf("query %s: it draws nodes of %s below which there are %s others, and there is none; give it other bounds: below: {min: …, max: …}",
		q.Name, t.Name, q.Below)
}

// drawsFrom returns the records that have all fields that the query draws, nil
// when that is all of them, and their number.
func drawsFrom(q *workload.Query, t *generate.Table) (list []int32, n int) {
	var fields []string
	for _, c := range q.Where {
		fields = append(fields, c.From)
	}
	if win := q.Window; win != nil {
		if win.From != nil {
			fields = append(fields, win.From.From)
		}
		if win.To != nil {
			fields = append(fields, win.To.From)
		}
		if win.Chars > 0 {
			fields = append(fields, win.Field)
		}
	}
	for i := range t.Len {
		if t.HasAll(i, fields) && drawsNode(q, t, i) {
			list = append(list, int32(i))
		}
	}
	if len(list) == t.Len {
		return nil, t.Len
	}
	return list, len(list)
}

// Mixed returns n operations of the mix. Number is that of the first insert.
func (s *Stream) Mixed(purpose string, n, number int) []Call {
	r := random.New(s.w.Seed, purpose, 0)
	calls := make([]Call, n)
	for i := range calls {
		calls[i] = s.call(r, s.mix.Draw(r), number+i)
	}
	return calls
}

// Only returns n operations of the query at an index.
func (s *Stream) Only(at, n, number int) []Call {
	r := random.New(s.w.Seed, "samples of "+s.w.Queries[at].Name, 0)
	calls := make([]Call, n)
	for i := range calls {
		calls[i] = s.call(r, at, number+i)
	}
	return calls
}

// call makes one operation.
func (s *Stream) call(r *rand.Rand, at, number int) Call {
	q := s.w.Queries[at]
	k := Call{Q: q, At: at}
	i := s.pickers[at].Pick(r)
	if s.eligible[at] != nil {
		i = int(s.eligible[at][i])
	}
	switch q.Kind {
	case "insert":
		k.Record = s.made(r, q, i, s.Data[q.Collection.At].Len+number, number)
	case "put":
		s.address(&k, i)
		k.Record, k.from = s.made(r, q, i, i, number), i
	case "get", "exists", "renew", "delete", "children", "ancestors", "subtree":
		s.address(&k, i)
	case "transplant":
		s.address(&k, i)
		k.To = s.besides(r, q, i)
	case "update", "modify", "move":
		s.address(&k, i)
		k.from = i
		k.Edits, k.values = s.edits(r, q, i, number)
	default:
		k.Find = s.find(r, q, i)
	}
	return k
}

// drawsNode reports whether a query about trees is for the i-th record.
func drawsNode(q *workload.Query, t *generate.Table, i int) bool {
	if q.Collection.Tree == nil {
		return true
	}
	below := int(t.Below[i])
	return below >= q.Below.Min && below <= q.Below.Max && (q.Kind != "ancestors" || t.Parents[i] >= 0)
}

// besides returns the parent of another node of the tree of the i-th record, "" where that is a root.
func (s *Stream) besides(r *rand.Rand, q *workload.Query, i int) string {
	t := s.Data[q.Collection.At]
	first, n := t.Mates(i)
	parent, _ := t.Column(q.Collection.Tree.Parent)[first+r.IntN(n)].(string)
	return parent
}

// address gives an operation the key of the i-th record of its collection.
func (s *Stream) address(k *Call, i int) {
	c := k.Q.Collection
	if k.Key = s.keyOf(c, c.Keys[0], i); len(c.Keys) == 1 {
		return
	}
	k.Keys = []repo.Key{k.Key}
	for _, names := range c.Keys[1:] {
		k.Keys = append(k.Keys, s.keyOf(c, names, i))
	}
}

func (s *Stream) keyOf(c *workload.Collection, names []string, i int) repo.Key {
	t := s.Data[c.At]
	key := make(repo.Key, len(names))
	for j, f := range names {
		key[j] = t.Column(f)[i]
	}
	return key
}

// find fills the parameters of a query from the i-th record.
func (s *Stream) find(r *rand.Rand, q *workload.Query, i int) repo.Query {
	t := s.Data[q.Collection.At]
	var find repo.Query
	for j := range q.Where {
		find = find.Where(q.Where[j].Field, draw(&q.Where[j], r, t, i))
	}
	if win := q.Window; win != nil {
		find = bind(win, r, find, t, i)
	}
	return find.Order(q.Order...).Limit(q.Limit)
}

// draw returns the value of a condition: of a list, one of its elements.
func draw(c *workload.Condition, r *rand.Rand, t *generate.Table, i int) any {
	if c.From == "" {
		return c.Literal
	}
	v := t.Column(c.From)[i]
	if list, ok := v.([]any); ok && strings.HasSuffix(c.Field, "[]") {
		return list[r.IntN(len(list))]
	}
	return v
}

// bind adds the range or prefix to a query.
func bind(win *workload.Window, r *rand.Rand, find repo.Query, t *generate.Table, i int) repo.Query {
	if win.IsPrefix {
		text := win.Prefix
		if win.Chars > 0 {
			drawn := []rune(t.Column(win.Field)[i].(string))
			text = string(drawn[:min(win.Chars, len(drawn))])
		}
		return find.Prefix(win.Field, text)
	}
	if win.From != nil {
		from := draw(win.From, r, t, i)
		if win.Span != nil {
			return find.Range(win.Field, from, above(from, win.Span))
		}
		if win.IsAbove {
			find = find.Above(win.Field, from)
		} else {
			find = find.AtLeast(win.Field, from)
		}
	}
	if win.To == nil {
		return find
	}
	to := draw(win.To, r, t, i)
	if win.IsAtMost {
		return find.AtMost(win.Field, to)
	}
	return find.Below(win.Field, to)
}

// above returns from + span.
func above(from, span any) any {
	switch from := from.(type) {
	case int64:
		return from + span.(int64)
	case float64:
		return from + span.(float64)
	case time.Time:
		return from.Add(span.(time.Duration))
	}
	return nil
}

// edits returns what an update changes, and the values that it sets.
func (s *Stream) edits(r *rand.Rand, q *workload.Query, i, number int) (edits []repo.Edit, values []any) {
	edits = make([]repo.Edit, 0, len(q.Set)+len(q.Add))
	s.prepare(r, q, i, number, nil)
	for _, a := range q.Set {
		v := a.Make.Value(&s.making)
		edits, values = append(edits, repo.Set(a.Field, v)), append(values, v)
	}
	for _, a := range q.Add {
		edits = append(edits, repo.Add(a.Field, a.By))
	}
	return edits, values
}

func (s *Stream) prepare(r *rand.Rand, q *workload.Query, i, number int, record map[string]any) {
	s.making.Rand, s.making.From, s.making.N, s.making.Record = r, i, number, record
	s.making.Count = max(s.Data[q.Collection.At].Len, 1)
	clear(s.making.Refs)
}

// inserted returns a new record: the next one of the generators, or a copy of
// that in the file, with the query's own fields.
func (s *Stream) made(r *rand.Rand, q *workload.Query, i, n, number int) map[string]any {
	t := s.Data[q.Collection.At]
	var record map[string]any
	if q.Collection.Data.File == "" {
		record = s.makers[q.Collection.At].Record(n)
	} else {
		record = make(map[string]any, len(t.Columns))
		for f, col := range t.Columns {
			if col[i] != nil {
				record[f] = col[i]
			}
		}
	}
	s.prepare(r, q, i, number, record)
	for _, a := range q.Set {
		if v := a.Make.Value(&s.making); v != nil {
			record[a.Field] = v
		} else {
			delete(record, a.Field)
		}
	}
	return record
}
