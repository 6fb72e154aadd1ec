package cassandra_test

import (
	"testing"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/backends/cassandra"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
)

// connections returns how many requests each connection to the server has made, by port.
func connections(t *testing.T, session *gocql.Session) map[int]int {
	t.Helper()
	counts := map[int]int{}
	iter := session.Query(`SELECT port, request_count FROM system_views.clients`).IterContext(t.Context())
	var port, n int
	for iter.Scan(&port, &n) {
		counts[port] = n
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return counts
}

// Events count the requests that the server has counted on the connections of the store. The server is its own: when
// others change the schema of one, clients ask it again for what they have prepared.
func TestSent(t *testing.T) {
	t.Parallel()
	server := testserver.Start(t, testserver.Cassandra).URL
	url, session := at(server, "sent"), raw(t, server, "")
	others := connections(t, session)
	s, err := cassandra.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := func(t *testing.T) (n, _ int) {
		t.Helper()
		for port, requests := range connections(t, session) {
			if _, ok := others[port]; !ok {
				n += requests
			}
		}
		return n, 0
	}
	sent := &backendtest.Sent{Store: s, Got: got, Most: 257}
	sent.Check(t)
	sent.CheckLoad(t)
	(&backendtest.Sent{Store: s, Got: got, Most: 257, Native: true, Near: true}).Check(t)
}
