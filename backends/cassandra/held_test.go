package cassandra_test

import (
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
)

// The largest group is done, and what is larger is refused.
func TestLargestGroup(t *testing.T) {
	s, _ := shared(t)
	backendtest.Held(t, s)
}
