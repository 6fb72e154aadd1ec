package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/address"
)

const loadAbout = `Loads the data of a workload file into every model that it compares, checks that
all give the same answers, sends the queries at their rate and says which model
to take. With several stores, each --on URL, every model is measured on each; what
to take is said for each class of durability, and classes are not compared.
Without --on, and for --on pebble:, it uses a new Pebble store in a folder of its
own below --out, which it removes. Elsewhere it writes only into collections of its
own, which it removes, too. With --keep they stay, as they were loaded, and --reuse takes
them later, if they are what this run would load.

With --clean it measures nothing: it removes from the store of the URL, in place of FILE,
what runs left that were killed, and says what that was. For pebble: these are the new
stores below --out.

With --fault, every model is sent the queries once more after the rounds, through a
proxy on this machine that lets the network fail, and no acknowledged write may be
lost then. Stores in this process have no network. With --start, the tool runs a server
of its own, in a folder below --out, and removes it at the end. Such a server can be
killed, too: then no write may be lost that its class of durability keeps.

With --share I/N, this process is one of N, on this or other machines, that send the rate
together: each every N-th operation, from --start-at on. Share 1 loads the data, which the
others wait for. Each has a result of its own, and polystore merge makes one of them.

DIR/NAME-SEED has the result, result.json, and a page for a browser, report.html.

Exit codes: 0 some model does all that is asked, in each class; 1 none does, 2 the
command or a file is wrong or a store failed, 3 it is not known whether one does (the
clock was late, calls were too few, or operations did nothing), 4 models or stores
gave different answers, or lost a write that was acknowledged, 130 interrupted. With --baseline they are those of compare.`

// loadFlags are the flags of load. Those that were not given leave what the
// workload file says.
type loadFlags struct {
	on           list
	seed         uint64
	rate, rounds int
	records      int
	speed        float64
	writes       float64
	round        time.Duration
	json, all    bool
	out          string
	baseline     string
	keep, remote bool
	reuse, kept  bool
	max          bool
	faults       string
	starts       list
	scripts      string // scripts/servers
	servers      map[string]loadtest.Server
	lasts        time.Duration
	clean        bool
	metrics      string
	share        share
	startAt      instant
	given        []string // as they were written, for the command that repeats the run
}

func load(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f loadFlags
	fs := newFlags("load", "FILE", loadAbout, "polystore load examples/debian/debian.yaml\npolystore load blog.yaml --on pebble: --on redis://localhost:6379 --rate 2000\npolystore load blog.yaml --baseline runs/blog-7/result.json\npolystore load --clean redis://localhost:6379", stderr)
	f.register(fs)
	rest, err := parse(fs, args, "FILE", stdout)
	switch {
	case err != nil:
		return err
	case f.clean:
		return f.cleanStore(ctx, rest[0], stdout)
	}
	part, err := f.shared()
	if err != nil {
		return err
	}
	w, err := loadtest.Load(rest[0])
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	f.apply(fs, w)
	before, err := f.readBaseline(w)
	if err != nil {
		return err
	}
	on, clean, err := f.stores(ctx, stderr)
	if err != nil {
		return err
	}
	observe, stop, err := f.observer(stderr)
	if err != nil {
		return errors.Join(err, clean())
	}
	defer stop()
	result, err := loadtest.Run(ctx, w, loadtest.Options{
		Observe: observe, Open: f.open, On: on, Log: stderr, Terminal: isTerminal(stderr), Keep: f.keep, Reuse: f.reuse, Max: f.max, Faults: f.faults, For: f.lasts,
		Servers: f.servers, Again: f.again(w, rest[0]), Share: part,
	})
	if err = errors.Join(err, clean()); err == nil {
		return f.end(before, result, stdout, stderr)
	}
	if result != nil { // what was measured before a store was lost
		if failed := f.write(result, stdout, stderr); !errors.As(failed, new(exit)) {
			err = errors.Join(err, failed)
		}
	}
	if errors.Is(err, context.Canceled) && beside(err) == nil && !f.keep {
		fmt.Fprintln(stderr, "what the run had written is removed")
	}
	return err
}

// observer returns what tells Prometheus of a run, nil if it is not asked for, and what ends it.
func (f *loadFlags) observer(stderr io.Writer) (observe func(*loadtest.Observation), stop func(), err error) {
	if f.metrics == "" {
		return nil, func() {}, nil
	}
	m := newMetrics()
	stop, err = m.serve(f.metrics, stderr)
	return m.observe, stop, err
}

// open opens a store, by connections to this machine alone unless others are allowed.
func (f *loadFlags) open(ctx context.Context, url string) (driver.Store, error) {
	if f.remote || !onServer(url) {
		return backends.OpenDriver(ctx, url)
	}
	s, err := backends.OpenDriver(ctx, withOption(url, "local=true"))
	if errors.Is(err, address.ErrElsewhere) {
		return nil, usageError("load: %s is not on this machine; say --remote if a load test there is what you want: %w", loadtest.Redact(url), err)
	}
	return s, err
}

// onServer reports whether a URL is that of a store on servers.
func onServer(url string) bool {
	return !strings.HasPrefix(url, "memory:") && !strings.HasPrefix(url, "pebble:")
}

// again returns the command that repeats the run.
func (f *loadFlags) again(w *loadtest.Workload, file string) string {
	words := append([]string{"polystore", "load", "--seed", strconv.FormatUint(w.Seed, 10)}, f.given...)
	if f.remote {
		words = append(words, "--remote")
	}
	return strings.Join(append(words, quoted(file)), " ")
}

