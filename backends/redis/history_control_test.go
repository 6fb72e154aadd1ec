package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// A replayer sends a commit again, as another one, when its outcome is unknown.
type replayer struct{ driver.Store }

func (r replayer) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := r.Store.Commit(ctx, token, ops)
	for n := 0; n < 20 && errors.Is(err, driver.ErrUnknownOutcome); n++ {
		time.Sleep(5 * time.Millisecond)
		refusal, err = r.Store.Commit(context.WithoutCancel(ctx), driver.NewToken(), ops)
	}
	return refusal, err
}

// A pessimist takes an unknown outcome for a failure.
type pessimist struct{ driver.Store }

func (p pessimist) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := p.Store.Commit(ctx, token, ops)
	if errors.Is(err, driver.ErrUnknownOutcome) {
		return nil, fmt.Errorf("no answer, so it failed: %w", driver.ErrUnavailable)
	}
	return refusal, err
}

// An optimist says in a storm that a commit is done before it is sent, and sends one
// after the other.
type optimist struct {
	driver.Store
	storm *storm
	queue sync.Mutex
	under sync.WaitGroup
}

func (o *optimist) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if !o.storm.rages.Load() {
		o.under.Wait()
		return o.Store.Commit(ctx, token, ops)
	}
	ops = copied(ops)
	o.under.Go(func() {
		o.queue.Lock()
		defer o.queue.Unlock()
		o.Store.Commit(context.WithoutCancel(ctx), token, ops)
	})
	return nil, nil
}

// copied returns ops whose slices are their own.
func copied(ops []driver.Op) []driver.Op {
	list := slices.Clone(ops)
	for i := range list {
		op := &list[i]
		op.Edits = slices.Clone(op.Edits)
		op.Row.Ring, op.Row.Fields, op.Row.Extra = slices.Clone(op.Row.Ring), slices.Clone(op.Row.Fields), slices.Clone(op.Row.Extra)
	}
	return list
}

// Histories find stores that treat unknown outcomes as careless programs do.
func TestHistoriesFindCarelessStores(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(*storm, driver.Store) driver.Store{
		"sends again":          func(_ *storm, s driver.Store) driver.Store { return replayer{s} },
		"takes it for failure": func(_ *storm, s driver.Store) driver.Store { return pessimist{s} },
		"acknowledges early":   func(in *storm, s driver.Store) driver.Store { return &optimist{Store: s, storm: in} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := (&storm{rounds: 40, wrap: wrap}).run(t, backendtest.Seed(t))
			if err == nil || !strings.Contains(err.Error(), "want an order of the calls on") && !strings.Contains(err.Error(), "that had the value during") {
				t.Fatalf("40 rounds find nothing of this kind: %v", err)
			}
			t.Logf("found: %.600s", err)
		})
	}
}
