package conformance

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/history"
	"github.com/polystore/polystore/conformance/internal/random"
	"github.com/polystore/polystore/conformance/internal/watchdog"
)

// limits are for stores that hang: a busy machine is slow, but goes on.
type limits struct {
	limit time.Duration // for a rule to come to its next step
	stall time.Duration // for what is no rule to make any progress
}

var usual = limits{limit: 3 * time.Minute, stall: 5 * time.Minute}

// fewHang is how many rules that never return are enough: no more are begun.
const fewHang = 8

func (s *suite) hangs() bool { return s.Hung.Load() >= fewHang }

// dropsAtEnd is how long a run that is broken off waits for what it made to be dropped.
const dropsAtEnd = time.Minute

// within does what is no rule and may hang. What does not return is left behind.
func (s *suite) within(ctx context.Context, what string, do func() error) error {
	s.observer.begins(what)
	defer s.observer.ends(what)
	done := make(chan error, 1)
	go func() { done <- finding.Caught(do) }()
	err, returned := watchdog.New().Await(ctx, s.stall, done)
	if !returned {
		return finding.Wanted(what+" to return", fmt.Sprintf("it did not within %s, and was left behind", s.stall))
	}
	return err
}

// watched does what is no rule: the random operations, the histories. What makes no progress
// for too long is left behind.
func (s *suite) watched(ctx context.Context, id string, tell progress, do func(ctx context.Context, tell progress) error) error {
	s.observer.begins(id)
	defer s.observer.ends(id)
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	var left atomic.Bool
	dog, done := watchdog.New(), make(chan error, 1)
	go func() {
		done <- do(limited, func(what string, n, total int) {
			dog.Move()
			if !left.Load() {
				tell(what, n, total)
			}
		})
	}()
	err, returned := dog.Await(ctx, s.stall, done)
	if !returned {
		left.Store(true)
		return finding.Wanted("the store to answer", fmt.Sprintf("no progress within %s; what hangs was left behind", s.stall))
	}
	return err
}

// watchedCompare does the random operations.
func (s *suite) watchedCompare(ctx context.Context, o Options) error {
	return s.watched(ctx, randomGroup, o.Progress, func(ctx context.Context, tell progress) error {
		return random.Compare(ctx, s.Target(), o.Seed, o.Ops, tell)
	})
}

// watchedRecord makes the histories.
func (s *suite) watchedRecord(ctx context.Context, o Options) error {
	return s.watched(ctx, historyGroup, o.Progress, func(ctx context.Context, tell progress) error {
		return history.Record(ctx, s.Target(), o.Seed, o.Histories, tell)
	})
}

type progress = func(what string, done, total int)
