package history

import (
	"context"
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
