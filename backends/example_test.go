package backends_test

import (
	"context"
	"fmt"
	"os"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
)

// Which store it is stands in the URL.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for _, url := range []string{"memory:", "pebble:" + dir} {
		store, err := backends.Open(ctx, url, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer store.Close()
		notes, err := repo.Open[map[string]any](ctx, store, repo.Schema{
			Collection: "notes", Partition: []string{"id"}, Fields: map[string]string{"id": "string", "text": "string"}})
		if err != nil {
			fmt.Println(err)
			return
		}
		note := map[string]any{"id": "1", "text": "hello"}
		fmt.Println(store.Facts().Name, notes.Insert(ctx, &note))
	}
	// Output:
	// memory <nil>
	// pebble <nil>
}
