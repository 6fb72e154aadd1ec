// Command bench measures what package repo on a store costs beside code written by
// hand for one kind of record: see docs/reference/benchmarks.md.
//
//	go run ./bench [-redis URL] [-mongo URL] [-cassandra URL] [-rounds N] [-quick] [-only NAMES] [-json FILE]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if os.Getenv(childVariable) != "" {
		signal.Ignore(os.Interrupt) // the parent gets it, too, and says when to end
		exit(serve(os.Stdin, os.Stdout, nil))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	exit(err)
}

func exit(err error) {
	switch {
	case err == nil:
		os.Exit(0)
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

// tempPrefix begins the names of what is written and removed again.
const tempPrefix = "polystore-bench-"

// options are the flags.
type options struct {
	rounds  int
	quick   bool
	only    string
	json    string
	seed    uint64
	dir     string
	profile string
	urls    urls
}

func parse(args []string, stderr io.Writer) (options, error) {
	o := options{urls: urls{}}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.rounds, "rounds", 0, "measure so many `times`, 9 unless given, 3 with -quick")
	f.BoolVar(&o.quick, "quick", false, "see that everything works, in a few seconds; the figures mean little")
	for name, what := range map[string]string{redisName: "Redis", mongoName: "MongoDB", cassandraName: "Cassandra"} {
		f.Func(name, "measure on the "+what+" at this `URL` too; what there is of the name polystore-bench… is written and removed", func(url string) error {
			o.urls[name] = url
			return nil
		})
	}
	f.StringVar(&o.only, "only", "", "measure only what these `names` say, separated by commas: nosync, fsync, redis, mongo, cassandra, posts, trees, operations")
	f.StringVar(&o.json, "json", "", "write all figures to this `file`")
	f.Uint64Var(&o.seed, "seed", 1, "decides the posts, the calls and their order")
	f.StringVar(&o.dir, "dir", "", "make the temporary directory for the data in this `directory`")
	f.StringVar(&o.profile, "profile", "", "write a CPU profile of each phase, and allocations before and after, to this `directory`")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("argument %q: there are only flags; -help lists them", f.Arg(0))
	}
	if o.rounds < 0 {
		return o, fmt.Errorf("-rounds %d: at least 1", o.rounds)
	}
	if o.rounds == 0 {
		o.rounds = 9
		if o.quick {
			o.rounds = 3
		}
	}
	return o, nil
}

// pick returns the settings and operations that -only names: all of a kind of
// which it names none, but of stores only those that are there.
func (o *options) pick() ([]setting, []string, error) {
	var names, ops []string
	for name := range strings.SplitSeq(o.only, ",") {
		switch {
		case name == "":
		case slices.Contains(storeNames, name) || slices.Contains(workNames, name):
			names = append(names, name)
		case slices.Contains(operations, name) || slices.Contains(treeOperations, name):
			ops = append(ops, name)
		default:
			all := slices.Concat(storeNames, workNames, operations, treeOperations)
			return nil, nil, fmt.Errorf("-only: %q is none of %s", name, strings.Join(all, ", "))
		}
	}
	picked := slices.Clone(settings)
	if !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(storeNames, name) }) {
		picked = slices.DeleteFunc(picked, func(s setting) bool { return s.Store != "" && o.urls[s.Store] == "" })
	} else {
		picked = slices.DeleteFunc(picked, func(s setting) bool { return !slices.Contains(names, s.storeName()) })
	}
	if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(workNames, name) }) {
		picked = slices.DeleteFunc(picked, func(s setting) bool { return !slices.Contains(names, s.Work) })
	}
	picked = slices.DeleteFunc(picked, func(s setting) bool { return len(s.chosen(ops)) == 0 })
	if len(picked) == 0 {
		return nil, nil, fmt.Errorf("-only %s: nothing is measured of that", o.only)
	}
	return picked, ops, nil
}

// bench does what the flags say.
func bench(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	picked, ops, err := o.pick()
	if err != nil {
		return err
	}
	if o.profile != "" {
		if err := os.MkdirAll(o.profile, 0o755); err != nil {
			return err
		}
	}
	var runs []*run
	for _, s := range picked {
		r := &run{setting: s, candidates: s.candidates(), ops: s.chosen(ops), scale: fullScale(&s), profile: o.profile, seed: o.seed}
		if r.url, err = o.urls.of(&s); err != nil {
			return err
		}
		if o.quick {
			r.scale = quickScale(&s)
		}
		runs = append(runs, r)
	}
	result, err := measureAll(ctx, &o, runs, stderr)
	if err != nil {
		return err
	}
	if o.json != "" {
		if err := result.writeFile(o.json); err != nil {
			return err
		}
	}
	return result.print(stdout)
}

// measureAll does all rounds of all runs.
func measureAll(ctx context.Context, o *options, runs []*run, progress io.Writer) (result *report, err error) {
	dir, err := os.MkdirTemp(o.dir, tempPrefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	before, known := readLoad()
	began, err := used()
	if err != nil {
		return nil, err
	}
	result = &report{Seed: o.seed, Rounds: o.rounds}
	spent := time.Duration(0)
	for _, r := range runs {
		r.dir, r.samples, r.sizes = dir, map[string]map[string][]sample{}, map[string]float64{}
		for i := range o.rounds {
			fmt.Fprintf(progress, "%s: round %d of %d\n", r.setting.Name, i+1, o.rounds)
			if err := r.round(ctx, i); err != nil {
				return nil, errors.Join(ctx.Err(), err)
			}
		}
		spent += r.used
		result.Settings = append(result.Settings, section{r.setting, r.scale.records, judgeAll(r), r.samples, r.sizes})
	}
	ended, err := used()
	result.Machine = machineSince(before, known, spent+ended.since(began).cpu)
	return result, err
}
