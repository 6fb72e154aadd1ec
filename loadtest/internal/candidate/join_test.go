package candidate

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A failing store notes how many fields of users are read, and commits only so often, unless that is -1.
type failing struct {
	driver.Store
	fields  atomic.Int64
	commits atomic.Int64
}

func newFailing(scope driver.Scope) *failing {
	s := &failing{Store: memory.New(&memory.Options{Scope: &scope})}
	s.commits.Store(-1)
	return s
}

func (s *failing) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if strings.HasSuffix(t.Name, "users") {
		s.fields.Store(int64(len(mask)))
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *failing) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if left := s.commits.Load(); left == 0 {
		return nil, driver.ErrUnavailable
	} else if left > 0 {
		s.commits.Add(-1)
	}
	return s.Store.Commit(ctx, token, ops)
}

// call returns an operation of the query of a name.
func call(t *testing.T, c *Candidate, s *operation.Stream, name string) *operation.Call {
	t.Helper()
	for at := range c.Probes {
		if k := s.Only(at, 1, 1000)[0]; k.Q.Name == name {
			return &k
		}
	}
	t.Fatalf("no query %s", name)
	return nil
}

// A join reads of the records that it fetches what it takes, and no more.
func TestJoinReadsWhatItTakes(t *testing.T) {
	s := newFailing(driver.ScopeStore)
	c, w, tables := opened(t, s, 0)
	stream, err := operation.NewStream(w, tables)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(t.Context(), call(t, c, stream, "post"), true)
	if err != nil || len(a.Records) == 0 {
		t.Fatalf("%v, %v", a, err)
	}
	if n := s.fields.Load(); n != 1 {
		t.Errorf("%d fields of users were read, want the name alone", n)
	}
}

// A write that is done, and whose copies did not follow, is not taken for one that did nothing.
func TestCopiesThatDidNotFollow(t *testing.T) {
	s := newFailing(driver.ScopePartition)
	c, w, tables := opened(t, s, 1)
	stream, err := operation.NewStream(w, tables)
	if err != nil {
		t.Fatal(err)
	}
	k := call(t, c, stream, "rename")
	s.commits.Store(1)
	if _, err := c.Do(t.Context(), k, false); !errors.Is(err, repo.ErrUnknownOutcome) || !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("%v, want ErrUnknownOutcome", err)
	}
	s.commits.Store(0)
	if _, err := c.Do(t.Context(), k, false); errors.Is(err, repo.ErrUnknownOutcome) || !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("the control, a write that was not done: %v", err)
	}
}
