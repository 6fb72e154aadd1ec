// Command sending measures what polystore load itself takes for an operation that it sends to Redis: beside loops of the
// client and of the library that do nothing else.
//
//	go run ./bench/sending [-rates 10000,20000,50000] URL
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

func main() { tool.Main("sending", run) }

// options are the flags and the argument.
type options struct {
	rates   []int // operations a second
	records int
	rounds  int
	lasts   time.Duration // a loop
	url     string
}

// highest is the greatest rate of a workload, and most how many operations a round has.
const (
	highest = 100_000
	most    = 200_000
)

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{rates: []int{10_000, 20_000, 50_000}}
	f := flag.NewFlagSet("sending", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Func("rates", "send at these `numbers` of operations a second, 10000,20000,50000 unless given", func(text string) (err error) {
		o.rates, err = parseRates(text)
		return err
	})
	f.IntVar(&o.records, "records", 100_000, "load so many `records`")
	f.IntVar(&o.rounds, "rounds", 6, "do so many `rounds` at each rate")
	f.DurationVar(&o.lasts, "for", 5*time.Second, "let each loop go for this `time`")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	urls, err := tool.Stores(f)
	if err != nil {
		return nil, err
	}
	if o.url = urls[0]; len(urls) > 1 || !strings.HasPrefix(o.url, "redis:") && !strings.HasPrefix(o.url, "rediss:") {
		return nil, errors.New("want the URL of one Redis, e.g. redis://localhost:6379")
	}
	if o.records < 1000 || o.rounds < 1 || o.lasts < 10*time.Millisecond {
		return nil, errors.New("-records: at least 1000; -rounds: at least 1; -for: at least 10ms")
	}
	return o, nil
}

func parseRates(text string) (rates []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 100 || n > highest {
			return nil, fmt.Errorf("%q: want numbers from 100 to %d", word, highest)
		}
		rates = append(rates, n)
	}
	return rates, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	list, err := measure(ctx, o, stderr)
	if err != nil {
		return err
	}
	return print(stdout, list)
}
