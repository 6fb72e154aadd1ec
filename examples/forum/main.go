// Forum is a small service: threads that users vote on, and the newest notices of each user. It shows
// how errors become answers, how long writes go on, and how a number is kept below a bound.
//
//	go run ./examples/forum memory:
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/polystore/polystore/backends"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: forum URL")
	}
	store, err := backends.Open(ctx, args[0], nil)
	if err != nil {
		return err
	}
	defer store.Close()
	f, err := open(ctx, store)
	if err != nil {
		return err
	}
	return http.ListenAndServe("localhost:8080", f.routes())
}
