package loadtest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/polystore/polystore/repo"
)

// A call is one operation with its parameters: everything but where it is sent.
type call struct {
	q      *query
	at     int // index of q
	key    repo.Key
	find   repo.Query
	edits  []repo.Edit
	record map[string]any

	from   int   // number of the record of the data that it is for
	values []any // of the edits that set one
	still  bool  // it is a move that moves nothing: see follow
}

// String returns the call for people.
func (k *call) String() string {
	switch {
	case k.record != nil:
		return fmt.Sprintf("%s (insert %s)", k.q.name, showKey(k.record, k.q.collection.key()))
	case k.key != nil:
		return fmt.Sprintf("%s (%s %s)", k.q.name, k.q.kind, k.key)
	}
	return fmt.Sprintf("%s (%s %s)", k.q.name, k.q.kind, k.find)
}

// A stream makes the operations of a workload. The same seed and data give the
// same operations, whichever candidate they are for. It is for one goroutine.
type stream struct {
	w        *Workload
	data     []*table
	mix      weights
	pickers  []*picker // by query: of its eligible records
	eligible [][]int32 // by query: the records with all fields that it draws; nil is all
	makers   []*maker  // by collection
	making   making

	positions map[position]any // of the records that were changed so far
}

func newStream(w *Workload, data []*table) (*stream, error) {
	s := &stream{w: w, data: data, positions: map[position]any{}}
	each := make([]float64, len(w.queries))
	for i, q := range w.queries {
		each[i] = q.weight
		t := data[q.collection.at]
		list, n := drawsFrom(q, t)
		if n == 0 {
			return nil, Faults{{File: w.File, Line: q.place.line, Column: q.place.column,
				Text: fmt.Sprintf("query %s: no record of %s has all the fields that it draws", q.name, t.name)}}
		}
		s.eligible = append(s.eligible, list)
		s.pickers = append(s.pickers, newPicker(n, q.skew, w.Seed, "query "+q.name))
	}
	s.mix = newWeights(each)
	for _, c := range w.collections {
		s.makers = append(s.makers, newMaker(w, c, data))
	}
	s.making = making{data: data, refs: map[int]int{}, pickers: map[*reference]*picker{}}
	return s, nil
}

// drawsFrom returns the records that have all fields that the query draws, nil
// when that is all of them, and their number.
func drawsFrom(q *query, t *table) (list []int32, n int) {
	var fields []string
	for _, c := range q.where {
		fields = append(fields, c.from)
	}
	if win := q.window; win != nil {
		if win.from != nil {
			fields = append(fields, win.from.from)
		}
		if win.to != nil {
			fields = append(fields, win.to.from)
		}
		if win.chars > 0 {
			fields = append(fields, win.field)
		}
	}
	for i := range t.n {
		if t.hasAll(i, fields) {
			list = append(list, int32(i))
		}
	}
	if len(list) == t.n {
		return nil, t.n
	}
	return list, len(list)
}

func (t *table) hasAll(i int, fields []string) bool {
	for _, f := range fields {
		if f != "" && t.column(f)[i] == nil {
			return false
		}
	}
	return true
}

// mixed returns n operations of the mix. Number is that of the first insert.
func (s *stream) mixed(purpose string, n, number int) []call {
	r := newRand(s.w.Seed, purpose, 0)
	calls := make([]call, n)
	for i := range calls {
		calls[i] = s.call(r, s.mix.draw(r), number+i)
	}
	return calls
}

// only returns n operations of the query at an index.
func (s *stream) only(at, n, number int) []call {
	r := newRand(s.w.Seed, "samples of "+s.w.queries[at].name, 0)
	calls := make([]call, n)
	for i := range calls {
		calls[i] = s.call(r, at, number+i)
	}
	return calls
}

