package driver

import (
	"fmt"
	"slices"
	"strings"
)

// Private is text of an error that holds a key or a value, which may be personal data. As
// an argument of [Errorf] it is formatted like a string.
type Private string

// Errorf is [fmt.Errorf]. [Redact] leaves out those of its arguments that are [Private].
func Errorf(format string, args ...any) error {
	plain, some := make([]any, len(args)), false
	for i, arg := range args {
		switch x := arg.(type) {
		case Private:
			plain[i], some = leftOut{}, true
		case error:
			plain[i] = redacted(Redact(x))
		default:
			plain[i] = arg
		}
	}
	err := fmt.Errorf(format, args...)
	if !some {
		return err
	}
	return &guarded{err, fmt.Errorf(format, plain...).Error()}
}

// Hide returns err such that [Redact] says instead of its text something else. It is for an
// error of a server or of a client, whose text may hold anything.
func Hide(err error, instead string) error {
	if err == nil {
		return nil
	}
	return &guarded{err, instead}
}

// Redact returns the text of an error without what is [Private], and without what was hidden.
// Errors that wrap others must have the texts of those in theirs, as fmt.Errorf makes them.
func Redact(err error) string {
	text := err.Error()
	for _, g := range guardedIn(nil, err) {
		text = strings.ReplaceAll(text, g.Error(), g.plain)
	}
	return text
}

// guardedIn appends to list what is guarded in an error, the longest text first: it may have that of
// another one in it.
func guardedIn(list []*guarded, err error) []*guarded {
	switch e := err.(type) { //nolint:errorlint // each error of the tree by itself
	case *guarded:
		if e.Error() != "" {
			list = append(list, e)
		}
	case interface{ Unwrap() error }:
		list = guardedIn(list, e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			list = guardedIn(list, inner)
		}
	}
	slices.SortStableFunc(list, func(a, b *guarded) int { return len(b.Error()) - len(a.Error()) })
	return list
}

// A guarded error has another text where texts are redacted.
type guarded struct {
	error
	plain string
}

func (g *guarded) Unwrap() error { return g.error }

// leftOut stands for what is private, however it would be formatted.
type leftOut struct{}

func (leftOut) Format(f fmt.State, _ rune) { fmt.Fprint(f, "(redacted)") }

// A redacted is a text in the place of an error.
type redacted string

func (r redacted) Error() string { return string(r) }
