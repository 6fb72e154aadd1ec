package memory_test

import (
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
)

// No method panics without a context.
func TestNoContext(t *testing.T) {
	s := open(t, nil)
	backendtest.NoContext(t, s)
}
