package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/polystore/polystore/internal/testserver"
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

// A server that is killed while it writes has lost nothing that it acknowledged, and
// its indexes are in step.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	s, ts, l, _ := killed(t, 1500*time.Millisecond)
	if lost := l.lost(t, s, ts); len(lost) > 0 || len(l.acked) < 50 {
		t.Errorf("%d of %d acknowledged commits are lost: %v", len(lost), len(l.acked), lost[:min(len(lost), 5)])
	}
	t.Logf("%d acknowledged, %d unknown, none lost", len(l.acked), len(l.unknown))
	mustCommit(t, s, ts.insert(t, "ann", "after"))
}

// The control: what is acknowledged before it is in the journal is lost by the same
// kill, ten of them at most.
func TestKilledServerLosesWhatIsNotInTheJournal(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Mongo)
	unjournaled := false
	client, err := mongodriver.Connect(options.Client().ApplyURI(server.URL).SetWriteConcern(&writeconcern.WriteConcern{W: 1, Journal: &unjournaled}).
		SetTimeout(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Disconnect(context.WithoutCancel(t.Context()))
	all := client.Database("control").Collection("posts")
	for range 10 {
		acked := make([]int64, 4)
		var wg sync.WaitGroup
		for w := range acked {
			wg.Go(func() {
				for {
					_, err := all.InsertOne(t.Context(), d("writer", w, "n", acked[w]))
					if err != nil {
						return
					}
					acked[w]++
				}
			})
		}
		time.Sleep(700 * time.Millisecond)
		server.Kill9(t)
		wg.Wait()
		server.Restart(t)
		have, err := all.CountDocuments(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		if lost := acked[0] + acked[1] + acked[2] + acked[3] - have; lost > 0 {
			t.Logf("%d of %d acknowledged writes are lost", lost, lost+have)
			return
		}
		if err := all.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("ten kills lost nothing: the test cannot see a loss")
}
