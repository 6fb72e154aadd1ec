package testserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/cassandra-gocql-driver/v2"
)

// tokens are where the nodes of a ring begin: each has a third of it.
var tokens = [...]string{"-9223372036854775808", "-3074457345618258603", "3074457345618258602"}

// A Ring is a cluster of three Cassandra nodes, as native processes with half a GiB of heap each.
type Ring struct {
	URL   string // of all three, with the path /
	Nodes []*Server
}

// StartRing starts a ring for this test alone, whose nodes the test may pause, kill and restart.
// It is removed at the end of the test. Args go to every node after those that each gets.
func StartRing(t testing.TB, args ...string) *Ring {
	t.Helper()
	return own(t, func(l launcher) (*Ring, error) { return l.ring(t.Context(), args) })
}

// ring starts the first node, and then the others, which are told of it: at the same ports of
// the next addresses, as nodes expect of each other.
func (l launcher) ring(ctx context.Context, args []string) (*Ring, error) {
	ip := net.ParseIP(loopback()).To4()
	ip[3] = 1
	first, err := l.tries(func() (*Server, error) { return l.node(ctx, ip.String(), ip.String(), 0, args) })
	if err != nil {
		return nil, err
	}
	r := &Ring{Nodes: []*Server{first, nil, nil}}
	_, port, _ := net.SplitHostPort(first.Addr)
	l.choose = func(host string) (string, error) { return net.JoinHostPort(host, port), nil }
	errs := make([]error, len(tokens))
	var wg sync.WaitGroup
	for i := 1; i < len(tokens); i++ {
		next := net.IPv4(ip[0], ip[1], ip[2], byte(1+i)).String()
		wg.Go(func() { r.Nodes[i], errs[i] = l.node(ctx, next, ip.String(), i, args) })
	}
	wg.Wait()
	err = errors.Join(errs...)
	if err == nil {
		err = r.AwaitWhole(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	r.URL = "cassandra://" + r.Nodes[0].Addr + "," + r.Nodes[1].Addr + "," + r.Nodes[2].Addr + "/"
	return r, nil
}

// node starts the i-th node of a ring.
func (l launcher) node(ctx context.Context, host, seed string, i int, args []string) (*Server, error) {
	return l.attempt(ctx, nil, cassandraKind(), host, func(string) []string {
		return append([]string{"-Dpolystore.seed=" + seed, "-Dcassandra.initial_token=" + tokens[i]}, args...)
	})
}

// AwaitWhole returns when every node knows both others and has the same schema as they.
func (r *Ring) AwaitWhole(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, s := range r.Nodes {
		for {
			missing := s.lacksPeers(ctx)
			if missing == nil {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("testserver: a ring of cassandra: %s: %w", s.Addr, missing)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// lacksPeers says what a node does not know of the others.
func (s *Server) lacksPeers(ctx context.Context) error {
	cluster, err := cassandraCluster(s.URL)
	if err != nil {
		return err
	}
	cluster.HostFilter = gocql.WhiteListHostFilter(strings.Split(s.Addr, ":")[0])
	session, err := cluster.CreateSession()
	if err != nil {
		return err
	}
	defer func() { go session.Close() }() // where a server was restarted it can wait for ever
	var own, version string
	if err := session.Query("SELECT schema_version FROM system.local").ScanContext(ctx, &own); err != nil {
		return err
	}
	iter := session.Query("SELECT schema_version FROM system.peers_v2").IterContext(ctx)
	peers := 0
	for iter.Scan(&version) {
		if version == own {
			peers++
		}
	}
	if err := iter.Close(); err != nil {
		return err
	}
	if peers != len(tokens)-1 {
		return fmt.Errorf("it agrees with %d other nodes", peers)
	}
	return nil
}

// close kills the nodes and removes what they left.
func (r *Ring) close() error {
	var errs []error
	for _, s := range slices.Backward(r.Nodes) {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}
