package graph_test

import (
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func TestMemory(t *testing.T) {
	onStore(t, func() (driver.Store, error) { return memory.New(nil), nil })
}

func TestPebble(t *testing.T) {
	onStore(t, func() (driver.Store, error) { return pebble.Open(t.TempDir(), nil) })
}

// Some random graphs of each shape answer as the naive ones do.
func onStore(t *testing.T, open func() (driver.Store, error)) {
	t.Parallel()
	onShapes(t, func(t *testing.T, shape string) {
		for seed := range uint64(8) {
			backend, err := open()
			if err != nil {
				t.Fatal(err)
			}
			store := repo.NewStore(backend, nil)
			want := random(seed + 1000)
			g := build(t, store, shape, want)
			for _, bad := range differences(t, g, want, shape) {
				t.Errorf("seed %d: %s", seed+1000, bad)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
