package driver

import (
	"context"
	"sync/atomic"
)

// A Tally counts what calls of a store send to its server. Package repo puts one into
// the context of the calls of an operation that somebody observes. A store whose
// Facts.Tallies is set adds what it sends, when it is sent. Depth is how many round trips
// are made one after the other. Requests is how many commands or statements are sent:
// several of them in one pipeline are one trip, and one that is sent twice counts twice.
// What a driver sends for itself, to connect or to prepare a statement, counts as nothing.
type Tally struct{ depth, requests atomic.Int64 }

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

// Add counts round trips that were made one after the other, and the requests in them.
// A nil Tally counts nothing.
func (t *Tally) Add(depth, requests int) {
	if t != nil {
		t.depth.Add(int64(depth))
		t.requests.Add(int64(requests))
	}
}

// Beside counts what several tallies have, of calls that were made at the same time: the
// requests of all, and the depth of the deepest.
func (t *Tally) Beside(tallies []Tally) {
	deepest, all := 0, 0
	for i := range tallies {
		depth, requests := tallies[i].Count()
		deepest, all = max(deepest, depth), all+requests
	}
	t.Add(deepest, all)
}

// Count returns what t has.
func (t *Tally) Count() (depth, requests int) {
	return int(t.depth.Load()), int(t.requests.Load())
}
