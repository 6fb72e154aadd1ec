package operation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/random"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// unanswered is for how long an inserted record is not drawn, since its insert may not have been answered.
const unanswered = 50 * time.Millisecond

// A drawer draws the records of a query.
type drawer struct {
	fields   []string // that a record must have
	eligible []int32  // records of the data that have them; nil is all
	n        int      // how many those are
	picker   *random.Picker
	newest   *random.Growing // of latest
	newer    []int           // which insertions may be drawn, where the query draws them
	space    int             // of scrambled: the records that there will be

	partitions [][]int32 // of a group: the records that lie together, by the first of them
	lies       []int32   // by record: in which partition
}

func newDrawer(w *workload.Workload, q *workload.Query, t *generate.Table) *drawer {
	d := &drawer{fields: drawn(q)}
	if q.Kind == "group" {
		d.gather(q, t)
	}
	d.eligible, d.n = d.drawsFrom(q, t)
	switch q.Draw.Way {
	case "latest":
		d.newest = random.NewGrowing(q.Draw.Skew)
	case "scrambled":
		d.space = d.n + 2*inserts(w, q.Collection)
	default:
		d.picker = random.NewPicker(d.n, q.Draw.Skew, w.Seed, "query "+q.Name)
	}
	return d
}

// inserts returns how many records a run is expected to insert into a collection.
func inserts(w *workload.Workload, c *workload.Collection) int {
	percent := 0.0
	for _, q := range w.Queries {
		if q.Kind == "insert" && q.Collection == c {
			percent += q.Weight
		}
	}
	return int(percent / 100 * float64(w.RoundOps()) * float64(w.Rounds+1))
}

// drawn returns the fields that a query takes of the drawn record.
func drawn(q *workload.Query) (fields []string) {
	for _, c := range q.Where {
		fields = append(fields, c.From)
	}
	for _, set := range q.Sets {
		fields = append(fields, set.FieldsOf()...)
	}
	fields = append(fields, q.At)
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
	return slices.DeleteFunc(fields, func(f string) bool { return f == "" })
}

// drawsFrom returns the records that have all fields that the query draws, nil
// when that is all of them, and their number.
func (d *drawer) drawsFrom(q *workload.Query, t *generate.Table) (list []int32, n int) {
	for i := range t.Len {
		if d.lies != nil && len(d.partitions[d.lies[i]]) < q.Records {
			continue
		}
		if t.HasAll(i, d.fields) && drawsNode(q, t, i) && drawsSets(q, t, i) {
			list = append(list, int32(i))
		}
	}
	if len(list) == t.Len {
		return nil, t.Len
	}
	return list, len(list)
}

// pick draws a record for the operation of a number: one of the data, or, behind those, an insertion.
func (s *Stream) pick(r *rand.Rand, at, number int) int {
	d, way := s.drawers[at], s.w.Queries[at].Draw
	i := 0
	switch way.Way {
	case "latest":
		n := s.drawable(at, number)
		i = n - 1 - d.newest.Draw(r, n)
	case "scrambled":
		n := s.drawable(at, number)
		for i = n; i >= n; { // what is not there yet is drawn again
			i = random.Scrambled(r, max(d.space, n))
		}
	default:
		turn := 0
		if way.Moves > 0 {
			turn = number / way.Moves
		}
		i = d.picker.Moved(r, turn)
	}
	switch {
	case i >= d.n:
		return s.Data[s.w.Queries[at].Collection.At].Len + d.newer[i-d.n]
	case d.eligible != nil:
		return int(d.eligible[i])
	}
	return i
}

// drawable returns how many records a query may draw: those of the data, and the insertions that were answered
// when the operation of a number begins.
func (s *Stream) drawable(at, number int) int {
	d, all := s.drawers[at], s.newer[s.w.Queries[at].Collection.At]
	late := int(unanswered * time.Duration(s.w.Rate) / time.Second)
	n := len(d.newer)
	for n > 0 && all[d.newer[n-1]].recent && all[d.newer[n-1]].number+late >= number {
		n--
	}
	return d.n + n
}

// An insertion is a record that an operation inserted.
type insertion struct {
	number int            // of the operation
	recent bool           // it is of the operations that are being made
	record map[string]any // the fields that are drawn
}

// insert lets the record of an insert be drawn.
func (s *Stream) insert(k *Call, number int) {
	for i := range k.Parts {
		s.insert(&k.Parts[i], number)
	}
	c := k.Q.Collection
	if k.Q.Kind != "insert" || !c.DrawsInserted(s.w.Queries) {
		return
	}
	x := insertion{number: number, recent: true, record: map[string]any{}}
	for f := range c.Needs {
		if v := k.Record[f]; v != nil {
			x.record[f] = v
		}
	}
	for at, q := range s.w.Queries {
		if q.Collection == c && q.Draw.Grows() && !slices.ContainsFunc(s.drawers[at].fields, func(f string) bool { return x.record[f] == nil }) {
			s.drawers[at].newer = append(s.drawers[at].newer, len(s.newer[c.At]))
		}
	}
	s.newer[c.At] = append(s.newer[c.At], x)
}

// Inserted notes for good what calls insert, so that it is drawn by the operations that are made from now on.
func (s *Stream) Inserted(calls []Call) {
	for i := range calls {
		s.insert(&calls[i], 0)
	}
	for _, list := range s.newer {
		for i := len(list) - 1; i >= 0 && list[i].recent; i-- {
			list[i].recent = false
		}
	}
}

// known returns how many insertions there are, by collection and by query.
func (s *Stream) known() (newer, drawn []int) {
	for _, list := range s.newer {
		newer = append(newer, len(list))
	}
	for _, d := range s.drawers {
		drawn = append(drawn, len(d.newer))
	}
	return newer, drawn
}

// forget leaves as many insertions as there were.
func (s *Stream) forget(newer, drawn []int) {
	for i, n := range newer {
		s.newer[i] = s.newer[i][:n]
	}
	for i, n := range drawn {
		s.drawers[i].newer = s.drawers[i].newer[:n]
	}
}

// Branch returns a stream that goes on from here for operations at another rate that only some candidates are sent.
func (s *Stream) Branch(rate int) *Stream {
	b, w := *s, *s.w
	w.Rate = rate
	b.w = &w
	b.newer, b.drawers = slices.Clone(s.newer), nil
	for i := range b.newer {
		b.newer[i] = slices.Clip(b.newer[i])
	}
	for _, d := range s.drawers {
		own := *d
		own.newer = slices.Clip(own.newer)
		b.drawers = append(b.drawers, &own)
	}
	return &b
}

// at returns the field of a record: one of the data, or, behind those, an insertion.
func (s *Stream) at(c *workload.Collection, field string, i int) any {
	t := s.Data[c.At]
	if s.line != nil && i == s.line.record {
		if v := s.line.Fields[field]; v != nil || i < 0 {
			return v
		}
	}
	if i >= t.Len {
		return s.newer[c.At][i-t.Len].record[field]
	}
	return t.Column(field)[i]
}
