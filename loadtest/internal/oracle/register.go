package oracle

import (
	"math"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

const (
	first = math.MinInt64     // of the time: before the run
	never = operation.Unknown // of a write whose end is not known, as when it failed
)

// A write gave a register a value, or added to it.
type write struct {
	v          any
	by         int64
	begin, end int64
}

// A register is a field of a record that was written.
type register struct {
	sets []write           // of which each may still be what is read
	adds []write           // that are not in sets yet
	list *operation.Growth // what was pushed, nil if nothing was
	both bool              // it was set and added to, so that nothing is known of it
}

func newRegister(v any) *register {
	return &register{sets: []write{{v: v, begin: first, end: first}}}
}

// set notes a value that was set.
func (r *register) set(v any, begin, end int64) {
	r.both = r.both || len(r.adds) > 0 || r.list != nil
	r.sets = append(r.sets, write{v: v, begin: begin, end: end})
}

// add notes what was added.
func (r *register) add(by, begin, end int64) {
	r.both = r.both || len(r.sets) > 1 || r.sets[0].v == unknown{}
	r.adds = append(r.adds, write{by: by, begin: begin, end: end})
}

// push notes what was pushed. Pushes of several forms are too hard to tell.
func (r *register) push(to *workload.Push, v any, begin, end int64) {
	if r.list == nil {
		first, _ := r.sets[0].v.([]any)
		r.list = &operation.Growth{To: to, First: first}
	}
	r.both = r.both || len(r.sets) > 1 || r.list.To.Cap != to.Cap || r.list.To.Front != to.Front
	r.list.Add(v, begin, end)
}

// allows reports whether a read from begin to end may find a value: one that was set by a write that had begun, and after
// which no other had begun and ended before the read.
func (r *register) allows(v any, begin, end int64) bool {
	switch {
	case r.both:
		return true
	case r.list != nil:
		list, _ := v.([]any)
		return r.list.Wrong(list, begin, end) == ""
	case len(r.adds) > 0:
		low, high := r.sum(begin, end)
		n, _ := v.(int64) // what is absent counts as 0
		return low <= n && n <= high
	}
	last := r.last(begin)
	for i := range r.sets {
		if w := &r.sets[i]; w.begin < end && w.end >= last && same(w.v, v) {
			return true
		}
	}
	return false
}

// last returns when the last write began that had ended before a time.
func (r *register) last(before int64) int64 {
	last := int64(first)
	for i := range r.sets {
		if w := &r.sets[i]; w.end < before {
			last = max(last, w.begin)
		}
	}
	return last
}

// sum returns the least and the most that the additions make.
func (r *register) sum(begin, end int64) (low, high int64) {
	low, _ = r.sets[0].v.(int64)
	high = low
	for i := range r.adds {
		switch w := &r.adds[i]; {
		case w.end < begin:
			low, high = low+w.by, high+w.by
		case w.begin >= end:
		case w.by < 0:
			low += w.by
		default:
			high += w.by
		}
	}
	return low, high
}

// settle forgets what no read finds that begins after a time.
func (r *register) settle(now int64) {
	if r.both {
		r.sets, r.adds, r.list = r.sets[:1], nil, nil
		return
	}
	if r.list != nil {
		r.list.Settle(now)
		return
	}
	last, kept := r.last(now), r.sets[:0]
	for _, w := range r.sets {
		if w.end >= last {
			kept = append(kept, w)
		}
	}
	clear(r.sets[len(kept):])
	r.sets = kept
	if len(r.adds) == 0 {
		return
	}
	base, _ := r.sets[0].v.(int64)
	open := r.adds[:0]
	for _, w := range r.adds {
		if w.end < now {
			base += w.by
		} else {
			open = append(open, w)
		}
	}
	r.sets[0].v, r.adds = base, open
}

// wants returns what a read may find, for people.
func (r *register) wants(begin, end int64) []any {
	if len(r.adds) > 0 {
		low, high := r.sum(begin, end)
		return []any{low, high}
	}
	var list []any
	last := r.last(begin)
	for i := range r.sets {
		if w := &r.sets[i]; w.begin < end && w.end >= last {
			list = append(list, w.v)
		}
	}
	return list
}

// only returns what every read from begin to end finds, if there is one such value alone.
func (r *register) only(begin, end int64) (v any, ok bool) {
	if r.both || len(r.adds) > 0 || r.list != nil {
		return nil, false
	}
	list := r.wants(begin, end)
	if len(list) > 1 || list[0] == (unknown{}) {
		return nil, false
	}
	return list[0], true
}

// same reports whether a value may be another one, that was read. What is empty is as if it were absent.
func same(a, b any) bool {
	if _, ok := a.(unknown); ok {
		return true
	}
	if value.IsEmpty(a) || value.IsEmpty(b) {
		return value.IsEmpty(a) && value.IsEmpty(b)
	}
	return value.Same(a, b)
}
