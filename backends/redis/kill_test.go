package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A ledger is what writers were told: the ids of inserts that were acknowledged,
// with the time, and those whose outcome they do not know.
type ledger struct {
	mu      sync.Mutex
	acked   map[string]time.Time
	unknown []string
}

// write inserts posts until the server is gone.
func (l *ledger) write(ctx context.Context, t testing.TB, s driver.Store, ts *tables, writer int) {
	for n := 0; ; n++ {
		id := fmt.Sprintf("%d-%06d", writer, n)
		_, err := s.Commit(ctx, driver.NewToken(), ts.insert(t, "ann", id))
		l.mu.Lock()
		switch {
		case err == nil:
			l.acked[id] = time.Now()
		case errors.Is(err, driver.ErrUnknownOutcome):
			l.unknown = append(l.unknown, id)
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// killed writes to a server for a while, kills it, starts it again on its data, and
// returns the store, what was told and when it was killed.
func killed(t *testing.T, d time.Duration, args ...string) (driver.Store, *tables, *ledger, time.Time) {
	t.Helper()
	server, s, ts := own(t, args...)
	l := &ledger{acked: map[string]time.Time{}}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() { l.write(t.Context(), t, s, ts, w) })
	}
	time.Sleep(d)
	at := time.Now()
	server.Kill9(t)
	wg.Wait()
	server.Restart(t)
	return s, ts, l, at
}

// lost returns which acknowledged inserts are not there, and fails if a record and
// its rows are not in step.
func (l *ledger) lost(t *testing.T, s driver.Store, ts *tables) []string {
	t.Helper()
	if err := s.Define(t.Context(), ts.all()); err != nil { // also where nothing is left
		t.Fatal(err)
	}
	have := map[string]int{}
	for i, span := range []driver.Span{{Table: ts.posts, Key: driver.Key{Partition: "ann#"}}, {Table: ts.byTag, Key: driver.Key{Partition: "go#"}}} {
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
	for id := range l.acked {
		if have[id] == 0 {
			lost = append(lost, id)
		}
	}
	for id, sides := range have {
		if slug := ts.there(t, s, ts.slug, keyOf(t, ts.slug, "ann-"+id)); sides != 3 || slug != 1 {
			t.Errorf("%s: record and row %b, slug %d: out of step", id, sides, slug)
		}
		if _, ok := l.acked[id]; !ok && !slices.Contains(l.unknown, id) {
			t.Errorf("%s is there and nobody wrote it", id)
		}
	}
	return lost
}

// A server that is killed while it writes has lost nothing that it acknowledged,
// and its indexes are in step.
func TestKilledServerSyncingAlways(t *testing.T) {
	t.Parallel()
	s, ts, l, _ := killed(t, 700*time.Millisecond, "--appendfsync", "always")
	if lost := l.lost(t, s, ts); len(lost) > 0 || len(l.acked) < 50 {
		t.Errorf("%d of %d acknowledged commits are lost: %v", len(lost), len(l.acked), lost[:min(len(lost), 5)])
	}
	t.Logf("%d acknowledged, %d unknown, none lost", len(l.acked), len(l.unknown))
	mustCommit(t, s, ts.insert(t, "ann", "after"))
}

// With everysec the server may put off appending while the disk syncs, for two
// seconds at most: only commits of that time may be missing.
func TestKilledServerSyncingEverySecond(t *testing.T) {
	t.Parallel()
	s, ts, l, at := killed(t, 3*time.Second, "--appendfsync", "everysec")
	lost := l.lost(t, s, ts)
	for _, id := range lost {
		if age := at.Sub(l.acked[id]); age > 2500*time.Millisecond {
			t.Errorf("%s was acknowledged %s before the server was killed, and is lost", id, age)
		}
	}
	if len(l.acked) < 50 {
		t.Errorf("%d commits were acknowledged: too few to tell", len(l.acked))
	}
	t.Logf("%d acknowledged, %d unknown, %d lost", len(l.acked), len(l.unknown), len(lost))
}

// The control: without a log all is lost, and the test sees it.
func TestKilledServerWithoutLog(t *testing.T) {
	t.Parallel()
	s, ts, l, _ := killed(t, 500*time.Millisecond, "--appendonly", "no")
	if lost := l.lost(t, s, ts); len(lost) != len(l.acked) || len(lost) < 50 {
		t.Errorf("%d of %d acknowledged commits are lost, want all", len(lost), len(l.acked))
	}
	if s.Facts().Durability != driver.Memory {
		t.Errorf("the class is %s, want memory", s.Facts().Durability)
	}
}
