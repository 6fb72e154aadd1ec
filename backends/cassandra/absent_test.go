package cassandra_test

import (
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
)

// No method panics without a context.
func TestNoContext(t *testing.T) {
	t.Parallel()
	s, _ := shared(t)
	backendtest.NoContext(t, s)
}
