package pace

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// sleeper is the clock of tests in which time is simulated.
type sleeper struct{}

func (sleeper) Attach() {}

func (sleeper) Detach() {}

func (sleeper) Until(t time.Time) { time.Sleep(time.Until(t)) }

// A freezer is a store that answers nothing for a while.
type freezer struct {
	driver.Store
	from, to time.Time
}

func (f *freezer) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	time.Sleep(100 * time.Microsecond)
	if now := time.Now(); now.After(f.from) && now.Before(f.to) {
		time.Sleep(f.to.Sub(now))
	}
	return f.Store.Get(ctx, t, keys, mask, rows)
}

const (
	freezeRate  = 2000
	freezeOps   = 8 * freezeRate
	freezeBegin = 2 * time.Second
	freezeTime  = 1400 * time.Millisecond
)

// frozen returns an operation on a store that freezes.
func frozen(t *testing.T, start time.Time) func(context.Context, int) (int, operation.Outcome) {
	t.Helper()
	f := &freezer{Store: memory.New(nil), from: start.Add(freezeBegin), to: start.Add(freezeBegin + freezeTime)}
	store := repo.NewStore(f, nil)
	r, err := repo.Open[map[string]any](t.Context(), store, repo.Schema{
		Collection: "frozen", Partition: []string{"id"}, Fields: map[string]string{"id": "int"}})
	if err != nil {
		t.Fatal(err)
	}
	rec := map[string]any{"id": 1}
	if err := r.Insert(t.Context(), &rec); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, _ int) (int, operation.Outcome) {
		_, err := r.Get(ctx, repo.Key{1})
		return 0, operation.OutcomeOf(ctx, err)
	}
}

// freezeShown reports whether the measured times tell of the freeze: operations
// that were due in it waited for its end, although few of them met a slow store.
func freezeShown(response, service []int64) error {
	slices.Sort(response)
	slices.Sort(service)
	if p99 := percentile(response, 99); p99 < 1200*time.Millisecond {
		return fmt.Errorf("response p99 is %v, want 1.2 s at least", p99)
	}
	if p99 := percentile(service, 99); p99 >= 10*time.Millisecond {
		return fmt.Errorf("service p99 is %v, want less than 10 ms", p99)
	}
	return nil
}

func TestFreezeIsMeasured(t *testing.T) {
	for _, shares := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			b := &Bench{Clock: sleeper{}, Rate: freezeRate, Slots: 64, Grace: time.Minute, Shares: shares}
			b.Run(t.Context(), freezeOps, frozen(t, time.Now().Add(lead)))
			var response, service, lag []int64
			for i := range b.Samples {
				s := &b.Samples[i]
				if s.Outcome != operation.Done {
					t.Fatalf("operation %d: %s", i, s.Outcome)
				}
				response, service, lag = append(response, s.Response()), append(service, s.service), append(lag, s.lag)
			}
			if err := freezeShown(response, service); err != nil {
				t.Errorf("store in this process %v: %v", shares, err)
			}
			if worst := slices.Max(lag); worst > int64(time.Millisecond) {
				t.Errorf("store in this process %v: lag of %v, though the clock was never late", shares, time.Duration(worst))
			}
		})
	}
}

// The same freeze, measured from the instant at which an operation begins: what
// was due meanwhile is not seen. It is the control of TestFreezeIsMeasured.
func TestFreezeIsMissedWithoutCorrection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Add(lead)
		do := frozen(t, start)
		times := make([]int64, freezeOps)
		var slots sync.WaitGroup
		queue := make(chan int)
		for range 64 {
			slots.Go(func() {
				for i := range queue {
					begin := time.Now()
					do(t.Context(), i)
					times[i] = int64(time.Since(begin))
				}
			})
		}
		for i := range freezeOps {
			sleeper{}.Until(start.Add(time.Duration(i) * time.Second / freezeRate))
			queue <- i
		}
		close(queue)
		slots.Wait()
		if err := freezeShown(slices.Clone(times), times); err == nil {
			t.Error("the uncorrected times tell of the freeze, so the check tells nothing")
		}
	})
}

// When operations take longer than the slots can carry, the excess is wait, not
// lag and not service.
func TestFullSlotsAreWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Bench{Clock: sleeper{}, Rate: 100, Slots: 1, Grace: time.Minute}
		b.Run(t.Context(), 100, func(context.Context, int) (int, operation.Outcome) {
			time.Sleep(20 * time.Millisecond)
			return 0, operation.Done
		})
		for i, s := range b.Samples {
			want := int64(i) * int64(10*time.Millisecond) // each is 10 ms later than it should be
			if s.lag != 0 || s.wait != want || s.service != int64(20*time.Millisecond) {
				t.Fatalf("operation %d: lag %d, wait %d, service %d; want 0, %d, 20 ms", i, s.lag, s.wait, s.service, want)
			}
		}
	})
}

// A clock that is late is lag, not wait.
type lateClock struct{ sleeper }

func (c lateClock) Until(t time.Time) { c.sleeper.Until(t.Add(3 * time.Millisecond)) }

func TestLateClockIsLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Bench{Clock: lateClock{}, Rate: 100, Slots: 4, Grace: time.Minute}
		b.Run(t.Context(), 50, func(context.Context, int) (int, operation.Outcome) { return 0, operation.Done })
		for i, s := range b.Samples {
			if s.lag != int64(3*time.Millisecond) || s.wait != 0 {
				t.Fatalf("operation %d: lag %d, wait %d; want 3 ms, 0", i, s.lag, s.wait)
			}
		}
	})
}

// A round that falls behind is cut off; what is left is counted, not forgotten.
func TestRoundIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Bench{Clock: sleeper{}, Rate: 1000, Slots: 2, Grace: 2 * time.Second}
		took := b.Run(t.Context(), 1000, func(ctx context.Context, _ int) (int, operation.Outcome) {
			select {
			case <-time.After(time.Second):
				return 0, operation.Done
			case <-ctx.Done():
				return 0, operation.Unfinished
			}
		})
		if took > 4*time.Second {
			t.Errorf("the round took %v, want 3 s", took)
		}
		r := b.Result([]*workload.Query{{}})
		if r.Unfinished < 990 || !hopeless(r) || r.Queries[0].Calls != 1000 {
			t.Errorf("%d unfinished, backlog %d, %d counted; want nearly all, and 1000", r.Unfinished, r.Backlog, r.Queries[0].Calls)
		}
	})
}

// The clock of this machine is roughly in time. How exact it is the benchmark
// tells; a machine with much to do is no defect of this package.
func TestMachineClock(t *testing.T) {
	b := &Bench{Clock: &MachineClock{}, Rate: 10_000, Slots: 8, Grace: 10 * time.Second}
	b.Run(t.Context(), 3000, func(context.Context, int) (int, operation.Outcome) { return 0, operation.Done })
	var lag []int64
	for i := range b.Samples {
		if b.due[i].Load() < int64(b.instant(i)) {
			t.Fatalf("operation %d was released before its instant", i)
		}
		lag = append(lag, b.Samples[i].lag)
	}
	if p50 := percentile(lag, 50); p50 > 100*time.Millisecond {
		t.Errorf("lag p50 is %v", p50)
	}
}
