package pebble_test

import (
	"context"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

func openPlace(_ context.Context, url string) (driver.Store, error) {
	return pebble.Open(strings.TrimPrefix(url, "pebble:"), nil)
}

func TestIsolated(t *testing.T) {
	backendtest.Isolated(t, "pebble:", openPlace)
}
