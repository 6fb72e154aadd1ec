package conformance

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/repo/driver"
)

// A careless store is one in memory whose answers are lost in trouble, and what a
// careless program makes of that.
type careless struct {
	double.Lossy
	commit func(ctx context.Context, c *careless, token driver.Token, ops []driver.Op) (*driver.Refusal, error)
}

func (c *careless) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	return c.commit(ctx, c, token, ops)
}

func careful(ctx context.Context, c *careless, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	return c.Lossy.Commit(ctx, token, ops)
}

// makeTrouble loses answers until the context ends.
func (c *careless) makeTrouble(ctx context.Context, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for ctx.Err() == nil {
		c.Lose([]double.LossPlan{double.DoneThenLost, double.LostOnTheWay}[r.IntN(2)])
		time.Sleep(2 * time.Millisecond)
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.Plans = nil
}

func inTrouble(t *testing.T, rounds int, commit func(context.Context, *careless, driver.Token, []driver.Op) (*driver.Refusal, error)) (Tally, error) {
	t.Helper()
	c := &careless{Lossy: double.Lossy{Store: memory.New(nil)}, commit: commit}
	open := func(context.Context) (driver.Store, error) { return c, nil }
	return InTrouble(t.Context(), open, Trouble{Seed: 1, Rounds: rounds, Make: c.makeTrouble})
}

// A store that says what is unknown passes, and its outcomes are resolved.
func TestTroubleThatIsNoFault(t *testing.T) {
	t.Parallel()
	tally, err := inTrouble(t, 8, careful)
	if err != nil {
		t.Error(err)
	}
	if tally.Committed+tally.NotCommitted == 0 || tally.Unknown != tally.Committed+tally.NotCommitted+tally.Open || tally.Answered > tally.Calls {
		t.Errorf("the tally is %+v", tally)
	}
}

// A deaf store answers no read while the trouble lasts.
type deaf struct {
	careless
	storm atomic.Bool
}

func (d *deaf) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if d.storm.Load() {
		return driver.ErrUnavailable
	}
	return d.careless.Get(ctx, t, keys, mask, rows)
}

// Outcomes that nobody tells while the trouble lasts are asked for until it is over.
func TestTroubleEnds(t *testing.T) {
	t.Parallel()
	d := &deaf{careless: careless{Lossy: double.Lossy{Store: memory.New(nil)}, commit: careful}}
	open := func(context.Context) (driver.Store, error) { return d, nil }
	tally, err := InTrouble(t.Context(), open, Trouble{Seed: 1, Rounds: 4, Lasts: 300 * time.Millisecond, Make: func(ctx context.Context, seed uint64) {
		d.storm.Store(true)
		d.makeTrouble(ctx, seed)
		d.storm.Store(false)
	}})
	if err != nil || tally.Committed+tally.NotCommitted == 0 {
		t.Errorf("%+v, %v", tally, err)
	}
}

// A slow store answers too late when it has done the first commits of the catalog, the first insert of a
// counter and the first drop.
type slow struct {
	careless
	catalog, counter, drop atomic.Int64
}

func (s *slow) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := s.careless.Commit(ctx, token, ops)
	switch op := &ops[0]; {
	case op.Table.Name == "_catalog" && s.catalog.Add(1) <= 3, strings.Contains(op.Row.Key.Partition, ".m") && s.counter.Add(1) == 1:
		return nil, driver.ErrUnknownOutcome
	}
	return refusal, err
}

func (s *slow) Drop(ctx context.Context, tables []*driver.Table) error {
	err := s.careless.Drop(ctx, tables)
	if s.drop.Add(1) == 1 {
		return driver.ErrTimeout
	}
	return err
}

// What a busy machine answers too late before the trouble and after it is no fault.
func TestTroubleOnABusyMachine(t *testing.T) {
	t.Parallel()
	s := &slow{careless: careless{Lossy: double.Lossy{Store: memory.New(nil)}, commit: careful}}
	open := func(context.Context) (driver.Store, error) { return s, nil }
	_, err := InTrouble(t.Context(), open, Trouble{Seed: 1, Rounds: 5, Make: s.makeTrouble})
	if err != nil || s.catalog.Load() < 4 || s.counter.Load() < 2 || s.drop.Load() < 2 {
		t.Errorf("%v, after %d commits of the catalog, %d of counters and %d drops", err, s.catalog.Load(), s.counter.Load(), s.drop.Load())
	}
}

// Each way to be careless is found.
func TestTroubleFinds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		want   string
		commit func(context.Context, *careless, driver.Token, []driver.Op) (*driver.Refusal, error)
	}{
		"sends again": {"a counter", func(ctx context.Context, c *careless, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			refusal, err := c.Lossy.Commit(ctx, token, ops)
			if errors.Is(err, driver.ErrUnknownOutcome) && ops[0].Do == driver.Patch && ops[0].If == driver.Present {
				return c.Lossy.Commit(ctx, driver.NewToken(), ops)
			}
			return refusal, err
		}},
		"takes it for failure": {"an order of the calls", func(ctx context.Context, c *careless, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			refusal, err := c.Lossy.Commit(ctx, token, ops)
			if errors.Is(err, driver.ErrUnknownOutcome) {
				return nil, driver.ErrUnavailable
			}
			return refusal, err
		}},
		"takes it for success": {"an order of the calls", func(ctx context.Context, c *careless, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			refusal, err := c.Lossy.Commit(ctx, token, ops)
			if errors.Is(err, driver.ErrUnknownOutcome) {
				return nil, nil
			}
			return refusal, err
		}},
		"forgets index rows": {"to agree with the records", func(ctx context.Context, c *careless, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
			refusal, err := c.Lossy.Commit(ctx, token, ops)
			if errors.Is(err, driver.ErrUnknownOutcome) && len(ops) > 1 {
				return c.Lossy.Commit(ctx, token, ops[:1])
			}
			return refusal, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := inTrouble(t, 60, tt.commit); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("found %v, want %q", err, tt.want)
			}
		})
	}
}
