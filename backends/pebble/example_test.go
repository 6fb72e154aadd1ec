package pebble_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo"
)

// A directory belongs to one process at a time.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	backend, err := pebble.Open(dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	store := repo.NewStore(backend, nil)
	defer store.Close()
	fmt.Println(store.Facts().Durability, store.Facts().OneProcess)

	_, err = pebble.Open(dir, nil)
	fmt.Println(errors.Is(err, repo.ErrLocked))
	// Output:
	// power true
	// true
}
