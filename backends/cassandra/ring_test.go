package cassandra_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// keep inserts posts until the context ends, whatever becomes of them.
func (l *ledger) keep(ctx context.Context, t testing.TB, s driver.Store, ts *tables, author string) {
	for n := 0; ctx.Err() == nil; n++ {
		id, token := fmt.Sprintf("%06d", n), driver.NewToken()
		_, err := s.Commit(context.WithoutCancel(ctx), token, ts.insert(t, author, id))
		l.mu.Lock()
		switch {
		case err == nil:
			l.acked[[2]string{author, id}] = token
		case errors.Is(err, driver.ErrUnknownOutcome):
			l.unknown[[2]string{author, id}] = token
		default:
			t.Errorf("insert: %v, want it done, or ErrUnknownOutcome", err)
		}
		l.mu.Unlock()
	}
}

// A ring of three that loses a node while it writes goes on, and loses nothing that it
// acknowledged; tables can be made meanwhile. With one node of three left it says so.
func TestRing(t *testing.T) {
	t.Parallel()
	ring := testserver.StartRing(t, "-Dcassandra.settings.write_request_timeout=3s", "-Dcassandra.settings.read_request_timeout=3s", "-Dcassandra.settings.cas_contention_timeout=3s",
		"-Dcassandra.settings.hinted_handoff_enabled=false", "-Dcassandra.test.flush_local_schema_changes=false") // no node that is killed is started again
	url := ring.URL + "ring?replication=3"
	s, ts := open(t, url)
	if f := s.Facts(); f.Durability != driver.Node || f.Setting != "commitlog_sync batch, 3 copies" {
		t.Errorf("facts: %+v", f)
	}
	rows := byCategory()
	if err := s.Define(t.Context(), []*driver.Table{rows}); err != nil {
		t.Fatal(err)
	}
	t.Run("replicas that differ", func(t *testing.T) { replicasThatDiffer(t, ring, "ring") })
	t.Run("sweeps beside writers", func(t *testing.T) { sweptBesideWriters(t, ring, url) })
	l := &ledger{acked: map[[2]string]driver.Token{}, unknown: map[[2]string]driver.Token{}}
	ctx, end := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() { l.keep(ctx, t, s, ts, fmt.Sprint("w", w)) })
	}
	time.Sleep(time.Second)
	ring.Nodes[2].Kill9(t)
	time.Sleep(3 * time.Second)
	end()
	writers.Wait()
	if lost := l.lost(t, s, ts); lost > 0 || len(l.acked) < 20 {
		t.Errorf("%d of %d acknowledged commits are lost", lost, len(l.acked))
	}
	for at, token := range l.unknown {
		if refusal, err := s.Commit(t.Context(), token, ts.insert(t, at[0], at[1])); refusal != nil || err != nil {
			t.Errorf("%v, sent again: %v, %v", at, refusal, err)
		}
	}
	t.Logf("%d acknowledged, %d unknown, none lost", len(l.acked), len(l.unknown))

	madeWhileDead(t, s, ts)

	t.Run("the suite on two of three nodes", func(t *testing.T) { suiteOn(t, url) })

	ring.Nodes[1].Pause(t)
	tooFew(t, s, ts, rows, "a node that is dead and one that stands still", driver.ErrUnknownOutcome)
	ring.Nodes[1].Resume(t)
	ring.Nodes[1].Kill9(t)
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(200 * time.Millisecond) {
		if errors.Is(backendtest.Commit(t, s, []driver.Op{rowOf(t, rows, "it", driver.NewToken())}), driver.ErrUnavailable) {
			break // the last node has noticed
		}
	}
	tooFew(t, s, ts, rows, "two nodes that are dead", driver.ErrUnavailable)
}

