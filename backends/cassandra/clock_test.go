package cassandra_test

import (
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
)

func TestClock(t *testing.T) {
	_, url, _ := ownKeyspace(t)
	s, _ := open(t, url)
	backendtest.ClockRefused(t, s)
	backendtest.Clock(t, s)
}
