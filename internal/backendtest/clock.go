package backendtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A skewed store is one whose server's clock is off.
type skewed struct {
	driver.Store
	off time.Duration
}

func (s skewed) Time(ctx context.Context) (time.Time, error) {
	at, err := s.Store.(driver.Clock).Time(ctx)
	return at.Add(s.off), err
}

// Clock sees that a store tells the time of its server, which is on this machine.
func Clock(t *testing.T, s driver.Store) {
	t.Helper()
	before := time.Now().Add(-time.Second)
	at, err := s.(driver.Clock).Time(t.Context())
	if after := time.Now().Add(time.Second); err != nil || at.Before(before) || at.After(after) {
		t.Errorf("the server's time is %s, %v; want one between %s and %s", at, err, before, after)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.(driver.Clock).Time(t.Context()); err == nil {
		t.Error("a store that is closed told the time")
	}
}

// ClockRefused sees that a collection is opened on a store, and that none is where the clock
// is two minutes off.
func ClockRefused(t *testing.T, s driver.Store) {
	t.Helper()
	for off, words := range map[time.Duration]string{0: "", 2 * time.Minute: "behind", -2 * time.Minute: "ahead of"} {
		err := OpenSome(t, skewed{s, off})
		if off == 0 && err != nil {
			t.Errorf("open with a clock that is right: %v", err)
		}
		if off != 0 && (!errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), "set the clocks by NTP")) {
			t.Errorf("open with a clock %s off: %v; want ErrInvalid with %q and the remedy", off, err, words)
		}
	}
}

// OpenSome opens a collection on a store.
func OpenSome(t *testing.T, s driver.Store) error {
	t.Helper()
	_, err := repo.Open[map[string]any](t.Context(), repo.NewStore(s, nil),
		repo.Schema{Collection: "clocked", Partition: []string{"id"}, Fields: map[string]string{"id": "string"}})
	return err
}
