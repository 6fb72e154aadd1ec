package repo_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A lagging store does what it is asked to, and while it lags it cannot say that this
// will last.
type lagging struct {
	driver.Store
	lags atomic.Bool
	only driver.Class // of tables whose replicas lag; zero is all
	says error        // of a Check that cannot be sure
}

func (s *lagging) Facts() driver.Facts {
	f := s.Store.Facts()
	f.Waits = true
	return f
}

func (s *lagging) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	refusal, err := s.Store.Commit(ctx, token, ops)
	switch {
	case err != nil || refusal != nil || !s.lags.Load() || s.only != 0 && ops[0].Table.Class != s.only:
		return refusal, err
	case ops[0].Do == driver.Check:
		return nil, fmt.Errorf("replicas lag: %w", s.says)
	}
	return nil, fmt.Errorf("replicas lag: %w", driver.ErrUnknownOutcome)
}

type laggard struct {
	ID string `repo:"id"`
	N  int64  `repo:"n"`
}

// A write that is in the record, but not as durable as it should be, is neither
// acknowledged nor resolved as committed until it is.
func TestWhatIsThereIsNotYetCommitted(t *testing.T) {
	t.Parallel()
	s := &lagging{Store: memory.New(&memory.Options{Uncertain: true}), says: driver.ErrUnavailable}
	r, err := repo.Open[laggard](t.Context(), repo.NewStore(s, nil), repo.Schema{Collection: "laggards", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	s.lags.Store(true)
	err = r.Insert(t.Context(), &laggard{ID: "a", N: 1})
	e, ok := errors.AsType[*repo.Error](err)
	if !ok || !errors.Is(err, repo.ErrUnknownOutcome) || e.Outcome == nil {
		t.Fatalf("insert: %v, want ErrUnknownOutcome with its Outcome", err)
	}
	if got, err := r.Get(t.Context(), repo.Key{"a"}); err != nil || got.N != 1 {
		t.Errorf("get: %+v, %v; the write was done", got, err)
	}
	if v, err := r.Resolve(t.Context(), e.Outcome); v != repo.Unknown || !errors.Is(err, repo.ErrUnavailable) {
		t.Errorf("resolve while replicas lag: %s, %v; want unknown and the store's error", v, err)
	}
	s.lags.Store(false)
	if v, err := r.Resolve(t.Context(), e.Outcome); v != repo.Committed || err != nil {
		t.Errorf("resolve afterwards: %s, %v; want committed", v, err)
	}
}

// A claim that is there, but not as durable as it should be, is no ground for a commit:
// without it two records could have the value when a server is lost.
func TestClaimThatIsNotYetDurable(t *testing.T) {
	t.Parallel()
	scope := driver.ScopePartition
	for _, says := range []error{driver.ErrUnavailable, driver.ErrUnknownOutcome} {
		s := &lagging{Store: memory.New(&memory.Options{Scope: &scope, Uncertain: true}), only: driver.Claims, says: says}
		r, err := repo.Open[member](t.Context(), repo.NewStore(s, nil), memberSchema)
		if err != nil {
			t.Fatal(err)
		}
		s.lags.Store(true)
		if err := r.Insert(t.Context(), &member{ID: "a", Mail: mail("x")}); !errors.Is(err, repo.ErrUnavailable) || errors.Is(err, repo.ErrUnknownOutcome) {
			t.Errorf("insert while the replicas of its claim lag: %v, want ErrUnavailable", err)
		}
		if found, err := r.Exists(t.Context(), repo.Key{"a"}); found || err != nil {
			t.Errorf("the record is there: %v, %v", found, err)
		}
		s.lags.Store(false)
		insertMember(t, r, member{ID: "a", Mail: mail("x")})
	}
}
