package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/conformance/internal/history"
	"github.com/polystore/polystore/repo/driver"
)

// Trouble is what befalls a store while clients work with it.
type Trouble struct {
	Seed    uint64 // of what the clients do
	Rounds  int    // histories, of each kind in turn
	Clients int    // that work at once, 100 at most; 0 is 5

	// Make makes calls fail until its context ends, which is when the clients are done, and
	// after Lasts at the latest; 0 is 20 seconds. When it returns, the trouble is over.
	Make  func(ctx context.Context, seed uint64)
	Lasts time.Duration
}

// A Tally counts the calls of histories in trouble, and what became of those whose
// outcome was unknown.
type Tally struct {
	Calls        int
	Answered     int
	Unknown      int
	Committed    int // of Unknown, as Resolve says
	NotCommitted int
	Open         int // Resolve cannot say: such a call may have been done at any time, or not at all
}

// InTrouble makes concurrent histories like those of Run, and of counters, on a store
// that is in trouble. Clients resolve what is unknown to them. What they saw must be
// explained by an order of the calls, in which none has an effect that was said to
// have none; what Resolve has said it must not take back; and the indexes must be in
// step with the records. The error says what was not so, and in which round.
func InTrouble(ctx context.Context, open Open, t Trouble) (Tally, error) {
	if ctx == nil || open == nil || t.Make == nil {
		return Tally{}, fmt.Errorf("trouble: the context, what opens the store, or Trouble.Make is nil: %w", driver.ErrInvalid)
	}
	var s *suite
	err := history.InsistCalmly(ctx, func(ctx context.Context) (err error) {
		s, err = newSuite(ctx, open, nil)
		return err
	})
	if err != nil {
		return Tally{}, err
	}
	in := &history.Troubled{}
	err = history.Rounds(ctx, s.Target(), history.Trouble(t), in)
	if left := history.InsistCalmly(context.WithoutCancel(ctx), s.dropAll); left == nil {
		s.Forget()
	}
	return Tally(in.Tally), errors.Join(err, s.finish(context.WithoutCancel(ctx)))
}
