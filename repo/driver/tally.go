package driver

import (
	"context"
	"sync/atomic"
)

// A Tally counts what calls of a store send to its server. Package repo puts one into
// the context of the calls of an operation that somebody traces. A store whose
// Facts.Tallies is set begins a [Request] on it when it sends something, and ends it when that
// is answered. Depth is how many round trips are made one after the other. Requests is how many
// commands or statements are sent: several of them in one pipeline are one trip, and one that is
// sent twice counts twice. What a driver sends for itself, to connect or to prepare a statement,
// counts as nothing. What is sent at the same time is counted by several tallies: see Split.
type Tally struct {
	// Tell, unless it is nil, is called when a request begins, with the context of the call. What
	// it returns, unless that is nil, is called when the request ends. Neither panics.
	Tell func(ctx context.Context, commands int) (end func(depth, requests int, err error))

	depth, requests, beaten atomic.Int64
}

type tallyKey struct{}

// WithTally returns a context whose calls add to t.
func WithTally(ctx context.Context, t *Tally) context.Context {
	return context.WithValue(ctx, tallyKey{}, t)
}

// TallyOf returns the tally of a context, nil if nobody counts.
func TallyOf(ctx context.Context) *Tally {
	if ctx == nil {
		return nil
	}
	t, _ := ctx.Value(tallyKey{}).(*Tally)
	return t
}

// A Request is what a store sends in one go, while it waits for the answer.
type Request struct {
	t      *Tally
	before int64 // requests of the tally
	end    func(depth, requests int, err error)
}

// Begin says that commands or statements are sent in one go. End must follow. A nil Tally tells and
// counts nothing.
func (t *Tally) Begin(ctx context.Context, commands int) Request {
	if t == nil {
		return Request{}
	}
	r := Request{t: t, before: t.requests.Load()}
	if t.Tell != nil {
		r.end = t.Tell(ctx, commands)
	}
	return r
}

// End counts the round trips that it took and the requests that were sent in them, 0 if nothing
// was. Err is why there is no answer; a client may take a server's refusal for one.
func (r Request) End(depth, requests int, err error) {
	r.t.add(depth, requests)
	if r.end != nil {
		r.end(depth, int(r.t.requests.Load()-r.before), err)
	}
}

// Beside counts requests that are sent along with one under way, such as a wait for replicas.
func (t *Tally) Beside(requests int) { t.add(0, requests) }

// Beaten counts a commit that is begun again because another program was faster.
func (t *Tally) Beaten() {
	if t != nil {
		t.beaten.Add(1)
	}
}

func (t *Tally) add(depth, requests int) {
	if t != nil {
		t.depth.Add(int64(depth))
		t.requests.Add(int64(requests))
	}
}

// Split returns n tallies for calls that are made at the same time, or nil if nobody counts.
func (t *Tally) Split(n int) []Tally {
	if t == nil {
		return nil
	}
	tallies := make([]Tally, n)
	for i := range tallies {
		tallies[i].Tell = t.Tell
	}
	return tallies
}

// Join counts what the tallies of Split have: the requests of all, and the depth of the deepest.
func (t *Tally) Join(tallies []Tally) {
	deepest := 0
	for i := range tallies {
		depth, requests, beaten := tallies[i].Count()
		deepest = max(deepest, depth)
		t.requests.Add(int64(requests))
		t.beaten.Add(int64(beaten))
	}
	t.add(deepest, 0)
}

// Count returns what t has.
func (t *Tally) Count() (depth, requests, beaten int) {
	return int(t.depth.Load()), int(t.requests.Load()), int(t.beaten.Load())
}
