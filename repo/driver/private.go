package driver

import (
	"fmt"
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
	return redactIn(text, err)
}

func redactIn(text string, err error) string {
	if g, ok := err.(*guarded); ok { //nolint:errorlint // each error of the tree by itself
		return strings.ReplaceAll(text, g.Error(), g.plain)
	}
	switch e := err.(type) { //nolint:errorlint // each error of the tree by itself
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return redactIn(text, inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if inner != nil {
				text = redactIn(text, inner)
			}
		}
	}
	return text
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
