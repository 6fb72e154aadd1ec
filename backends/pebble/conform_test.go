package pebble_test

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/repo/driver"
)

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	conformance.Run(t, func(context.Context) (driver.Store, error) { return pebble.Open(dir, nil) })
}

func TestConformanceWithoutSync(t *testing.T) {
	dir := t.TempDir()
	conformance.Run(t, func(context.Context) (driver.Store, error) { return pebble.Open(dir, &pebble.Options{NoSync: true}) })
}

func TestConformanceInMemory(t *testing.T) {
	conformance.Run(t, func(context.Context) (driver.Store, error) { return pebble.Open("", &pebble.Options{InMemory: true}) })
}
