package backendtest

import (
	"context"
	"fmt"
	"sync"

	"github.com/polystore/polystore/repo"
)

// asked is the requests of one operation, as a tracer was told of them.
type asked struct {
	mu                     sync.Mutex
	begun, ended           int
	trips, requests, batch int
}

// tracer tells end how operations end, and counts the requests of each.
func (a *asked) tracer(end func(repo.Event)) repo.Tracer {
	return repo.Tracer{
		Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.begun, a.ended, a.trips, a.requests, a.batch = 0, 0, 0, 0, 0
			return ctx, end
		},
		Request: func(_ context.Context, e repo.Event) func(repo.Event) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.begun, a.batch = a.begun+1, a.batch+e.Batch
			return a.end
		},
	}
}

func (a *asked) end(e repo.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended, a.trips, a.requests = a.ended+1, a.trips+e.Depth, a.requests+e.Requests
}

// differ says where the requests are others than the operation has, "" if they are the same: each has ended,
// together they are what was sent, and what was sent at the same time makes it no deeper.
func (a *asked) differ(e repo.Event) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.begun == a.ended && a.requests == e.Requests && a.batch == a.requests && a.trips >= e.Depth && a.ended <= e.Requests {
		return ""
	}
	return fmt.Sprintf("%d requests began and %d ended, of %d commands, with %d sent in %d trips; the operation says %d in %d",
		a.begun, a.ended, a.batch, a.requests, a.trips, e.Requests, e.Depth)
}
