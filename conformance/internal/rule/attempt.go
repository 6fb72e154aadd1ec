package rule

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Hurried writers give each write some thousandths of a second: about what it takes, so that
// many end in the middle.
const hurry = 5 * time.Millisecond

// AfterHurry is enough for a server to do what was sent to it.
const AfterHurry = 300 * time.Millisecond

// Soon returns a context that ends within the time of a hurried write: by a deadline, or
// because it is cancelled.
func Soon(ctx context.Context, r *rand.Rand) (context.Context, context.CancelFunc) {
	wait := time.Duration(r.Int64N(int64(hurry)))
	if r.IntN(2) == 0 {
		return context.WithTimeout(ctx, wait)
	}
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(wait, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}

// An Attempt is a write, and what its caller was told.
type Attempt struct {
	ID  string
	Err error
}

// Known reports whether the caller knows if the write was done; it was if Err is nil.
func (a *Attempt) Known() bool { return !errors.Is(a.Err, driver.ErrUnknownOutcome) }

// Fits sees that an attempt whose caller knows its fate had it.
func (a *Attempt) Fits(e Holder, when string, there bool) {
	switch {
	case a.Err == nil:
		e.env().That(there, "a write that succeeded to be there "+when, "it is not: %s", a.ID)
	case a.Known():
		e.env().That(!there, fmt.Sprintf("a write to be not there %s that failed with %q", when, a.Err), "it is: %s", a.ID)
	}
}
