package backendtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// A Ledger is what writers were told: the ids of inserts that were acknowledged,
// with the time, and those whose outcome they do not know.
type Ledger struct {
	mu      sync.Mutex
	Acked   map[string]time.Time
	Unknown []string
}

// write inserts posts until the server is gone.
func (l *Ledger) write(ctx context.Context, t testing.TB, s driver.Store, ts *Tables, writer int) {
	for n := 0; ; n++ {
		id := fmt.Sprintf("%d-%06d", writer, n)
		_, err := s.Commit(ctx, driver.NewToken(), ts.Insert(t, "ann", id))
		l.mu.Lock()
		switch {
		case err == nil:
			l.Acked[id] = time.Now()
		case errors.Is(err, driver.ErrUnknownOutcome):
			l.Unknown = append(l.Unknown, id)
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Killed lets four writers insert into a store for a while, kills its server, starts it
// again on its data, where nothing may be left, and returns what they were told and when it
// was killed.
func Killed(t *testing.T, server *testserver.Server, s driver.Store, ts *Tables, d time.Duration) (*Ledger, time.Time) {
	t.Helper()
	l := &Ledger{Acked: map[string]time.Time{}}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() { l.write(t.Context(), t, s, ts, w) })
	}
	time.Sleep(d)
	at := time.Now()
	server.Kill9(t)
	wg.Wait()
	server.Restart(t)
	Answered(t, s, ts)
	return l, at
}

// Answered waits until a store finds its server again, which was started anew: a minute at
// most, because a busy machine takes longer than a client's patience.
func Answered(t testing.TB, s driver.Store, ts *Tables) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		err := s.Define(t.Context(), ts.All())
		away := errors.Is(err, driver.ErrUnavailable) || errors.Is(err, driver.ErrTimeout)
		if err == nil {
			return
		}
		if !away || time.Since(begun) > time.Minute {
			t.Fatal(err)
		}
	}
}

// Lost returns which acknowledged inserts are not there, and fails if a record and
// its rows are not in step.
func (l *Ledger) Lost(t *testing.T, s driver.Store, ts *Tables) []string {
	t.Helper()
	have := map[string]int{}
	for i, span := range []driver.Span{{Table: ts.Posts, Key: driver.Key{Partition: "ann#"}}, {Table: ts.ByTag, Key: driver.Key{Partition: "go#"}}} {
		for row, err := range s.Range(t.Context(), span) {
			if err != nil {
				t.Fatal(err)
			}
			id := row.Key.Sort
			if i == 1 {
				id = id[len("ann#"):]
			}
			have[id[:len(id)-1]] |= 1 << i
		}
	}
	var lost []string
	for id := range l.Acked {
		if have[id] == 0 {
			lost = append(lost, id)
		}
	}
	for id, sides := range have {
		if slug := ts.There(t, s, ts.Slug, KeyOf(t, ts.Slug, "ann-"+id)); sides != 3 || slug != 1 {
			t.Errorf("%s: record and row %b, slug %d: out of step", id, sides, slug)
		}
		if _, ok := l.Acked[id]; !ok && !slices.Contains(l.Unknown, id) {
			t.Errorf("%s is there and nobody wrote it", id)
		}
	}
	return lost
}