// call makes one operation.
func (s *stream) call(r *rand.Rand, at, number int) call {
	q := s.w.queries[at]
	k := call{q: q, at: at}
	i := s.pickers[at].pick(r)
	if s.eligible[at] != nil {
		i = int(s.eligible[at][i])
	}
	switch q.kind {
	case "insert":
		k.record = s.inserted(r, q, i, number)
	case "get", "exists", "delete":
		k.key = s.keyOf(q, i)
	case "update", "move":
		k.key, k.from = s.keyOf(q, i), i
		k.edits, k.values = s.edits(r, q, number)
	default:
		k.find = s.find(r, q, i)
	}
	return k
}

func (s *stream) keyOf(q *query, i int) repo.Key {
	t := s.data[q.collection.at]
	names := q.collection.key()
	key := make(repo.Key, len(names))
	for j, f := range names {
		key[j] = t.column(f)[i]
	}
	return key
}

// find fills the parameters of a query from the i-th record.
func (s *stream) find(r *rand.Rand, q *query, i int) repo.Query {
	t := s.data[q.collection.at]
	var find repo.Query
	for j := range q.where {
		find = find.Where(q.where[j].field, draw(&q.where[j], r, t, i))
	}
	if win := q.window; win != nil {
		find = bind(win, r, find, t, i)
	}
	return find.Order(q.order...).Limit(q.limit)
}

// draw returns the value of a condition: of a list, one of its elements.
func draw(c *condition, r *rand.Rand, t *table, i int) any {
	if c.from == "" {
		return c.literal
	}
	v := t.column(c.from)[i]
	if list, ok := v.([]any); ok && strings.HasSuffix(c.field, "[]") {
		return list[r.IntN(len(list))]
	}
	return v
}

// bind adds the range or prefix to a query.
func bind(win *window, r *rand.Rand, find repo.Query, t *table, i int) repo.Query {
	if win.isPrefix {
		text := win.prefix
		if win.chars > 0 {
			drawn := []rune(t.column(win.field)[i].(string))
			text = string(drawn[:min(win.chars, len(drawn))])
		}
		return find.Prefix(win.field, text)
	}
	if win.from != nil {
		from := draw(win.from, r, t, i)
		if win.span != nil {
			return find.Range(win.field, from, above(from, win.span))
		}
		if win.isAbove {
			find = find.Above(win.field, from)
		} else {
			find = find.AtLeast(win.field, from)
		}
	}
	if win.to == nil {
		return find
	}
	to := draw(win.to, r, t, i)
	if win.isAtMost {
		return find.AtMost(win.field, to)
	}
	return find.Below(win.field, to)
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
func (s *stream) edits(r *rand.Rand, q *query, number int) (edits []repo.Edit, values []any) {
	edits = make([]repo.Edit, 0, len(q.set)+len(q.add))
	s.prepare(r, q, number, nil)
	for _, a := range q.set {
		v := a.make.value(&s.making)
		edits, values = append(edits, repo.Set(a.field, v)), append(values, v)
	}
	for _, a := range q.add {
		edits = append(edits, repo.Add(a.field, a.by))
	}
	return edits, values
}

func (s *stream) prepare(r *rand.Rand, q *query, number int, record map[string]any) {
	s.making.rand, s.making.n, s.making.record = r, number, record
	s.making.count = max(s.data[q.collection.at].n, 1)
	clear(s.making.refs)
}

// inserted returns a new record: the next one of the generators, or a copy of
// that in the file, with the query's own fields.
func (s *stream) inserted(r *rand.Rand, q *query, i, number int) map[string]any {
	t := s.data[q.collection.at]
	var record map[string]any
	if q.collection.data.file == "" {
		record = s.makers[q.collection.at].record(t.n + number)
	} else {
		record = make(map[string]any, len(t.columns))
		for f, col := range t.columns {
			if col[i] != nil {
				record[f] = col[i]
			}
		}
	}
	s.prepare(r, q, number, record)
	for _, a := range q.set {
		if v := a.make.value(&s.making); v != nil {
			record[a.field] = v
		} else {
			delete(record, a.field)
		}
	}
	return record
}
