package cassandra_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo/driver"
)

// Close ends the session that Open made, with all its connections and goroutines, and
// leaves alone the one that New was given. It is not parallel, to count goroutines.
func TestClose(t *testing.T) {
	server := testserver.Shared(t, testserver.Cassandra)
	s, ts := open(t, at(server.URL, common))
	inClient := func() int { return strings.Count(backendtest.Stacks(), "cassandra-gocql-driver/v2.(*Conn).serve(") }
	if inClient() == 0 {
		t.Error("an open store has no connection: the test cannot see any")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := backendtest.Await(inClient); n != 0 {
		t.Errorf("%d connections after Close", n)
	}
	if n := backendtest.Await(func() int { return strings.Count(backendtest.Stacks(), "backends/cassandra.(*Store)") }); n != 0 {
		t.Errorf("%d goroutines are in the store after Close:\n%s", n, backendtest.Stacks())
	}
	if err := backendtest.Commit(t, s, ts.insert(t, "ann", "2")); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("commit after Close: %v, want ErrClosed", err)
	}
	proxy := toxic.New(t, server.Addr)
	c := clusterOf(t, server.URL, "")
	c.Dialer = detour{addr: proxy.Addr()}
	session, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	mine, err := cassandra.New(t.Context(), session, &cassandra.Options{Keyspace: common})
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.Close(); err != nil {
		t.Error(err)
	}
	do(t, session, `SELECT key FROM system.local`)
	again, err := cassandra.New(t.Context(), session, &cassandra.Options{Keyspace: common})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	session.Close()
	if err := again.Define(t.Context(), ts.all()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("define on a session that its owner closed: %v, want ErrClosed", err)
	}
	if n := backendtest.Await(proxy.Links); n != 0 {
		t.Errorf("%d connections of the caller's session after its Close", n)
	}
}
