package backendtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

// Seed returns a seed that is new each time, or that of a run to be repeated.
func Seed(t *testing.T) uint64 {
	t.Helper()
	const variable = "POLYSTORE_TEST_SEED"
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(variable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", variable, err)
		}
	}
	t.Logf("for the same trouble set %s=%d", variable, seed)
	return seed
}

// Squalls is histories on a store behind a proxy in trouble, with much calm in between, as
// clients need who take long to make a connection.
type Squalls struct {
	Open            func(ctx context.Context) (driver.Store, error)
	Proxy           *toxic.Proxy
	Rounds, Clients int
}

// Run makes the histories.
func (s *Squalls) Run(t *testing.T, seed uint64) (conformance.Tally, error) {
	t.Helper()
	kinds := map[toxic.Kind]int{}
	tally, err := conformance.InTrouble(t.Context(), s.Open, conformance.Trouble{Seed: seed, Rounds: s.Rounds, Clients: s.Clients, Make: func(ctx context.Context, seed uint64) {
		for _, f := range s.Proxy.Squalls(ctx, seed, 10) {
			kinds[f.Kind]++
		}
	}})
	t.Logf("%d clients: %+v under %v", s.Clients, tally, kinds)
	return tally, err
}

// waves is how many times storms are made at most until they were enough trouble to tell.
const waves = 4

// Histories sees that what clients see is explained by an order of their calls, lookups by
// indexes and unique values among them, and that every outcome can be resolved, and stays as
// it was resolved.
func Histories(t *testing.T, storms int, of func(t *testing.T) *Squalls) {
	t.Helper()
	Storms(t, storms, 3, func(t *testing.T, i int, seed uint64) (conformance.Tally, error) {
		s := of(t)
		s.Rounds, s.Clients = 8, 6*(1+i%2)
		return s.Run(t, seed)
	})
}

// Storms makes so many histories at once, each of which must be without fault. Of all together
// as many outcomes as least says, of either kind, must have been unknown: how many there are
// depends on the machine, so that there are more histories where they were few.
func Storms(t *testing.T, storms, least int, run func(t *testing.T, i int, seed uint64) (conformance.Tally, error)) {
	t.Helper()
	var all conformance.Tally
	for wave := range waves {
		t.Run(fmt.Sprint("storms ", wave), func(t *testing.T) { inStorms(t, storms, Seed(t)+uint64(1e6*wave), run, &all) })
		if all.Committed >= least && all.NotCommitted >= least && all.Answered*2 >= all.Calls || t.Failed() {
			return
		}
	}
	t.Errorf("%+v: too little trouble, or too much, to tell", all)
}

// inStorms makes histories at once, and adds what they were to all.
func inStorms(t *testing.T, storms int, seed uint64, run func(t *testing.T, i int, seed uint64) (conformance.Tally, error), all *conformance.Tally) {
	var mu sync.Mutex
	for i := range storms {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			tally, err := run(t, i, seed+uint64(1000*i))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			all.Calls += tally.Calls
			all.Answered += tally.Answered
			all.Committed += tally.Committed
			all.NotCommitted += tally.NotCommitted
		})
	}
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

// Careless sees that histories find a store that takes an unknown outcome for a failure.
func Careless(t *testing.T, s *Squalls) {
	t.Helper()
	real := s.Open
	s.Rounds, s.Clients = 40, 6
	s.Open = func(ctx context.Context) (driver.Store, error) {
		store, err := real(ctx)
		return pessimist{store}, err
	}
	_, err := s.Run(t, Seed(t))
	kinds := []string{"want an order of the calls on", "that had the value during", "to agree with the records"}
	if err == nil || !slices.ContainsFunc(kinds, func(kind string) bool { return strings.Contains(err.Error(), kind) }) {
		t.Fatalf("40 rounds find nothing of these kinds: %v", err)
	}
	t.Logf("found: %.600s", err)
}
