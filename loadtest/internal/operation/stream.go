// Package operation makes the operations of a mix. A workload and its data come in; calls with all their
// parameters go out, the same ones for every candidate, and the ways in which calls end.
package operation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/random"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// A Stream makes the operations of a workload. The same seed and data give the
// same operations, whichever candidate they are for. It is for one goroutine.
type Stream struct {
	w       *workload.Workload
	Data    []*generate.Table
	mix     random.Weights
	drawers []*drawer     // by query
	newer   [][]insertion // by collection: what calls inserted, where queries draw that
	makers  []*data.Maker // by collection
	making  generate.Making
	checks  bool // the answer to the call that is made is checked
	line    *traced

	positions map[position]any // of the records that were changed so far
}

// NewStream returns the operations of a workload on its data. A query that no record can serve is a fault.
func NewStream(w *workload.Workload, tables []*generate.Table) (*Stream, error) {
	s := &Stream{w: w, Data: tables, positions: map[position]any{}}
	each := make([]float64, len(w.Queries))
	for i, q := range w.Queries {
		each[i] = q.Weight
		t := tables[q.Collection.At]
		d := newDrawer(w, q, t)
		if d.n == 0 {
			return nil, failure.Faults{{File: w.File, Line: q.Place.Line, Column: q.Place.Column, Text: nothingToDraw(q, t)}}
		}
		s.drawers = append(s.drawers, d)
	}
	s.newer = make([][]insertion, len(tables))
	s.mix = random.NewWeights(each)
	for _, c := range w.Collections {
		s.makers = append(s.makers, data.NewMaker(w, c, tables))
	}
	s.making = generate.Making{Data: tables, Refs: map[int]int{}, Pickers: map[*generate.Reference]*random.Picker{}}
	return s, nil
}

// nothingToDraw says why a query has no record to draw.
func nothingToDraw(q *workload.Query, t *generate.Table) string {
	if q.Records > 0 {
		return fmt.Sprintf("query %s: no partition of %s has %d records; let the group have fewer: records: 2", q.Name, t.Name, q.Records)
	}
	if q.Collection.Tree == nil {
		return fmt.Sprintf("query %s: no record of %s has all the fields that it draws", q.Name, t.Name)
	}
	return fmt.Sprintf("query %s: it draws nodes of %s below which there are %s others, and there is none; give it other bounds: below: {min: …, max: …}",
		q.Name, t.Name, q.Below)
}

// Mixed returns n operations of the mix. Number is that of the first insert.
func (s *Stream) Mixed(purpose string, n, number int) []Call {
	defer s.forget(s.known())
	r, checked := random.New(s.w.Seed, purpose, 0), random.New(s.w.Seed, "checked of "+purpose, 0)
	calls := make([]Call, n)
	for i := range calls {
		s.checks = checked.IntN(limit.CheckedShare) == 0
		calls[i] = s.call(r, s.mix.Draw(r), number+i)
		s.insert(&calls[i], number+i)
	}
	checkKeys(calls, checked, int(limit.CheckedSoon*time.Duration(s.w.Rate)/time.Second))
	return calls
}

// Only returns n operations of the query at an index.
func (s *Stream) Only(at, n, number int) []Call {
	r := random.New(s.w.Seed, "samples of "+s.w.Queries[at].Name, 0)
	calls := make([]Call, n)
	s.checks = true
	for i := range calls {
		calls[i] = s.call(r, at, number+i)
	}
	return calls
}

// call makes one operation.
func (s *Stream) call(r *rand.Rand, at, number int) Call {
	return s.callFor(r, at, number, s.pick(r, at, number))
}

// callFor makes an operation for the i-th record.
func (s *Stream) callFor(r *rand.Rand, at, number, i int) Call {
	q := s.w.Queries[at]
	k := Call{Q: q, At: at, Checked: s.checks}
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
	case "near":
		k.Center, k.Where = s.at(q.Collection, q.At, i).(string), map[string]any{}
		k.Find = s.find(r, &k, i)
	case "journey":
		k.Parts = s.steps(r, q, number)
	case "group":
		s.address(&k, i)
		for n, mate := range s.drawers[at].mates(r, i, q.Records) {
			k.Parts = append(k.Parts, s.part(r, q.Parts[n], at, mate, number))
		}
	case "update", "modify", "move":
		s.address(&k, i)
		k.from = i
		s.change(r, &k, number)
	default:
		k.Find = s.find(r, &k, i)
	}
	if len(q.Children) > 0 {
		k.Parent = map[string]any{}
		for _, f := range q.Collection.Key() {
			k.Parent[f] = s.at(q.Collection, f, i)
		}
	}
	return k
}

