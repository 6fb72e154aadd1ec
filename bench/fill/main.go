// Command fill measures how an index is added to a collection that has records: how fast it is filled, what memory
// that takes, and how long writes take meanwhile.
//
//	go run ./bench/fill [-records N] [-writes N] [-for TIME] [-rate N] [-kind KIND] [-profile DIR] URL...
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/polystore/polystore/bench/internal/tool"
)

func main() { tool.Main("fill", run) }

// options are the flags and arguments.
type options struct {
	records int
	writes  int           // a second
	lasts   time.Duration // how long writes are measured each time
	rate    int           // of the filling beside writes; 0 is that of WithBuild
	kind    string        // of the index
	profile string
	urls    []string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	f := flag.NewFlagSet("fill", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.records, "records", 1_000_000, "load so many `records`")
	f.IntVar(&o.writes, "writes", 200, "begin so many `writes` a second, whether or not those before have ended")
	f.DurationVar(&o.lasts, "for", 30*time.Second, "measure writes for this `time`, each time")
	f.IntVar(&o.rate, "rate", 0, "beside writes read at most so many `records` a second, in the place of what repo.WithBuild does")
	f.StringVar(&o.kind, "kind", "", "add an index of this `kind`: table, native, or what the store prefers")
	f.StringVar(&o.profile, "profile", "", "write a CPU profile of each filling at full speed to this `directory`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	var err error
	switch o.urls, err = tool.Stores(f); {
	case err != nil:
		return o, err
	case o.records < 100 || o.writes < 1 || o.lasts <= 0 || o.rate < 0:
		return o, errors.New("-records: at least 100; -writes: at least 1; -for: more than 0; -rate: at least 0")
	case !slices.Contains([]string{"", "table", "native"}, o.kind):
		return o, fmt.Errorf("-kind %s: want table or native", o.kind)
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	for _, url := range o.urls {
		r, err := measure(ctx, url, &o, stderr)
		if err != nil {
			return errors.Join(ctx.Err(), err)
		}
		if err := r.print(stdout); err != nil {
			return err
		}
	}
	return nil
}
