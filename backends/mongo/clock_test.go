package mongo_test

import (
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
)

func TestClock(t *testing.T) {
	_, s, _ := own(t)
	backendtest.ClockRefused(t, s)
	backendtest.Clock(t, s)
}
