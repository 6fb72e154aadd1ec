package tree_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// noOrder says that what came of a run is what no order of the calls gives.
const noOrder = "no order of the calls gives this"

// orders returns what comes of a scenario where each call is over before the next one begins: in all orders of the
// calls, with a client that dies between any of its calls, each in a world of its own.
func (s *scenario) orders(t *testing.T, k kind) (all map[string]bool, runs int) {
	t.Helper()
	all, r := map[string]bool{}, &run{}
	for {
		runs++
		r.options = nil
		got, failed := s.play(t, k, r, true)
		if failed != "" {
			t.Fatalf("one after the other: %s", failed)
		}
		if all[got] = true; !r.next(math.MaxInt) {
			return all, runs
		}
	}
}

// toldNothing is what clients were told that have not ended.
func (s *scenario) toldNothing() []string {
	told := make([]string, len(s.clients))
	for i := range told {
		told[i] = "died"
	}
	return told
}

// toldBy returns what a client was told.
func toldBy(err error) string {
	for _, kind := range []error{
		repo.ErrUnknownOutcome, repo.ErrContention, tree.ErrBelowItself, tree.ErrHasChildren, repo.ErrExists, repo.ErrNotFound, repo.ErrTooLarge, repo.ErrConflict, repo.ErrInvalid,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	if err != nil {
		return err.Error()
	}
	return "done"
}

// A liar is a store that lies once to a client about the record of a node: it acknowledges a commit that it does not do,
// or hides the record.
type liar struct {
	driver.Store
	id          string
	loses, lied bool
}

// lies reports whether to lie to a client about a row.
func (l *liar) lies(ctx context.Context, table *driver.Table, key driver.Key) bool {
	_, toClient := ctx.Value(clientKey{}).(inWorld)
	lies := toClient && !l.lied && table.Name == "c" && strings.Contains(key.Sort, l.id)
	l.lied = l.lied || lies
	return lies
}

func (l *liar) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	for i := range ops {
		if l.loses && l.lies(ctx, ops[i].Table, ops[i].Row.Key) {
			return nil, nil
		}
	}
	return l.Store.Commit(ctx, token, ops)
}

func (l *liar) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	err := l.Store.Get(ctx, t, keys, mask, rows)
	for i, key := range keys {
		if !l.loses && l.lies(ctx, t, key) {
			rows[i] = driver.Row{Key: key}
		}
	}
	return err
}

// An insert that is acknowledged and lost, and a move of a node that is said not to be there, leave a tree with which
// nothing is wrong. No order of the calls gives them.
func TestNoOrderGivesLies(t *testing.T) {
	for _, tt := range []struct {
		what, id string
		clients  []client
		loses    bool
		want     string
	}{
		{"an insert that is lost", "n", []client{inserts("n", "a"), moves("b", "a")}, true, noOrder + ": done, done: a .b adjacency"},
		{"a node that is hidden", "b", []client{inserts("n", "a"), moves("b", "a")}, false, noOrder + ": done, not found: a .n b adjacency"},
	} {
		s := scenario{tt.what, "a b", tt.clients, -1, func(in driver.Store) driver.Store { return &liar{Store: in, id: tt.id, loses: tt.loses} }}
		if _, failed := explore(t, s, kind{Strategy: tree.Adjacency}, 2); !strings.HasPrefix(failed, tt.want) {
			t.Errorf("%s: %q, want %q", tt.what, failed, tt.want)
		}
	}
}
