// Command growth measures what a store's calls and its upkeep cost while a collection grows, and a
// partition.
//
//	go run ./bench/growth [-records 10000,100000,1000000] [-calls N] [-json FILE] URL...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/bench/internal/tool"
)

func main() { tool.Main("growth", growth) }

// options are the flags and arguments.
type options struct {
	records []int // sizes, each greater than the one before
	calls   int
	settle  time.Duration
	json    string
	urls    []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{records: []int{10_000, 100_000, 1_000_000}}
	f := flag.NewFlagSet("growth", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Func("records", "measure at these `numbers` of records, from few to many, 10000,100000,1000000 unless given", func(text string) (err error) {
		o.records, err = parseSizes(text)
		return err
	})
	f.IntVar(&o.calls, "calls", 500, "measure so many `calls` of each kind")
	f.DurationVar(&o.settle, "settle", 10*time.Second, "let a store tidy for this `time` after deletes")
	f.StringVar(&o.json, "json", "", "write all figures to this `file`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch o.urls, err = tool.Stores(f); {
	case err != nil:
		return o, err
	case o.calls < 1 || o.calls > o.records[0]/10:
		return o, fmt.Errorf("-calls %d: at least 1, and at most a tenth of the fewest records", o.calls)
	}
	return o, nil
}

func parseSizes(text string) ([]int, error) {
	var sizes []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 100 || len(sizes) > 0 && n <= sizes[len(sizes)-1] {
			return nil, fmt.Errorf("%q: want numbers from 100 on, each greater than the one before", word)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// growth does what the flags say. Where it fails, or is interrupted, it shows and writes what it has.
func growth(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var all []report
	for _, url := range o.urls {
		r, failed := measure(ctx, url, &o, stderr)
		if r != nil && len(r.Sizes) > 0 {
			all, err = append(all, *r), errors.Join(err, r.print(stdout))
		}
		if err = errors.Join(err, failed); err != nil {
			err = errors.Join(ctx.Err(), err)
			break
		}
	}
	if o.json != "" && len(all) > 0 {
		err = errors.Join(err, writeJSON(o.json, all))
	}
	return err
}
