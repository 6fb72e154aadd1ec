package copies_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A refusing store refuses commits while it is told to.
type refusing struct {
	driver.Store
	refuses atomic.Bool
}

func (s *refusing) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.refuses.Load() {
		return nil, fmt.Errorf("not now: %w", driver.ErrUnavailable)
	}
	return s.Store.Commit(ctx, token, ops)
}

// A loop follows what is due once in each interval, goes on after an error, of which it tells, and ends with its context.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &refusing{Store: memory.New(nil)}
		p := open(t, backend, near, nil)
		p.put(t, "ann", "Ann")
		for n := range 60 { // more than change in one commit
			p.add(t, fmt.Sprint(n), "ann")
		}
		var told []string
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- p.people.Run(ctx, time.Minute, func(changed int, err error) { told = append(told, fmt.Sprint(changed, err != nil)) })
		}()
		time.Sleep(90 * time.Second) // 30 seconds after one of its turns, as all that follows
		p.put(t, "ann", "Anne")
		time.Sleep(time.Minute)
		p.put(t, "ann", "Anna")
		backend.refuses.Store(true)
		time.Sleep(time.Minute)
		backend.refuses.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		p.want(t, "1", "Anna")
		if got := fmt.Sprint(told); got != "[0 false 0 false 60 false 0 true 60 false]" {
			t.Errorf("told: %s", got)
		}
		over := errors.New("the service ends")
		cancel(over)
		if err := <-ended; !errors.Is(err, over) || !errors.Is(err, repo.ErrTimeout) {
			t.Errorf("it ended with %v", err)
		}
		must(t, p.store.Close())
		isKind(t, p.people.Run(t.Context(), time.Minute, nil), repo.ErrClosed)
		isKind(t, p.people.Run(t.Context(), 0, nil), repo.ErrInvalid)
	})
}
