package loadtest

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A dying store answers nothing once it is dead.
type dying struct {
	*watched
	dead atomic.Bool
}

func (s *dying) err() error {
	if s.dead.Load() {
		return driver.ErrUnavailable
	}
	return nil
}

func (s *dying) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if err := s.err(); err != nil {
		return err
	}
	return s.watched.Get(ctx, t, keys, mask, rows)
}

func (s *dying) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if err := s.err(); err != nil {
		return nil, err
	}
	return s.watched.Commit(ctx, token, ops)
}

func (s *dying) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		if err := s.err(); err != nil {
			yield(driver.Chunk{}, err)
			return
		}
		s.watched.Walk(ctx, t, mark)(yield)
	}
}

// lose runs the small workload on two stores, of which the second dies when the log
// says so.
func lose(t *testing.T, stays *watched, when string) (*Result, error) {
	t.Helper()
	dies := &dying{watched: newWatched()}
	w := mustParse(t, strings.Replace(testload.Small, "rounds: 1", "rounds: 3", 1))
	return runWith(t, w, stays, dies, func(p []byte) {
		if strings.Contains(string(p), when) {
			dies.dead.Store(true)
		}
	})
}

func runWith(t *testing.T, w *Workload, one *watched, other driver.Store, log func([]byte)) (*Result, error) {
	t.Helper()
	stores := map[string]driver.Store{"one:": one, "other:": other}
	opts := Options{On: []string{"one:", "other:"}, Terminal: true,
		Open: func(_ context.Context, url string) (driver.Store, error) { return stores[url], nil },
		Log:  writerFunc(func(p []byte) (int, error) { log(p); return len(p), nil })}
	return Run(t.Context(), w, opts)
}

// A store that stops answering ends the run. What was measured before is told, there
// is no verdict, and the other store is left clean.
func TestStoreThatIsLost(t *testing.T) {
	stays := newWatched()
	result, err := lose(t, stays, "round 2 of 3")
	var lost *failure.StoreLost
	if !errors.As(err, &lost) || lost.Store != "other:" || !errors.Is(err, driver.ErrUnavailable) || result == nil {
		t.Fatalf("result %v, %v; want what was measured, and that other: is lost", result, err)
	}
	stays.check(t)
	if result.Exit != Usage || len(result.Verdicts) != 0 || !strings.Contains(result.Ended, "other: stopped answering in round 2 of 3: ") {
		t.Errorf("exit %d, %d verdicts, ended %q", result.Exit, len(result.Verdicts), result.Ended)
	}
	for _, want := range []string{"1 of 3 rounds", "No verdict: other: stopped answering", "what was measured before, in "} {
		if !strings.Contains(result.Text, want) {
			t.Errorf("the text has no %q:\n%s", want, result.Text)
		}
	}
	for _, never := range []string{"Take ", "indexes        agree", "VALID"} {
		if strings.Contains(result.Text, never) {
			t.Errorf("the text has %q:\n%s", never, result.Text)
		}
	}
	if !strings.Contains(err.Error(), "could be removed from other:, where there may be still load_") {
		t.Errorf("it is not told what is left: %v", err)
	}
	checkReport(t, result)
}

// A store that is lost before anything was measured gives no table.
func TestStoreThatIsLostAtOnce(t *testing.T) {
	result, err := lose(t, newWatched(), "warm-up: ")
	var lost *failure.StoreLost
	if !errors.As(err, &lost) || result == nil || !strings.Contains(result.Text, "Nothing was measured before.") || strings.Contains(result.Text, "CPU/op") {
		t.Errorf("%v, %+v; want that nothing was measured", err, result)
	}
	checkReport(t, result)
}

// A store that fails now and then is not lost.
func TestStoreThatFailsNowAndThenIsNotLost(t *testing.T) {
	dies := &dying{watched: newWatched()}
	w := mustParse(t, strings.Replace(testload.Small, "rounds: 1", "rounds: 2", 1))
	var calls atomic.Int64
	flaky := &flaky{dies, &calls}
	result, err := runWith(t, w, newWatched(), flaky, func(p []byte) {
		switch {
		case strings.Contains(string(p), "round 1 of 2"):
			calls.Store(1)
		case strings.Contains(string(p), "round 2 of 2"):
			calls.Store(0)
		}
	})
	if err != nil || len(result.Verdicts) != 1 || !strings.Contains(result.Text, "failed") {
		t.Errorf("%v, %+v; want a verdict with failures", err, result)
	}
}

// A flaky store fails in each tenth Get once its calls are counted.
type flaky struct {
	*dying
	calls *atomic.Int64
}

func (s *flaky) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if s.calls.Load() > 0 && s.calls.Add(1)%10 == 0 {
		return driver.ErrUnavailable
	}
	return s.dying.Get(ctx, t, keys, mask, rows)
}
