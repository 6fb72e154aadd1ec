package backendtest

import (
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

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
