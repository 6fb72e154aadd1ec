package mongo_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo/driver"
)

// Close disconnects the client that Open made, with all its goroutines and connections,
// and leaves alone the one that New was given.
func TestClose(t *testing.T) {
	server := testserver.Start(t, testserver.Mongo)
	admin := raw(t, server.URL).Database("admin")
	count := func() int {
		ops := do(t, admin, d("currentOp", 1, "$all", true, "appName", "closing"))
		list, err := ops.Lookup("inprog").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	s, ts := open(t, with(server.URL, "appName=closing"))
	backendtest.MustCommit(t, s, ts.Insert(t, "ann", "1"))
	if count() == 0 {
		t.Error("the store has no connection")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := backendtest.Await(count); n != 0 { // the server sees it a little later
		t.Errorf("the store has %d connections after Close", n)
	}
	if n := backendtest.Await(func() int { return strings.Count(backendtest.Stacks(), "mongo.(*Store)") }); n != 0 {
		t.Errorf("%d goroutines are in the store after Close:\n%s", n, backendtest.Stacks())
	}
	if _, err := s.Commit(t.Context(), driver.NewToken(), ts.Insert(t, "ann", "2")); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("commit after Close: %v, want ErrClosed", err)
	}
	client := raw(t, server.URL)
	mine, err := mongo.New(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.Close(); err != nil {
		t.Error(err)
	}
	if err := client.Ping(t.Context(), nil); err != nil {
		t.Errorf("the caller's client after Close: %v", err)
	}
}

// A client that its owner has disconnected answers ErrClosed.
func TestClosedClient(t *testing.T) {
	t.Parallel()
	client := raw(t, testserver.Shared(t, testserver.Mongo).URL)
	s, err := mongo.New(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	client.Disconnect(t.Context())
	if err := s.Define(context.WithoutCancel(t.Context()), backendtest.NewTables().All()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("define: %v, want ErrClosed", err)
	}
}

// Where all connections are in use a commit was not sent, and that is said.
func TestFullPool(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	name := "database=test" + driver.NewToken().String()
	open(t, with(tr.url, name+patient)) // makes the tables, however long that takes
	s, ts := open(t, with(tr.url, name+"&maxPoolSize=1&timeoutMS=3000"))
	tr.fail(1, "find", "blockConnection", true, "blockTimeMS", 6000)
	reading := make(chan error, 1)
	key := backendtest.KeyOf(t, ts.Posts, "ann", "1")
	go func() {
		reading <- s.Get(context.WithoutCancel(t.Context()), ts.Posts, []driver.Key{key}, nil, make([]driver.Row, 1))
	}()
	time.Sleep(time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := s.Commit(ctx, driver.NewToken(), ts.Add(t, "ann", "1"))
	if !errors.Is(err, driver.ErrTimeout) || errors.Is(err, driver.ErrUnknownOutcome) {
		t.Errorf("a commit for which there was no connection: %v, want ErrTimeout", err)
	}
	if err := <-reading; !errors.Is(err, driver.ErrTimeout) {
		t.Errorf("a get that took longer than the client's Timeout: %v, want ErrTimeout", err)
	}
}
