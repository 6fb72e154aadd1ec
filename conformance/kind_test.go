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
