package upkeep

import (
	"context"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/internal/store"
)

// tellEvery is how often a filler says how far it is: often enough for those who would take over from one that was stopped.
const tellEvery = buildFor / 3

// A progress is how far a filling is. Its workers tell it, since a slow store may take long for the rows of one step.
type progress struct {
	note func(ctx context.Context, k *store.Call, mark string, filled int) error

	mu     sync.Mutex
	mark   string
	filled int
	told   time.Time
}

// reach says behind which mark the filling is.
func (p *progress) reach(mark string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mark = mark
}

// add counts records that are filled, and tells of them when it is time.
func (p *progress) add(ctx context.Context, k *store.Call, records int) error {
	p.mu.Lock()
	p.filled += records
	due := time.Since(p.told) >= tellEvery
	p.mu.Unlock()
	if !due {
		return nil
	}
	return p.tell(ctx, k)
}

// tell tells how far the filling is.
func (p *progress) tell(ctx context.Context, k *store.Call) error {
	p.mu.Lock()
	mark, filled := p.mark, p.filled
	p.told = time.Now()
	p.mu.Unlock()
	return p.note(ctx, k, mark, filled)
}
