package redis_test

import (
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
)

// No method panics without a context.
func TestNoContext(t *testing.T) {
	_, s, _ := own(t)
	backendtest.NoContext(t, s)
}
