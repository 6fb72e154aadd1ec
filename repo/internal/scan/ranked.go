package scan

import (
	"cmp"
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Ranked is a record and how many of the values that are counted it has.
type Ranked struct {
	Record any // a pointer
	Count  int

	at Position
}

// A candidate is a record that rows name, and how many of the values they say it has. It may have fewer: rows stay for
// a while that the record gave up.
type candidate struct {
	found
	count int
}

// A ranking finds the best records of a plan.
type ranking struct {
	v    *View
	c    *Reader
	k    *store.Call
	p    *plan.Plan
	mask []int // of what is read of a record
	most int   // records that are wanted
	best []Ranked
	has  map[found]bool // which records are among the best, by key
}

// Best returns the records that a query finds with the most of the values that are counted, the best first.
func (v *View) Best(ctx context.Context, k *store.Call, q plan.Query) ([]Ranked, error) {
	if ctx == nil {
		return nil, failure.ErrNoContext
	}
	p, err := v.c.planner().Ranked(q, v.c.KeyAccess)
	if p.X != nil {
		k.Uses(p.X.ID)
	}
	if err != nil || p.Empty() {
		return nil, err
	}
	r := ranking{v: v, c: v.c, k: k, p: p, most: p.Limit + p.Offset, has: map[found]bool{}}
	r.mask = plan.MaskFor(v.c.Layout, plan.MaskWith(v.c.Layout, v.mask, &p.Bound), p.X)
	if err := cmp.Or(p.Unlooked(v.c.Redact, r.find(ctx)), v.c.answers(ctx, p)); err != nil {
		return nil, err
	}
	return r.best[min(p.Offset, len(r.best)):], nil
}

// find reads the rows and the records that they say are the best. Where some of these are not as their rows say, and
// other ones had been forgotten that may be better, it reads the rows again for those.
func (r *ranking) find(ctx context.Context) error {
	var behind *candidate
	for room := r.most + limit.BatchSize; ; room = min(2*room, limit.MaxSorted) {
		f, err := r.count(ctx, room, behind)
		if err != nil {
			return err
		}
		list := f.list()
		if over, err := r.confirm(ctx, list); err != nil || over || !f.forgot {
			return err
		}
		behind = &list[len(list)-1]
	}
}

// count returns the best of the candidates, so many, that come behind another one, nil for all.
func (r *ranking) count(ctx context.Context, room int, behind *candidate) (*field, error) {
	f := &field{by: make([][]candidate, r.p.Terms()+1), room: room, low: r.p.Terms() + 1}
	m := r.c.merge(r.p, r.p.Parts, 0)
	m.page = plan.RankedPage
	seen, round := make([]int, r.p.Terms()), 0 // in which round a value was seen last
	var one candidate
	var last driver.Key // of a row of one
	take := func() error {
		if one.count == 0 || behind != nil && !r.comes(behind, one.count, one.at) || !f.takes(one.count) {
			return nil
		}
		var err error
		if one.key = last; !r.p.X.Native {
			one.key, err = r.c.RecordKey(r.p.X, &driver.Row{Key: last})
		}
		f.add(one)
		return err
	}
	for {
		if err := m.fill(ctx, r.k); err != nil {
			return nil, err
		}
		row, of := m.next()
		if row == nil {
			return f, take()
		}
		at, err := r.placeOf(row)
		if err != nil {
			return nil, err
		}
		if one.count == 0 || at != one.at {
			if err := take(); err != nil {
				return nil, err
			}
			one.at, one.count, last = at, 0, row.Key
			round++
		}
		if term := &seen[r.p.Parts[of].Term]; *term != round {
			*term = round
			one.count++
		}
	}
}

// placeOf returns where in the order of the plan the record of a row is: of remote rows that differ in their tokens the
// same.
func (r *ranking) placeOf(row *placed) (Position, error) {
	if !r.p.X.Remote {
		return Position(row.place), nil
	}
	entry, _, err := r.p.X.CutToken(&row.Row)
	if err != nil {
		return "", err
	}
	return placeOf(r.p, &entry)
}

// comes reports whether a candidate comes before what has so many values at a place.
func (r *ranking) comes(a *candidate, count int, at Position) bool {
	return a.count > count || a.count == count && r.before(a.at, at)
}

func (r *ranking) before(a, b Position) bool { return a != b && (a < b) != r.p.Reverse }

// confirm reads the records of candidates until those that are still to come cannot be among the best.
func (r *ranking) confirm(ctx context.Context, list []candidate) (over bool, err error) {
	b := NewReadBuffer(0)
	defer b.Release()
	for size := min(r.most, limit.BatchSize); len(list) > 0; size = min(2*size, limit.BatchSize) {
		some := list[:min(size, len(list))]
		if err := r.read(ctx, b, some); err != nil {
			return false, err
		}
		list = list[len(some):]
		if n := r.most; len(r.best) >= n && !r.comes(&some[len(some)-1], r.best[n-1].Count, r.best[n-1].at) {
			return true, nil
		}
	}
	return false, nil
}

// read reads the records of candidates, and puts those that meet the conditions in their places.
func (r *ranking) read(ctx context.Context, b *readBuffer, list []candidate) error {
	b.prepare(len(list))
	for i := range list {
		b.Keys = append(b.Keys, list[i].key)
	}
	if err := r.c.Store.Get(ctx, r.k, r.c.Records, b.Keys, r.mask, b.Rows); err != nil {
		return err
	}
	for i := range list {
		if err := r.p.LookAt(string(list[i].at)); err != nil {
			return err
		}
		key := found{key: list[i].key}
		if r.has[key] || !r.c.IsLive(r.k, &b.Rows[i]) {
			continue
		}
		var err error
		if b.parts, err = r.c.PartsOf(b.parts[:0], key.key); err == nil {
			rec := r.c.valuesOf(b, &b.Rows[i], b.parts, r.mask)
			err = r.place(key, &rec)
		}
		if err != nil {
			return failure.OfKey(key.key, err)
		}
	}
	slices.SortFunc(r.best, func(a, b Ranked) int {
		d := cmp.Compare(a.at, b.at)
		if r.p.Reverse {
			d = -d
		}
		return cmp.Or(b.Count-a.Count, d)
	})
	r.best = r.best[:min(r.most, len(r.best))]
	return nil
}

// place adds a record to the best, if it meets the conditions, where it is in the order of the plan by now.
func (r *ranking) place(key found, rec *record.Record) error {
	if !r.p.Matches(rec.Vals) {
		return nil
	}
	e, part, err := r.c.entryIn(r.p, r.p.Parts, &key.key, rec.Vals)
	if err != nil || part == nil {
		return err
	}
	one := Ranked{Record: r.v.Scratch(), Count: r.p.Count(rec.Vals), at: Position(part.Place(e.Sort))}
	if err := r.v.into(one.Record, rec); err != nil {
		return err
	}
	if r.p.Look != nil {
		r.p.Look.Found++
	}
	r.best, r.has[key] = append(r.best, one), true
	return nil
}

// ExplainBest says how Best is answered.
func (v *View) ExplainBest(q plan.Query) (plan.Explanation, error) {
	n := v.c.planner()
	p, err := n.Ranked(q, v.c.KeyAccess)
	if err != nil {
		return plan.Explanation{}, err
	}
	return n.ExplainRanked(p), nil
}

// A field has the best of the candidates that come in their order.
type field struct {
	by     [][]candidate // by how many values they have, in their order
	low    int           // the least number that one of them has
	size   int           // of all
	room   int
	forgot bool // some had no room
}

// takes reports whether a candidate that comes now and has so many values is among the best.
func (f *field) takes(count int) bool {
	takes := f.size < f.room || count > f.low
	f.forgot = f.forgot || !takes
	return takes
}

// add adds a candidate that comes now.
func (f *field) add(c candidate) {
	f.by[c.count], f.low = append(f.by[c.count], c), min(f.low, c.count)
	if f.size++; f.size <= f.room {
		return
	}
	worst := f.by[f.low]
	f.by[f.low], f.size, f.forgot = worst[:len(worst)-1], f.room, true
	for len(f.by[f.low]) == 0 {
		f.low++
	}
}

// list returns the candidates, the best first.
func (f *field) list() []candidate {
	list := make([]candidate, 0, f.size)
	for _, some := range slices.Backward(f.by) {
		list = append(list, some...)
	}
	return list
}
