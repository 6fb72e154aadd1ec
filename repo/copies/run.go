package copies

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo"
)

// Run calls [Source.Follow] at once and then once in every interval. A service has a loop with
//
//	go users.Run(ctx, time.Minute, func(changed int, err error) { … })
//
// which returns when the context ends, with ErrTimeout, or when the store is closed, with ErrClosed. Done, unless nil, is
// called after each Follow with what that returned; an error does not end the loop. Done must not close the store. Any
// number of programs may have a loop.
func (s *Source[Y]) Run(ctx context.Context, every time.Duration, done func(changed int, err error)) error {
	if ctx == nil || every <= 0 {
		return failed("run", s.name, fmt.Errorf("every is %s, and the context %v; want more than 0, and a context: %w", every, ctx, repo.ErrInvalid))
	}
	for {
		next := time.NewTimer(every)
		changed, err := s.Follow(ctx)
		if ctx.Err() == nil && done != nil {
			done(changed, err)
		}
		if errors.Is(err, repo.ErrClosed) {
			next.Stop()
			return err
		}
		select {
		case <-next.C:
		case <-ctx.Done():
			next.Stop()
			return failed("run", s.name, fmt.Errorf("%w: %w", repo.ErrTimeout, context.Cause(ctx)))
		}
	}
}
