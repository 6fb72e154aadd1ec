package testserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// clusterVariable names a Redis Cluster for the tests, by a URL of one of its servers.
const clusterVariable = "POLYSTORE_TEST_REDIS_CLUSTER"

// shards is how many masters a cluster has; each has a replica.
const shards = 3

// A Cluster is a Redis Cluster of three masters with a replica each, as native processes,
// or the one that POLYSTORE_TEST_REDIS_CLUSTER names.
type Cluster struct {
	URL   string    // of one server, with those of all the others as the option addr
	Nodes []*Server // the masters, then their replicas in the same order; none if a variable names the cluster
}

// sharedCluster is the cluster of the tests of this process. It is made at the first use.
var sharedCluster = sync.OnceValues(func() (*Cluster, error) {
	l, err := newLauncher()
	if err != nil {
		return nil, err
	}
	if url := os.Getenv(clusterVariable); url != "" {
		return namedCluster(context.Background(), url)
	}
	c, err := l.cluster(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	for _, s := range c.Nodes {
		s.shared = true
	}
	return c, nil
})

// SharedCluster returns the cluster that all tests of this process share. Tests keep apart by
// using names of their own in it, and leave its servers and slots alone.
func SharedCluster(t testing.TB) *Cluster {
	t.Helper()
	c, err := sharedCluster()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// FailsOver are the args of a cluster whose replicas take the place of a master that does not answer
// for a second. On a busy machine that happens to one that is only slow, and what it had
// acknowledged may be lost, so that no other cluster has them.
var FailsOver = []string{"--cluster-node-timeout", "1000"}

// StartCluster starts a cluster for this test alone, whose servers the test may kill and restart.
// It is removed at the end of the test. Args go to every server after those that each gets.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	return own(t, func(l launcher) (*Cluster, error) { return l.cluster(t.Context(), args) })
}

// namedCluster returns the cluster that the variable names, after a round trip.
func namedCluster(ctx context.Context, url string) (*Cluster, error) {
	opts, err := goredis.ParseClusterURL(strings.Replace(url, "cluster=true", "", 1))
	if err != nil {
		return nil, fmt.Errorf("testserver: %s is not a URL of the form redis://HOST:PORT?cluster=true", clusterVariable)
	}
	client := goredis.NewClusterClient(opts)
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("testserver: %s names %s, which cannot be used: %s; start a cluster there or unset the variable",
			clusterVariable, address(url), redact(err.Error(), url))
	}
	return &Cluster{URL: url}, nil
}

// cluster starts the servers of a cluster and makes them one.
func (l launcher) cluster(ctx context.Context, args []string) (*Cluster, error) {
	c := &Cluster{}
	host := loopback()
	for range 2 * shards {
		s, err := l.member(ctx, host, args)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.Nodes = append(c.Nodes, s)
	}
	c.URL = "redis://" + c.Nodes[0].Addr + "?cluster=true"
	for _, s := range c.Nodes[1:] {
		c.URL += "&addr=" + s.Addr
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.join(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("testserver: start a cluster of redis: %w; the end of a log:\n%s", err, c.Nodes[0].process.tail()), c.close())
	}
	return c, nil
}

// member starts a server that is to become part of a cluster.
func (l launcher) member(ctx context.Context, host string, args []string) (*Server, error) {
	more := func(addr string) []string {
		return append([]string{
			"--cluster-enabled", "yes", "--cluster-announce-ip", host, "--cluster-port", strconv.Itoa(1 + portOf(addr)),
			"--cluster-node-timeout", "120000", "--repl-diskless-sync-delay", "0",
		}, args...)
	}
	return l.tries(func() (*Server, error) { return l.attempt(ctx, nil, redisKind(), host, more) })
}

func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port)
	return n
}

// join makes the servers a cluster and returns when each of them says that it is whole and the
// replicas have their masters' data.
func (c *Cluster) join(ctx context.Context) error {
	ids := make([]string, len(c.Nodes))
	for i, s := range c.Nodes {
		if err := s.ask(ctx, &ids[i], "cluster", "myid"); err != nil {
			return err
		}
		if err := s.ask(ctx, nil, "cluster", "set-config-epoch", i+1); err != nil {
			return err
		}
		if i < shards {
			if err := s.ask(ctx, nil, "cluster", "addslotsrange", 16384*i/shards, 16384*(i+1)/shards-1); err != nil {
				return err
			}
		}
	}
	host, _, _ := net.SplitHostPort(c.Nodes[0].Addr)
	for _, s := range c.Nodes[1:] {
		port := portOf(s.Addr)
		if err := c.Nodes[0].ask(ctx, nil, "cluster", "meet", host, port, port+1); err != nil {
			return err
		}
	}
	if err := await(ctx, "cluster info", fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes)), c.Nodes); err != nil {
		return err
	}
	for i, s := range c.Nodes[shards:] {
		if err := s.ask(ctx, nil, "cluster", "replicate", ids[i]); err != nil {
			return err
		}
	}
	return c.AwaitWhole(ctx)
}

// AwaitWhole returns when every server says that the cluster is whole, and every replica that it
// has its master's data.
func (c *Cluster) AwaitWhole(ctx context.Context) error {
	if err := await(ctx, "cluster info", "cluster_state:ok", c.Nodes); err != nil {
		return err
	}
	for _, s := range c.Nodes {
		var text string
		if err := s.ask(ctx, &text, "info", "replication"); err != nil {
			return err
		}
		want := "state=online"
		if strings.Contains(text, "role:slave") {
			want = "master_link_status:up"
		}
		if err := await(ctx, "info replication", want, []*Server{s}); err != nil {
			return err
		}
	}
	return nil
}

// await asks servers until the answer of each has a text in it.
func await(ctx context.Context, command, want string, servers []*Server) error {
	var words []any
	for word := range strings.FieldsSeq(command) {
		words = append(words, word)
	}
	for _, s := range servers {
		for {
			var text string
			err := s.ask(ctx, &text, words...)
			if err == nil && strings.Contains(text, want) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s of %s lacks %s: %s", command, s.Addr, want, text)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// ask sends a command to a server of Redis; text, unless it is nil, is set to the answer.
func (s *Server) ask(ctx context.Context, text *string, words ...any) error {
	client := goredis.NewClient(&goredis.Options{Addr: s.Addr, Protocol: 2, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	defer client.Close()
	got, err := client.Do(ctx, words...).Result()
	if err != nil {
		return fmt.Errorf("%v at %s: %w", words, s.Addr, err)
	}
	if text != nil {
		*text = fmt.Sprint(got)
	}
	return nil
}

// close kills the servers and removes what they left.
func (c *Cluster) close() error {
	var errs []error
	for _, s := range slices.Backward(c.Nodes) {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}
