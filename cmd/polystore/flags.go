package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/polystore/polystore/loadtest"
)

// newFlags returns the flags of a command, whose help has an example.
func newFlags(name, args, about, example string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		w := fs.Output()
		line := strings.TrimRight("usage: polystore "+name+" "+args, " ")
		some := false
		fs.VisitAll(func(*flag.Flag) { some = true })
		if some {
			line += " [flags]"
		}
		fmt.Fprintf(w, "%s\n\n%s\n\nExample:\n\n  %s\n", line, about, strings.ReplaceAll(example, "\n", "\n  "))
		if some {
			fmt.Fprint(w, "\nFlags:\n\n")
			fs.PrintDefaults()
		}
	}
	return fs
}

// parse reads flags and arguments in any order and returns the arguments, of
// which there must be those that want names.
func parse(fs *flag.FlagSet, args []string, want string, stdout io.Writer) ([]string, error) {
	var rest []string
	for _, a := range args {
		if a == "-h" || a == "-help" || a == "--help" {
			fs.SetOutput(stdout) // help that was asked for is data
		}
	}
	stderr := fs.Output()
	usage := fs.Usage
	for {
		fs.Usage = func() {}
		if stderr == stdout {
			fs.Usage = usage
		} else {
			fs.SetOutput(io.Discard) // the error is told once, below
		}
		err := fs.Parse(args)
		fs.SetOutput(stderr)
		switch {
		case errors.Is(err, flag.ErrHelp):
			return nil, err
		case err != nil && unknownFlag.MatchString(err.Error()): // a URL after a dash
			return nil, usageError("%s: an argument that begins with a dash is no flag; polystore help %s lists the flags", fs.Name(), fs.Name())
		case err != nil:
			return nil, usageError("%s: %w; polystore help %s lists the flags", fs.Name(), err, fs.Name())
		case fs.NArg() == 0:
			return rest, count(fs.Name(), rest, want)
		}
		rest, args = append(rest, fs.Arg(0)), fs.Args()[1:]
	}
}

// unknownFlag matches the error of a flag whose name no flag can have.
var unknownFlag = regexp.MustCompile(`(?s)^flag provided but not defined: -[\w-]*[^\w-]`)

// count sees that there are the arguments that want names, those in brackets or not, and more if it ends in dots.
func count(name string, args []string, want string) error {
	words := strings.Fields(want)
	if (len(args) <= len(words) || strings.HasSuffix(want, "...")) && len(args) >= len(words)-strings.Count(want, "[") {
		return nil
	}
	if want == "" {
		want = "no argument"
	}
	got := make([]string, len(args))
	for i, a := range args {
		got[i] = loadtest.Redact(a)
	}
	return usageError("%s takes %s; it got %q; polystore help %s says more", name, want, got, name)
}

// A redactedError is an error whose text quotes arguments with what must not be seen
// left out.
type redactedError struct {
	err  error
	text string
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

// redacted returns err with arguments left out that may have a password: a URL may stand
// where none belongs. Commands print by their errors alone what they were given.
func redacted(args []string, err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, a := range args {
		for _, part := range []string{a, strings.TrimLeft(a, "-"), a[strings.Index(a, "=")+1:]} {
			if safe := loadtest.Redact(part); safe != part && strings.ContainsAny(part, ":@") {
				text = strings.ReplaceAll(text, part, safe)
				text = strings.ReplaceAll(text, inQuotes(part), inQuotes(safe))
			}
		}
	}
	if text == err.Error() {
		return err
	}
	return &redactedError{err, text}
}

// inQuotes returns a text as it stands between the quotes of %q.
func inQuotes(text string) string {
	q := strconv.Quote(text)
	return q[1 : len(q)-1]
}

// A list is a flag that may be given several times.
type list []string

// String returns the values.
func (l *list) String() string { return strings.Join(*l, " ") }

// Set adds a value.
func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}
