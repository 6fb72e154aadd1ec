package repo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// An upkeep is a Maintain under way.
type upkeep struct {
	*collection
	call   *call
	faults *faults
	done   Reclaimed

	rate  int // rows that it may look at in a second; 0 is any number
	began time.Time
	seen  int
}

// choose takes the caller's options.
func (u *upkeep) choose(opts []MaintainOption) error {
	for i, opt := range opts {
		if opt == nil {
			return invalid("option %d of Maintain is nil", i+1)
		}
		opt(u)
	}
	if u.rate < 0 {
		return invalid("a rate of %d rows a second", u.rate)
	}
	u.began = time.Now()
	return nil
}

// pace counts rows that were looked at, and waits until it may go on.
func (u *upkeep) pace(ctx context.Context, rows int) error {
	u.seen += rows
	if u.rate == 0 {
		return nil
	}
	t := time.NewTimer(time.Until(u.began.Add(time.Duration(float64(u.seen) / float64(u.rate) * float64(time.Second)))))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrTimeout, ctx.Err())
	}
}

// upkeepAtOnce is how many calls of an upkeep are under way at the same time at most.
const upkeepAtOnce = 16

// atOnce calls do for all numbers below n, some at the same time, until one fails, and returns
// the error of the lowest that did.
func (u *upkeep) atOnce(ctx context.Context, n int, do func(ctx context.Context, k *call, i int) error) error {
	workers := min(n, upkeepAtOnce)
	errs, costs := make([]error, n), make([]call, workers)
	tallies := make([]driver.Tally, workers)
	var all sync.WaitGroup
	for worker := range costs {
		k := &costs[worker]
		if k.now, k.within = u.call.now, u.call.within; u.call.tally != nil {
			k.tally = &tallies[worker]
		}
		all.Go(func() {
			for i := worker; i < n; i += workers {
				if errs[i] = do(ctx, k, i); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	u.call.beside(costs, tallies)
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
