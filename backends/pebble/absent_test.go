package pebble_test

import (
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
)

// No method panics without a context.
func TestNoContext(t *testing.T) {
	s := mustOpen(t, t.TempDir(), nil, nil)
	backendtest.NoContext(t, s)
}
