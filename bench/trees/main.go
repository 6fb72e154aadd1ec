// Command trees measures what large trees cost on a store: loads, long lists of siblings, and moves.
//
//	go run ./bench/trees [-nodes N] [-inserts N] [-siblings N] URL...
package main

import (
	"context"
	"errors"
	"flag"
	"io"

	"github.com/polystore/polystore/bench/internal/tool"
)

func main() { tool.Main("trees", run) }

// options are the flags and arguments.
type options struct {
	nodes    int // of a tree that is loaded with each strategy
	inserts  int // of siblings, one after another
	siblings int // that are loaded
	urls     []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("trees", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.nodes, "nodes", 100_000, "load trees of so many `nodes`, ten children each")
	f.IntVar(&o.inserts, "inserts", 100_000, "insert so many `siblings` one after another")
	f.IntVar(&o.siblings, "siblings", 1_000_000, "load a list of so many `siblings`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch o.urls, err = tool.Stores(f); {
	case err != nil:
		return o, err
	case o.nodes < 100 || o.inserts < 100 || o.siblings < 100:
		return o, errors.New("-nodes, -inserts and -siblings: at least 100 each")
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	for _, url := range o.urls {
		if err := measure(ctx, url, &o, stdout); err != nil {
			return err
		}
	}
	return nil
}