// madeWhileDead sees that a table can be made while a node is dead.
func madeWhileDead(t *testing.T, s *cassandra.Store, ts *tables) {
	late := byCategory()
	late.Name = "posts.by_late"
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Second) // the client by itself would wait for the dead node for a minute
	defer cancel()
	if err := s.Define(soon, []*driver.Table{late}); err != nil {
		t.Errorf("define while a node is dead: %v", err)
	}
	op := rowOf(t, late, "it", driver.NewToken())
	if backendtest.MustCommit(t, s, []driver.Op{op}); !ts.there(t, s, late, op.Row.Key) {
		t.Error("a row of a table that was made while a node was dead is not there")
	}
}

// sweptBesideWriters sees that sweeps take what died long ago from partitions to which others write, and
// nothing of theirs, while one of three replicas stands still for a while.
func sweptBesideWriters(t *testing.T, ring *testserver.Ring, url string) {
	s, ts := open(t, url+"&timeout=4s") // longer than the servers' own
	session := newParty(t, ring, "ring", 0, 1).session
	const authors, died = 4, 60
	author := func(w int) string { return fmt.Sprint("swept", w) }
	for w := range authors {
		for i := range died { // between what the writers insert
			rev := driver.NewToken()
			do(t, session, `INSERT INTO posts (author, "_sort", "_rev", "_dead") VALUES (?, ?, ?, true) USING TIMESTAMP ?`,
				author(w), fmt.Sprintf(":%06dx#", i), rev[:], time.Now().Add(-time.Hour).UnixMicro())
		}
	}
	l := &ledger{acked: map[[2]string]driver.Token{}, unknown: map[[2]string]driver.Token{}}
	ctx, end := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range authors {
		writers.Go(func() { l.keep(ctx, t, s, ts, author(w)) })
	}
	dead := 0
	for round := range 6 {
		if round == 2 {
			ring.Nodes[2].Pause(t)
		}
		if round == 4 {
			ring.Nodes[2].Resume(t)
		}
		for mark, first := "", true; first || mark != "" && !t.Failed(); first = false {
			insist(t, func() error { // a page whose answer is lost is swept once more
				page, err := s.Sweep(t.Context(), ts.posts, mark, func(row *driver.Row) bool { return row.Dead })
				dead += page.Dead
				if err == nil {
					mark = page.Mark
				}
				return err
			})
		}
		time.Sleep(500 * time.Millisecond)
	}
	end()
	writers.Wait()
	if lost := l.lost(t, s, ts); lost > 0 || len(l.acked) < 20 || dead == 0 {
		t.Errorf("%d of %d acknowledged commits are lost, %d dead records were removed", lost, len(l.acked), dead)
	}
	for w := range authors {
		var n int64
		if err := session.Query(`SELECT count(*) FROM posts WHERE author = ? AND "_dead" = true ALLOW FILTERING`, author(w)).ScanContext(t.Context(), &n); err != nil || n > 0 {
			t.Errorf("%d dead records of %s are there, %v", n, author(w), err)
		}
	}
	t.Logf("%d acknowledged beside %d that were swept", len(l.acked), dead)
}

// tooFew sees what is said where a quorum cannot answer; plain is of a row without condition.
func tooFew(t *testing.T, s driver.Store, ts *tables, rows *driver.Table, why string, plain error) {
	t.Helper()
	if err := backendtest.Commit(t, s, []driver.Op{rowOf(t, rows, "it", driver.NewToken())}); !errors.Is(err, plain) {
		t.Errorf("commit of a plain row with %s: %v, want %v", why, err, plain)
	}
	if err := s.Get(t.Context(), ts.posts, []driver.Key{ts.key(t, "w0", "000000")}, nil, make([]driver.Row, 1)); !errors.Is(err, driver.ErrUnavailable) {
		t.Errorf("get with %s: %v, want ErrUnavailable", why, err)
	}
	if err := backendtest.Commit(t, s, ts.insert(t, "late", "1")); !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("commit with %s: %v, want ErrUnknownOutcome", why, err)
	}
}
