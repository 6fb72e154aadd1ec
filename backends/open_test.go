package backends_test

import (
	"testing"

	"github.com/polystore/polystore/backends"
)

// What cannot be opened is an error and no store at all: not an interface that holds
// a nil pointer.
func TestOpenDriverFails(t *testing.T) {
	for _, url := range []string{"", "memory", "memory:x", "nosuch:", "pebble:", "pebble:" + t.TempDir() + "?create=false", "redis://127.0.0.1:1"} {
		if s, err := backends.OpenDriver(t.Context(), url); s != nil || err == nil {
			t.Errorf("OpenDriver(%q) = %v, %v; want nil and an error", url, s, err)
		}
	}
}