// quoted returns a word as a shell reads it back.
func quoted(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("!\"#$&'()*;<>?[\\]^`{|}~", r)
	}) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func (f *loadFlags) register(fs *flag.FlagSet) {
	fs.Var(&f.on, "on", "`URL` of a store to measure on; may be given several times")
	fs.Uint64Var(&f.seed, "seed", 0, "another seed than the file's: other operations, the same for all models")
	fs.IntVar(&f.rate, "rate", 0, "operations a second")
	fs.IntVar(&f.records, "records", 0, "take at most so many `records` of each collection: of a file a random sample, of generators and trees the first ones")
	fs.Float64Var(&f.writes, "writes", 0, "let so many `percent` of the operations write; queries that write keep their proportions, and so do the others")
	fs.IntVar(&f.rounds, "rounds", 0, "rounds of each model")
	fs.Float64Var(&f.speed, "speed", 1, "send the operations of a trace so many times as `fast` as they came")
	fs.DurationVar(&f.round, "round", 0, "how long a round lasts, as in 2s")
	fs.BoolVar(&f.max, "max", false, "search the highest rate at which each model does what is asked, too")
	fs.StringVar(&f.faults, "fault", "", "after the rounds, let each store fail so: a `LIST` with commas of cut@AT:FOR (connections end, new ones, too), freeze@AT:FOR (nothing is passed on) and slow@AT:FOR:DELAY (each way); of servers by --start also kill@AT or kill@AT:FOR (started again at once, or later) and pause@AT:FOR")
	fs.Var(&f.starts, "start", "measure on a server that is started for the run: redis, mongo or cassandra, and more arguments for it, as in `'redis --appendfsync always'`; may be given several times")
	fs.StringVar(&f.scripts, "servers", "", "take servers for --start from scripts/servers of Polystore's source, a `FILE`, and not from the PATH")
	fs.DurationVar(&f.lasts, "for", 0, "how long the phase with faults lasts; without it, until 10s after the last fault")
	fs.BoolVar(&f.json, "json", false, "print the whole result as JSON")
	fs.BoolVar(&f.all, "all", false, "print all of the text, and not the first screen alone")
	fs.StringVar(&f.baseline, "baseline", "", "compare the result with that of an earlier run in `FILE`, as polystore compare does")
	fs.StringVar(&f.out, "out", "runs", "`DIR` for the results")
	fs.BoolVar(&f.keep, "keep", false, "leave the collections, and the folder of the Pebble store, where they are, for --reuse")
	fs.BoolVar(&f.reuse, "reuse", false, "take what earlier runs kept, in place of loading the same data again")
	fs.BoolVar(&f.kept, "kept", false, "with --clean, remove what runs kept, too")
	fs.StringVar(&f.metrics, "metrics", "", "tell Prometheus of each operation while the run lasts, at http://`HOST:PORT`/metrics")
	fs.BoolVar(&f.clean, "clean", false, "remove what killed runs left in the store of a URL")
	fs.Var(&f.share, "share", "send one share of the load, `I/N`: this is the I-th of N processes that begin together")
	fs.Var(&f.startAt, "start-at", "of shares: when the rounds begin, a `TIME` by which the data are loaded, as in 2030-01-31T12:00:00Z; the same for all")
	fs.BoolVar(&f.remote, "remote", false, "allow connections to other machines, also to those that a server tells about")
}

// apply puts the flags that were given over what the file says.
func (f *loadFlags) apply(fs *flag.FlagSet, w *loadtest.Workload) {
	fs.Visit(func(x *flag.Flag) {
		switch x.Name {
		case "seed":
			w.Seed = f.seed
			return
		case "rate":
			w.Rate = f.rate
		case "records":
			w.Records = f.records
		case "writes":
			w.Writes = f.writes
		case "speed":
			w.Speed = f.speed
		case "rounds":
			w.Rounds = f.rounds
		case "round":
			w.Round = f.round
		case "max":
			f.given = append(f.given, "--max")
			return
		case "fault", "for":
		case "on":
			for _, url := range f.on {
				f.given = append(f.given, "--on "+quoted(loadtest.Redact(url)))
			}
			return
		case "start":
			for _, server := range f.starts {
				f.given = append(f.given, "--start "+quoted(server))
			}
			return
		case "servers":
			f.given = append(f.given, "--servers "+quoted(f.scripts))
			return
		case "share":
			f.given = append(f.given, "--share "+f.share.String()+" --start-at TIME") // which is past when it is repeated
			return
		default:
			return
		}
		f.given = append(f.given, "--"+x.Name+" "+x.Value.String())
	})
}

// end prints the result, and how it compares with an earlier one if there is one.
func (f *loadFlags) end(before, r *loadtest.Result, stdout, stderr io.Writer) error {
	err := f.write(r, stdout, stderr)
	if before == nil || err != nil && !errors.As(err, new(exit)) {
		return err
	}
	if f.json {
		return compared(before, r, stderr)
	}
	fmt.Fprintf(stdout, "\nAgainst %s:\n\n", f.baseline)
	return compared(before, r, stdout)
}

// write prints the result and keeps it in a file.
func (f *loadFlags) write(r *loadtest.Result, stdout, stderr io.Writer) error {
	file, err := loadtest.Save(r, f.out)
	if err != nil {
		return err
	}
	if f.json {
		err = r.WriteJSON(stdout)
		fmt.Fprintln(stderr, "result", file)
	} else {
		err = r.WriteText(stdout, filesOf(file), f.all)
	}
	if err != nil {
		return err
	}
	if r.Exit != loadtest.Met {
		return exit{r.Exit, nil}
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
