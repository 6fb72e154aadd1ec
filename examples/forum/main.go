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
	"os/signal"
	"syscall"
	"time"

	"github.com/polystore/polystore/backends"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
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
	return serve(ctx, f.routes())
}

const (
	readTime   = 5 * time.Second // of a request, with its body
	answerTime = readTime + callTime + askTime + time.Second
)

// serve answers requests until the context ends, and those under way to their end.
func serve(ctx context.Context, routes http.Handler) error {
	server := &http.Server{
		Addr: "localhost:8080", Handler: routes,
		ReadTimeout: readTime, WriteTimeout: answerTime, IdleTimeout: time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	return server.Shutdown(ctx)
}
