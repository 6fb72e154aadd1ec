package history

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo"
)

// A verdict that is taken back is found; one that can no longer be given is none.
func TestVerdictsAreKept(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		was, is repo.Verdict
		fault   bool
	}{
		{repo.Committed, repo.NotCommitted, true},
		{repo.NotCommitted, repo.Committed, true},
		{repo.Committed, repo.Committed, false},
		{repo.Committed, repo.Unknown, false},
		{repo.Unknown, repo.NotCommitted, false},
	} {
		in := &Troubled{
			told:    []told{{"", &repo.Outcome{}, tt.was}},
			resolve: func(context.Context, string, *repo.Outcome) (repo.Verdict, error) { return tt.is, nil },
		}
		if err := in.askAnew(t.Context()); (err != nil) != tt.fault {
			t.Errorf("first %s, then %s: %v", tt.was, tt.is, err)
		}
	}
}

// A history that cannot be decided is made again, and is a fault if none of three can be. One that is wrong is a fault at
// once.
func TestUndecidedIsMadeAgain(t *testing.T) {
	t.Parallel()
	open, wrong := undecided{errors.New("took too long")}, errors.New("wrong")
	for _, tt := range []struct {
		ends []error
		made int
		want error
	}{
		{[]error{nil}, 1, nil},
		{[]error{wrong, nil}, 1, wrong},
		{[]error{open, fmt.Errorf("in a round: %w", open), nil}, 3, nil},
		{[]error{open, wrong, nil}, 2, wrong},
		{[]error{open, open, open, nil}, 3, open},
	} {
		made := 0
		err := decided(func(before int) error {
			if before != made {
				t.Errorf("%d were made before; make is told of %d", made, before)
			}
			made++
			return tt.ends[before]
		})
		if made != tt.made || !errors.Is(err, tt.want) {
			t.Errorf("%v: %d made, %v; want %d and %v", tt.ends, made, err, tt.made, tt.want)
		}
	}
}
