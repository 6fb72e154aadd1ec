package mongo_test

import (
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
)

// No method panics without a context.
func TestNoContext(t *testing.T) {
	s, _, _ := shared(t)
	backendtest.NoContext(t, s)
}
