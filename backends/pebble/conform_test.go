package pebble_test

import (
	"context"
	"os"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// conformDir tells the child that the suite kills where the store is.
const conformDir = "POLYSTORE_PEBBLE_CONFORM_DIR"

func openForChild(context.Context) (driver.Store, error) {
	return pebble.Open(os.Getenv(conformDir), nil)
}

func TestConformanceOnDisk(t *testing.T) {
	t.Setenv(conformDir, t.TempDir())
	conformance.Run(t, openForChild)
}

func TestConformanceWithoutSync(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	conformance.Run(t, func(context.Context) (driver.Store, error) { return pebble.Open(dir, &pebble.Options{NoSync: true}) })
}

func TestConformanceInMemory(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(context.Context) (driver.Store, error) { return pebble.Open("", &pebble.Options{InMemory: true}) })
}

func TestConcurrentRules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	backendtest.Concurrent(t, func(context.Context) (driver.Store, error) { return pebble.Open(dir, nil) })
}
