package cassandra_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// A ledger is what writers were told: the authors and ids of inserts that were
// acknowledged, and of those whose outcome they do not know.
type ledger struct {
	mu             sync.Mutex
	acked, unknown map[[2]string]driver.Token
}

// write inserts posts until the server is gone.
func (l *ledger) write(ctx context.Context, t testing.TB, s driver.Store, ts *tables, author string) {
	for n := 0; ; n++ {
		id, token := fmt.Sprintf("%06d", n), driver.NewToken()
		_, err := s.Commit(ctx, token, ts.insert(t, author, id))
		l.mu.Lock()
		switch {
		case err == nil:
			l.acked[[2]string{author, id}] = token
		case errors.Is(err, driver.ErrUnknownOutcome):
			l.unknown[[2]string{author, id}] = token
		}
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// killed writes to a server for a while, kills it and starts it again on its data.
func killed(t *testing.T, server *testserver.Server, s *cassandra.Store, ts *tables, round int) *ledger {
	t.Helper()
	l := &ledger{acked: map[[2]string]driver.Token{}, unknown: map[[2]string]driver.Token{}}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() { l.write(t.Context(), t, s, ts, fmt.Sprintf("r%dw%d", round, w)) })
	}
	time.Sleep(2 * time.Second)
	server.Kill9(t)
	wg.Wait()
	if err := backendtest.Commit(t, s, ts.insert(t, "ann", "1")); !errors.Is(err, driver.ErrUnavailable) && !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("a commit where there is no server: %v", err)
	}
	server.Restart(t)
	return l
}

// lost returns how many acknowledged inserts are not there, and fails if a record and its
// rows are not in step.
func (l *ledger) lost(t *testing.T, s driver.Store, ts *tables) (lost int) {
	t.Helper()
	for chunk := range slices.Chunk(slices.Collect(maps.Keys(l.acked)), 50) {
		for i, there := range inStep(t, s, ts, chunk) {
			if !there {
				t.Logf("%v was acknowledged", chunk[i])
				lost++
			}
		}
	}
	inStep(t, s, ts, slices.Collect(maps.Keys(l.unknown)))
	return lost
}

// inStep reports which posts are there, and fails where a post and its rows are not in step.
func inStep(t *testing.T, s driver.Store, ts *tables, list [][2]string) []bool {
	t.Helper()
	n, keys, found := make([]int, len(list)), map[*driver.Table][]driver.Key{}, make([]bool, len(list))
	for _, at := range list {
		for _, op := range ts.insert(t, at[0], at[1]) {
			keys[op.Table] = append(keys[op.Table], op.Row.Key)
		}
	}
	for table, keys := range keys {
		rows := make([]driver.Row, len(keys))
		if err := s.Get(t.Context(), table, keys, nil, rows); err != nil {
			t.Fatal(err)
		}
		for i := range rows {
			if !rows[i].Rev.IsZero() {
				n[i]++
			}
		}
	}
	for i, at := range list {
		if n[i] != 0 && n[i] != 3 {
			t.Errorf("%v: %d of a record, its row and its claim are there", at, n[i])
		}
		found[i] = n[i] == 3
	}
	return found
}

// A server that is killed while it writes has lost nothing that it acknowledged, its
// indexes are in step, and what was unknown is settled by sending it again.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Cassandra)
	s, ts := open(t, at(server.URL, common))
	walked := beginWalk(t, s, ts)
	l := killed(t, server, s, ts, 0)
	again, ts := open(t, at(server.URL, common))
	if lost := l.lost(t, again, ts); lost > 0 || len(l.acked) < 50 {
		t.Errorf("%d of %d acknowledged commits are lost", lost, len(l.acked))
	}
	for at, token := range l.unknown {
		if refusal, err := again.Commit(t.Context(), token, ts.insert(t, at[0], at[1])); refusal != nil || err != nil {
			t.Errorf("%v, sent again: %v, %v", at, refusal, err)
		}
	}
	if n := walked.goOn(t, again, ts); n > 0 || len(walked.left) == 0 {
		t.Errorf("a walk that went on after the restart missed %d of %d posts", n, len(walked.left))
	}
	t.Logf("%d acknowledged, %d unknown, none lost", len(l.acked), len(l.unknown))
}

// The control: with a periodic commit log the same kill loses what was acknowledged, ten
// of them at most, and Facts say so.
func TestKilledServerLosesWithAPeriodicLog(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Cassandra, "-Dcassandra.settings.commitlog_sync=periodic", "-Dcassandra.settings.commitlog_sync_period=10s")
	for round := range 10 {
		s, ts := open(t, at(server.URL, common))
		if f := s.Facts(); f.Durability != driver.Delayed || f.Delay != 15*time.Second || f.Setting != "commitlog_sync periodic 10s, 1 copy" {
			t.Fatalf("facts: %+v", f)
		}
		l := killed(t, server, s, ts, round)
		s.Close()
		again, ts := open(t, at(server.URL, common))
		if lost := l.lost(t, again, ts); lost > 0 {
			t.Logf("kill %d: %d of %d acknowledged commits are lost", round+1, lost, len(l.acked))
			return
		}
		again.Close()
	}
	t.Error("ten kills lost nothing: the test cannot see a loss")
}