// part makes a write of a group, on the i-th record.
func (s *Stream) part(r *rand.Rand, q *workload.Query, at, i, number int) Call {
	k := Call{Q: q, At: at, from: i}
	s.address(&k, i)
	switch q.Kind {
	case "put":
		k.Record = s.made(r, q, i, i, number)
	case "update":
		s.change(r, &k, number)
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
	key := make(repo.Key, len(names))
	for j, f := range names {
		key[j] = s.at(c, f, i)
	}
	return key
}

// find fills the parameters of a query from the i-th record.
func (s *Stream) find(r *rand.Rand, k *Call, i int) repo.Query {
	q := k.Q
	var find repo.Query
	for j := range q.Where {
		v := s.draw(q.Collection, &q.Where[j], r, i)
		find = find.Where(q.Where[j].Field, v)
		k.condition("any_of", q.Where[j].Field, v)
		if q.At != "" {
			k.Where[q.Where[j].Field] = v
		}
	}
	for j := range q.Sets {
		find = s.several(find, k, &q.Sets[j], r, i)
	}
	if win := q.Window; win != nil {
		find = s.bind(k, win, r, find, i)
	}
	if k.Limit = q.Limit; q.Least > 0 {
		k.Limit = q.Least + r.IntN(q.Limit-q.Least+1)
	}
	return find.Order(q.Order...).Limit(k.Limit)
}

// draw returns the value of a condition: of a list, one of its elements.
func (s *Stream) draw(of *workload.Collection, c *workload.Condition, r *rand.Rand, i int) any {
	if c.From == "" {
		return c.Literal
	}
	v := s.at(of, c.From, i)
	if list, ok := v.([]any); ok && strings.HasSuffix(c.Field, "[]") {
		return list[r.IntN(len(list))]
	}
	return v
}

// bind adds the range or prefix to a query.
func (s *Stream) bind(k *Call, win *workload.Window, r *rand.Rand, find repo.Query, i int) repo.Query {
	of := k.Q.Collection
	if win.IsPrefix {
		text := win.Prefix
		if win.Chars > 0 {
			drawn := []rune(s.at(of, win.Field, i).(string))
			text = string(drawn[:min(win.Chars, len(drawn))])
		}
		k.condition("prefix", win.Field, text)
		return find.Prefix(win.Field, text)
	}
	if win.From != nil {
		from := s.draw(of, win.From, r, i)
		if win.Span != nil {
			to := above(from, win.Span)
			k.condition("at_least", win.Field, from)
			k.condition("below", win.Field, to)
			return find.Range(win.Field, from, to)
		}
		if win.IsAbove {
			find = find.Above(win.Field, from)
			k.condition("above", win.Field, from)
		} else {
			find = find.AtLeast(win.Field, from)
			k.condition("at_least", win.Field, from)
		}
	}
	if win.To == nil {
		return find
	}
	to := s.draw(of, win.To, r, i)
	if win.IsAtMost {
		k.condition("at_most", win.Field, to)
		return find.AtMost(win.Field, to)
	}
	k.condition("below", win.Field, to)
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

// change draws what an update changes.
func (s *Stream) change(r *rand.Rand, k *Call, number int) {
	if k.sets = k.Q.Set; k.Q.One {
		one := r.IntN(len(k.sets))
		k.sets = k.sets[one : one+1]
	}
	k.Edits = make([]repo.Edit, 0, len(k.sets)+len(k.Q.Add)+len(k.Q.Push))
	s.prepare(r, k.Q, k.from, number, nil)
	for _, a := range k.sets {
		v := a.Make.Value(&s.making)
		k.Edits, k.values = append(k.Edits, repo.Set(a.Field, v)), append(k.values, v)
	}
	for _, a := range k.Q.Add {
		k.Edits = append(k.Edits, repo.Add(a.Field, a.By))
	}
	for _, p := range k.Q.Push {
		v := p.Make.Value(&s.making)
		k.pushed = append(k.pushed, v)
		var elements []any
		if v != nil { // else the edit is there all the same, as a patch without any is none
			elements = []any{v}
		}
		if p.Front {
			k.Edits = append(k.Edits, repo.PushFront(p.Field, p.Cap, elements...))
		} else {
			k.Edits = append(k.Edits, repo.Push(p.Field, p.Cap, elements...))
		}
	}
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
	if i < 0 { // a record that a trace names
		i, n = r.IntN(t.Len), t.Len+number
	}
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
	if s.line != nil {
		maps.Copy(record, s.line.Fields)
	}
	return record
}
