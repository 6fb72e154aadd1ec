package redis_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// pair starts a primary with a replica that follows it.
func pair(t *testing.T) (primary, replica *testserver.Server) {
	t.Helper()
	primary = testserver.Start(t, testserver.Redis, "--repl-diskless-sync-delay", "0")
	host, port, _ := net.SplitHostPort(primary.Addr)
	replica = testserver.Start(t, testserver.Redis, "--replicaof", host+" "+port)
	follows(t, primary)
	return primary, replica
}

// follows waits until a replica of a primary has its data.
func follows(t *testing.T, primary *testserver.Server) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(20 * time.Millisecond) {
		if strings.Contains(do(t, raw(t, primary.Addr), "INFO", "replication").(string), "state=online") {
			return
		}
	}
	t.Fatal("no replica follows the primary")
}

// stall ends the link of a replica to its primary, so that what is written from now
// on does not reach it; it can be elected all the same.
func stall(t *testing.T, primary, replica *testserver.Server) {
	t.Helper()
	do(t, raw(t, replica.Addr), "CONFIG", "SET", "masteruser", "nobody", "masterauth", "none")
	do(t, raw(t, primary.Addr), "CLIENT", "KILL", "TYPE", "replica")
}

// mend lets a replica follow again.
func mend(t *testing.T, primary, replica *testserver.Server) {
	t.Helper()
	do(t, raw(t, replica.Addr), "CONFIG", "SET", "masteruser", "", "masterauth", "")
	follows(t, primary)
}

// A commit that no replica has in time is unknown, and so is what Resolve says of it
// until one has it; reads, and commits that are refused, are as ever.
func TestMinReplicas(t *testing.T) {
	t.Parallel()
	primary, replica := pair(t)
	if err := refusedBy(t, primary.URL+"?min_replicas=2"); !errors.Is(err, driver.ErrUnavailable) || !strings.Contains(err.Error(), "1 replica that follow") {
		t.Errorf("more replicas than there are: %v", err)
	}
	s, err := redis.Open(t.Context(), primary.URL+"?min_replicas=1&read_timeout=1s")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f := s.Facts(); f.Durability != driver.Delayed || !strings.Contains(f.Setting, "waits for 1 replica") {
		t.Errorf("facts: %+v", f)
	}
	r := letters(t, s)
	first := letter{Author: "ann", ID: "1", Tag: "x"}
	if err := r.Insert(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	stall(t, primary, replica)
	err = r.Insert(t.Context(), &letter{Author: "ann", ID: "2", Tag: "y"})
	e, ok := errors.AsType[*repo.Error](err)
	if !ok || !errors.Is(err, repo.ErrUnknownOutcome) || !strings.Contains(err.Error(), "done, but only 0 of 1 replicas have it in time") {
		t.Fatalf("an insert that no replica has: %v", err)
	}
	if _, err := r.Get(t.Context(), repo.Key{"ann", "2"}); err != nil {
		t.Errorf("get of it: %v", err)
	}
	if v, err := r.Resolve(t.Context(), e.Outcome); v != repo.Unknown || err == nil {
		t.Errorf("resolve while no replica has it: %s, %v", v, err)
	}
	if err := r.Insert(t.Context(), &letter{Author: "ann", ID: "1", Tag: "z"}); !errors.Is(err, repo.ErrExists) {
		t.Errorf("an insert that is refused: %v, want ErrExists", err)
	}
	mend(t, primary, replica)
	if v, err := r.Resolve(t.Context(), e.Outcome); v != repo.Committed || err != nil {
		t.Errorf("resolve when a replica has it: %s, %v", v, err)
	}
	inStep(t, r, 2)
}

// A turning address leads to one server and then to another; connections stay where
// they are.
func turning(t *testing.T, to *atomic.Pointer[string]) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp4", *to.Load())
			if err != nil {
				client.Close()
				continue
			}
			go func() { io.Copy(server, client); server.Close() }()
			go func() { io.Copy(client, server); client.Close() }()
		}
	}()
	return l.Addr().String()
}

// After a failover behind one address a commit reaches the new primary at once: the
// connections to the old one, which answers that it is a replica now, are dropped.
func TestAddressThatTurns(t *testing.T) {
	t.Parallel()
	primary, replica := pair(t)
	var to atomic.Pointer[string]
	to.Store(&primary.Addr)
	s, ts := open(t, "redis://"+turning(t, &to))
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	do(t, raw(t, primary.Addr), "WAIT", 1, 5000)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for range 20 { // several connections
		go s.Get(ctx, ts.Posts, []driver.Key{backendtest.KeyOf(t, ts.Posts, "ann", "1")}, nil, make([]driver.Row, 1))
	}
	time.Sleep(100 * time.Millisecond)
	follower := raw(t, replica.Addr)
	do(t, follower, "REPLICAOF", "NO", "ONE")
	host, port, _ := net.SplitHostPort(replica.Addr)
	do(t, raw(t, primary.Addr), "REPLICAOF", host, port)
	to.Store(&replica.Addr)
	for range 5 {
		backendtest.MustCommit(t, s, ts.Add(t, "ann", "1"))
	}
	if got := do(t, follower, "HGET", "posts:{ann#}1#", "views"); got != "6" {
		t.Errorf("the new primary has %v views, want 6", got)
	}
}

// A commit that is sent again waits for replicas, too, though it writes
// nothing.
func TestReplayWaitsForReplicas(t *testing.T) {
	t.Parallel()
	primary, replica := pair(t)
	url := primary.URL + "?min_replicas=1&read_timeout=1s"
	s, ts := open(t, url)
	stall(t, primary, replica)
	token, ops := driver.NewToken(), ts.Insert(t, "ann", "1")
	if _, err := s.Commit(t.Context(), token, ops); !errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("a commit that no replica has: %v", err)
	}
	_, err := s.Commit(t.Context(), token, ops)
	if !errors.Is(err, driver.ErrUnknownOutcome) || !strings.Contains(err.Error(), "replicas") {
		t.Errorf("the commit sent again: %v", err)
	}
	mend(t, primary, replica)
	if refusal, err := s.Commit(t.Context(), token, ops); refusal != nil || err != nil {
		t.Errorf("the commit sent again when a replica has it: %v, %v", refusal, err)
	}
	if got, want := ts.Numbers(t, s, "ann", []string{"1"}), "1 posts, 1 counted, 1 rows, 1 slugs"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
