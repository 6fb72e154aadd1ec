// Command polystore measures data models and stores, checks schemas, and tests
// backends. Run it without arguments for its commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9/logging"

	"github.com/polystore/polystore/loadtest"
)

func main() {
	// When nobody reads any more, as after Ctrl-C in a pipe, the first text would kill the program.
	ctx, forget := signal.NotifyContext(context.Background(), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(ctx, ending()...)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	code := report(err, os.Stderr)
	forget()
	os.Exit(code)
}

// ending returns the signals that end the program in order. The end of the terminal is one
// unless it was to be ignored, as by nohup.
func ending() []os.Signal {
	list := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		list = append(list, syscall.SIGHUP)
	}
	return list
}

// A command is one of the program's, in its own file.
type command struct {
	name, args, about string
	run               func(ctx context.Context, args []string, stdout, stderr io.Writer) error
}

func commands() []command {
	return []command{
		{"init", "FILE", "guess a workload file from a file of records", initialize},
		{"load", "FILE", "measure the data models of a workload file, and say which to take", load},
		{"merge", "RESULT...", "make one result of those of all shares of a run", merge},
		{"report", "FILE", "print the result of such a run in another form", printReport},
		{"compare", "BEFORE AFTER", "say what became worse between two such results", compare},
		{"plan", "RESULT RESULT...", "forecast what models cost with more records", plan},
		{"check", "[URL] FILE", "check a schema or workload against stores, without changing anything", check},
		{"verify", "URL COLLECTION", "compare the indexes of a collection with its records", verify},
		{"maintain", "URL [COLLECTION]", "remove what expired, and what interrupted writers left", maintain},
		{"rebuild", "URL COLLECTION INDEX", "make an index anew from its records", rebuild},
		{"index", "ACTION URL COLLECTION [INDEX]", "add an index to a collection, drop one, or print how far they are", index},
		{"top", "URL COLLECTION", "print the largest records and partitions of a collection", top},
		{"tree", "URL COLLECTION [TREE]", "print a tree of a collection, and verify it", printTree},
		{"conform", "URL", "test a store against the contract of a backend", conform},
		{"version", "", "print the program's version", version},
	}
}

// run does the command that args name. Data go to stdout and everything else to
// stderr; the error says with which code the program ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	logging.Disable() // by default go-redis logs each failed connection to standard error; errors say it once
	if len(args) == 0 {
		usage(stderr)
		return exit{loadtest.Usage, nil}
	}
	if isHelp(args[0]) {
		return help(ctx, args[1:], stdout, stderr)
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return redacted(args, c.run(ctx, args[1:], stdout, stderr))
		}
	}
	return redacted(args, usageError("there is no command %q; polystore help lists them", args[0]))
}

func isHelp(word string) bool {
	switch word {
	case "help", "-h", "-help", "--help":
		return true
	}
	return false
}

func usage(w io.Writer) {
	fmt.Fprint(w, "polystore measures data models and stores, checks schemas, and tests backends.\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  polystore %-30s %s\n", c.name+" "+c.args, c.about)
	}
	fmt.Fprint(w, "\npolystore help COMMAND says more. A URL is memory:, pebble:DIR, redis://HOST:PORT,\nmongodb://HOST:PORT/DB or cassandra://HOST:PORT/KEYSPACE. The password of a server is\nin the URL, user:password@; or, with user@ and an option, in the environment,\n?password_env=NAME, or in a file, ?password_file=PATH.\n")
}

func help(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 || isHelp(args[0]) {
		usage(stdout)
		return nil
	}
	return run(ctx, []string{args[0], "--help"}, stdout, stderr)
}

func version(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("version", "", "Prints the version of the program.", "polystore version", stderr)
	if _, err := parse(fs, args, "", stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stdout, "polystore", loadtest.Version())
	return err
}

// An exit is an error that ends the program with a code. Without a cause nothing
// is left to say.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

func usageError(format string, args ...any) error {
	return exit{loadtest.Usage, fmt.Errorf(format, args...)}
}

const interrupted = 130 // as shells have it

// report says what went wrong and returns the exit code.
func report(err error, stderr io.Writer) int {
	var e exit
	var wrong *loadtest.WrongAnswers
	code := loadtest.Usage
	switch {
	case err == nil:
		return loadtest.Met
	case errors.Is(err, flag.ErrHelp):
		return loadtest.Met
	case errors.As(err, &e) && e.err == nil:
		return e.code
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "polystore: interrupted")
		if err = beside(err); err == nil {
			return interrupted
		}
		code = interrupted
	case errors.As(err, &e):
		code = e.code
	case errors.As(err, &wrong):
		code = loadtest.Wrong
	}
	fmt.Fprintln(stderr, "polystore:", err)
	return code
}

// beside returns what went wrong beside the interruption: what could not be
// removed, for instance.
func beside(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	var others []error
	for _, e := range joined.Unwrap() {
		others = append(others, beside(e))
	}
	return errors.Join(others...)
}
