package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo/driver"
)

const conformAbout = `Tests the store that URL names against the contract of a backend: rules, random
operations compared with the memory backend, and concurrent histories. It writes
only into collections of its own, whose names begin with "cf" and a random
number, and drops them at the end. The store must not be open elsewhere if it
is one of a single process.

With --out DIR the report goes into conform-NAME.json and conform-NAME.md there, too,
and replaces those of an earlier run. If the program dies with the store, what it was
doing is told on standard error.

With --clean it tests nothing: it removes from the store what runs of this command left
that were killed. No other run may be at work there meanwhile.

At the end a program that writes is killed, to see what acknowledged commits survive:
of an embedded store that is the store, of a server its client alone.

Exit codes: 0 everything holds, 1 something does not, 2 the command is wrong or
the store cannot be opened, 130 interrupted.`

// conformFlags are the flags of conform.
type conformFlags struct {
	opts  conformance.Options
	json  bool
	out   string
	kind  string
	clean bool
}

func conform(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var f conformFlags
	fs := newFlags("conform", "URL", conformAbout, "polystore conform memory:\npolystore conform pebble:/data/try --out reports --seed 7\npolystore conform --clean redis://localhost:6379", stderr)
	fs.Uint64Var(&f.opts.Seed, "seed", 0, "of random operations and histories; 0 draws one")
	fs.IntVar(&f.opts.Ops, "ops", 0, "random operations; 0 is 20,000, -1 none")
	fs.IntVar(&f.opts.Histories, "histories", 0, "concurrent histories; 0 is 64, -1 none")
	fs.StringVar(&f.opts.Only, "only", "", "run only the rules whose `GROUP/RULE` begins so, or like one of several with commas")
	fs.StringVar(&f.kind, "kind", "", "of indexes, where the store has both: table or native; \"\" is what it prefers")
	fs.BoolVar(&f.clean, "clean", false, "remove what killed runs left in the store of the URL")
	fs.BoolVar(&f.json, "json", false, "print the report as JSON")
	fs.StringVar(&f.out, "out", "", "`DIR` for the report as files; \"\" writes none")
	rest, err := parse(fs, args, "URL", stdout)
	if err != nil {
		return err
	}
	if f.clean {
		return cleanConform(ctx, rest[0], stdout)
	}
	if f.out != "" {
		if err := writable(f.out); err != nil {
			return exit{loadtest.Usage, fmt.Errorf("conform: %w", err)}
		}
	}
	f.opts.Again = "polystore conform " + loadtest.Redact(rest[0])
	f.opts.Progress = progress(stderr, isTerminal(stderr))
	open := conformance.Open(func(ctx context.Context) (driver.Store, error) { return backends.OpenDriver(ctx, rest[0]) })
	if f.kind != "" {
		open, f.opts.Again = conformance.WithKind(open, f.kind), f.opts.Again+" --kind "+f.kind
	}
	conformance.Child(open)
	f.opts.Child = func() *exec.Cmd { return exec.Command(os.Args[0], "conform", "--kind="+f.kind, rest[0]) }
	report, err := conformance.Check(ctx, open, f.opts)
	if report == nil {
		return exit{loadtest.Usage, fmt.Errorf("conform: %w", err)}
	}
	if failed := f.write(report, stdout, stderr); err == nil || !errors.As(failed, new(exit)) {
		err = errors.Join(err, failed)
	}
	return err
}

// cleanConform removes what killed runs left in a store.
func cleanConform(ctx context.Context, url string, stdout io.Writer) error {
	if strings.HasPrefix(url, newPebble) {
		url = withOption(url, "create=false") // what is not there has nothing to be removed
	}
	var failed error
	err := conformance.Clean(ctx, func(ctx context.Context) (driver.Store, error) { return backends.OpenDriver(ctx, url) }, func(text string) {
		_, err := fmt.Fprintln(stdout, text)
		failed = errors.Join(failed, err)
	})
	if err = errors.Join(err, failed); err != nil {
		return exit{loadtest.Usage, fmt.Errorf("conform: %w", err)}
	}
	return nil
}

// writable makes the folder for a report or result, and sees that files can be put
// there, before the work is done.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder for the report: %w", err)
	}
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return fmt.Errorf("write to the folder for the report; choose another one with --out: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// write keeps the report in files and prints it.
func (f *conformFlags) write(r *conformance.Report, stdout, stderr io.Writer) error {
	body, err := r.JSON()
	if err != nil {
		return err
	}
	where := ""
	if f.out != "" {
		file := filepath.Join(f.out, "conform-"+r.Name()+".json")
		err = errors.Join(replace(file, body), replace(file[:len(file)-len(".json")]+".md", r.Markdown()))
		if err != nil {
			return fmt.Errorf("conform: write the report: %w", err)
		}
		where = "report: " + file + ", .md"
	}
	if f.json {
		fmt.Fprint(stderr, line(where))
		_, err = stdout.Write(body)
	} else if err = r.WriteText(stdout); err == nil {
		_, err = fmt.Fprint(stdout, line(strings.TrimRight(r.Summary()+"        "+where, " ")))
	}
	if err == nil && r.Failed > 0 {
		return exit{loadtest.Missed, nil}
	}
	return err
}

// line ends a text, unless there is none.
func line(text string) string {
	if text == "" {
		return ""
	}
	return text + "\n"
}

// replace puts a file in its place at once, so that none is ever half-written.
func replace(name string, body []byte) error {
	temp := name + ".tmp"
	if err := os.WriteFile(temp, body, 0o644); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return os.Rename(temp, name)
}

// progress returns a function that tells how far a run is: on a terminal in one
// line, in a log in a line for each tenth.
func progress(w io.Writer, terminal bool) func(what string, done, total int) {
	last, tenth, began := "", -1, time.Now()
	return func(what string, done, total int) {
		if what != last {
			last, tenth, began = what, -1, time.Now()
		}
		step := 10 * done / max(total, 1)
		if step == tenth && !terminal {
			return
		}
		tenth = step
		left := time.Duration(float64(time.Since(began)) / float64(max(done, 1)) * float64(total-done)).Round(time.Second)
		switch {
		case terminal && done == total:
			fmt.Fprintf(w, "\r\x1b[K")
		case terminal:
			fmt.Fprintf(w, "\r\x1b[K%s: %d of %d, %s left", what, done, total, left)
		default:
			fmt.Fprintf(w, "%s: %d of %d\n", what, done, total)
		}
	}
}
