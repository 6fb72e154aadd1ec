package redis_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

func TestClock(t *testing.T) {
	server, s, _ := own(t)
	backendtest.ClockRefused(t, s)
	backendtest.Clock(t, s)
	denied, _ := open(t, permitted(t, server, "timeless", slices.DeleteFunc(slices.Clone(listed), func(c string) bool { return c == "time" })))
	if at, err := denied.Time(t.Context()); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("a user who may not run TIME is told %s, %v; want ErrUnsupported", at, err)
	}
	if err := backendtest.OpenSome(t, denied); err != nil {
		t.Errorf("open as a user who may not run TIME: %v", err)
	}
}

func TestClockOfACluster(t *testing.T) {
	s := inCluster(t, testserver.SharedCluster(t), "")
	backendtest.ClockRefused(t, s)
	backendtest.Clock(t, s)
}
