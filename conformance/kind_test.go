package conformance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
)

// A clocked store tells a time.
type clocked struct {
	*memory.Store
	at time.Time
}

func (s clocked) Time(context.Context) (time.Time, error) { return s.at, nil }

func TestTheClockBehindAKind(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(time.Hour)
	for _, tt := range []struct {
		store driver.Store
		at    time.Time
		err   error
	}{
		{clocked{memory.New(nil), at}, at, nil},
		{memory.New(nil), time.Time{}, driver.ErrUnsupported},
	} {
		s, err := WithKind(func(context.Context) (driver.Store, error) { return tt.store, nil }, "table")(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.(driver.Clock).Time(t.Context()); !got.Equal(tt.at) || !errors.Is(err, tt.err) {
			t.Errorf("Time = %v, %v, want %v, %v", got, err, tt.at, tt.err)
		}
	}
}

// What package repo takes for granted where it is there is there behind a kind just if it is in the store within.
func TestTheAbilitiesBehindAKind(t *testing.T) {
	t.Parallel()
	type gatherer struct{ driver.Gatherer }
	type sweeper struct{ driver.Sweeper }
	plain := struct{ driver.Store }{memory.New(nil)}
	for _, within := range []driver.Store{
		plain,
		struct {
			driver.Store
			gatherer
		}{Store: plain},
		struct {
			driver.Store
			sweeper
		}{Store: plain},
		struct {
			driver.Store
			gatherer
			sweeper
		}{Store: plain},
	} {
		s, err := WithKind(func(context.Context) (driver.Store, error) { return within, nil }, "table")(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, gathers := s.(driver.Gatherer)
		_, sweeps := s.(driver.Sweeper)
		_, wantGathers := within.(driver.Gatherer)
		_, wantSweeps := within.(driver.Sweeper)
		if gathers != wantGathers || sweeps != wantSweeps {
			t.Errorf("%T: gathers %v, sweeps %v", within, gathers, sweeps)
		}
		if err := s.(driver.Follower).Follow(t.Context(), driver.Trail{}, nil, nil); !errors.Is(err, driver.ErrUnsupported) {
			t.Errorf("Follow of a store that does not = %v", err)
		}
		if err := s.(driver.Grouper).Group(t.Context(), driver.Grouping{}, nil); !errors.Is(err, driver.ErrUnsupported) {
			t.Errorf("Group of a store that does not = %v", err)
		}
	}
	s, err := WithKind(func(context.Context) (driver.Store, error) { return memory.New(nil), nil }, "table")(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.(driver.Follower).Follow(t.Context(), driver.Trail{}, nil, nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("Follow of nothing = %v", err)
	}
	if err := s.(driver.Grouper).Group(t.Context(), driver.Grouping{}, nil); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("Group of nothing = %v", err)
	}
}
