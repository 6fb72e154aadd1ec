package loadtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// An amnesiac store acknowledges one commit of nodes during the rounds that it does not do.
type amnesiac struct {
	*watched
	on   atomic.Bool
	left atomic.Int64 // commits until that one
}

func (s *amnesiac) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	nodes := slices.ContainsFunc(ops, func(op driver.Op) bool { return strings.Contains(op.Table.Name, "files") })
	if s.on.Load() && nodes && s.left.Add(-1) == 0 {
		return nil, nil
	}
	return s.watched.Commit(ctx, token, ops)
}

// One change of a tree that was acknowledged and is lost is found after the rounds, where there is one model, and nothing
// to compare it with. The control is the same workload on a store that loses nothing.
func TestLostChangesOfTrees(t *testing.T) {
	forest := testload.Forest(t)
	forest = forest[:strings.Index(forest, "queries:")] + "queries:\n  - {name: one, weight: 50, kind: get}\n  - "
	for _, tt := range []struct{ query, strategy, want string }{
		{"{name: moved, weight: 50, kind: transplant, below: {max: 0}}", "adjacency", "; what was written last is"},
		{"{name: moved, weight: 50, kind: transplant, below: {max: 0}}", "document", "; what was written last is"},
		{"{name: new, weight: 50, kind: insert, set: {path: {sequence: 1, pattern: \"new-%d\"}, folder: $path}}", "path", "is missing; it was acknowledged"},
		{"{name: gone, weight: 50, kind: delete, misses: true}", "ancestors", "is found, and it is not there"},
		{"{name: grown, weight: 50, kind: update, add: {size: 1}}", "adjacency", "; what was written last is"},
	} {
		for _, loses := range []bool{true, false} {
			s := &amnesiac{watched: newWatched()}
			if loses {
				s.left.Store(2)
			}
			opts := options(s)
			opts.Terminal, opts.Log = true, writerFunc(func(p []byte) (int, error) {
				switch text := string(p); {
				case strings.Contains(text, "round 1 of "):
					s.on.Store(true)
				case strings.Contains(text, "verify the records"):
					s.on.Store(false)
				}
				return len(p), nil
			})
			_, err := Run(t.Context(), mustParse(t, forest+tt.query+"\nmodels:\n  - {name: m, strategy: "+tt.strategy+"}\n"), opts)
			_, wrong := errors.AsType[*failure.WrongAnswers](err)
			if wrong != loses || wrong && !strings.Contains(err.Error(), tt.want) || !loses && err != nil {
				t.Errorf("%s, %s: loses %v: %v, want %q", tt.query, tt.strategy, loses, err, tt.want)
			}
			s.check(t)
		}
	}
}
