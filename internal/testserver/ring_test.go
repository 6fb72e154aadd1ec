package testserver_test

import (
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/testserver"
)

// The nodes of a ring know each other, and one that was killed comes back.
func TestStartRing(t *testing.T) {
	r := testserver.StartRing(t)
	if n := strings.Count(r.URL, ","); n != 2 || len(r.Nodes) != 3 {
		t.Fatalf("a ring of %d nodes at %s", len(r.Nodes), r.URL)
	}
	r.Nodes[1].Kill9(t)
	r.Nodes[1].Restart(t)
	if err := r.AwaitWhole(t.Context()); err != nil {
		t.Error(err)
	}
}
