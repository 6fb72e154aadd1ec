package cassandra_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
)

// A dialer makes the connections of a client, and knows their ports.
type dialer struct {
	net.Dialer
	mu    sync.Mutex
	ports []int
}

// DialContext makes a connection.
func (d *dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, addr)
	if err == nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ports = append(d.ports, conn.LocalAddr().(*net.TCPAddr).Port)
	}
	return conn, err
}

// requests returns how many requests a server has counted on the connections.
func (d *dialer) requests(t *testing.T, session *gocql.Session) (sum int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	iter := session.Query(`SELECT port, request_count FROM system_views.clients`).IterContext(t.Context())
	for port, n := 0, 0; iter.Scan(&port, &n); {
		if slices.Contains(d.ports, port) {
			sum += n
		}
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return sum
}

// Events count the requests that the server has counted on the connections of the store.
func TestSent(t *testing.T) {
	t.Parallel()
	name, _, session := ownKeyspace(t)
	d := &dialer{}
	c := clusterOf(t, testserver.Shared(t, testserver.Cassandra).URL, "")
	c.Dialer, c.MaxWaitSchemaAgreement = d, 0
	own, err := c.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	s, err := cassandra.New(t.Context(), own, &cassandra.Options{Keyspace: name})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := func(t *testing.T) (n, _ int) { return d.requests(t, session), 0 }
	sent := &backendtest.Sent{Store: s, Got: got, Most: 257}
	sent.Check(t)
	sent.CheckLoad(t)
	(&backendtest.Sent{Store: s, Got: got, Most: 257, Native: true, Near: true}).Check(t)
}
