//go:build unix

package versions_test

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/raw"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

var (
	lasts = flag.Duration("for", 0, "how long programs write on each store; 0 is one cycle")
	dies  = flag.Bool("servers-die", false, "the servers are the test's own, and are killed twice")
)

// keyspace is where the collections are, on MongoDB and Cassandra.
const keyspace = "versions"

// Programs of several versions write while indexes are added, changed, dropped and taken back on genuine servers.
func TestVersions(t *testing.T) {
	for name, play := range map[string]func(t *testing.T) *roll{"redis": onRedis, "redis cluster": onCluster, "mongo": onMongo, "cassandra": onCassandra} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t).play()
		})
	}
}

func onRedis(t *testing.T) *roll {
	s, kill := server(t, testserver.Redis, "--appendfsync", "always")
	return newRoll(t, &roll{url: s.URL, kill: kill, source: func() (*raw.Source, error) { return raw.Redis(s.URL) }})
}

func onCluster(t *testing.T) *roll {
	r := &roll{}
	c := testserver.SharedCluster
	if *dies {
		c = func(t testing.TB) *testserver.Cluster { return testserver.StartCluster(t, "--appendfsync", "always") }
	}
	cluster, killed := c(t), 0
	if *dies {
		r.kill = func() { // another master each time
			s := cluster.Nodes[killed]
			killed++
			s.Kill9(t)
			s.Restart(t)
			if err := cluster.AwaitWhole(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.url, r.source = cluster.URL, func() (*raw.Source, error) { return raw.RedisCluster(cluster.URL) }
	return newRoll(t, r)
}

func onMongo(t *testing.T) *roll {
	s, kill := server(t, testserver.Mongo)
	option := "?database="
	if strings.Contains(s.URL, "?") {
		option = "&database="
	}
	return newRoll(t, &roll{url: s.URL + option + keyspace, kill: kill, slow: true, source: func() (*raw.Source, error) { return raw.Mongo(s.URL, keyspace) }})
}

func onCassandra(t *testing.T) *roll {
	s, kill := server(t, testserver.Cassandra)
	url := strings.TrimSuffix(s.URL, "/") + "/" + keyspace + "?replication=1"
	return newRoll(t, &roll{url: url, kill: kill, slow: true, source: func() (*raw.Source, error) { return raw.Cassandra(s.URL, keyspace) }})
}

// server returns a server, and what kills and restarts it if it may be killed, which is one that keeps with these
// arguments all that it has acknowledged.
func server(t *testing.T, store testserver.Store, durable ...string) (*testserver.Server, func()) {
	t.Helper()
	if !*dies {
		return testserver.Shared(t, store), nil
	}
	s := testserver.Start(t, store, durable...)
	return s, func() { s.Kill9(t); s.Restart(t) }
}

// newRoll completes a roll with a collection of its own.
func newRoll(t *testing.T, r *roll) *roll {
	t.Helper()
	store, err := backends.Open(t.Context(), r.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.t, r.store, r.collection = t, store, "versions"+strings.ToLower(driver.NewToken().String()[:12])
	facts := store.Facts()
	r.apart, r.keeps = facts.Scope == driver.ScopePartition, facts.PrefersNative
	t.Cleanup(func() {
		if err := repo.DropCollection(context.WithoutCancel(t.Context()), store, r.collection); err != nil {
			t.Error(err)
		}
		store.Close()
	})
	return r
}

// insists calls do until it does not fail for a server that is away, which it does not for ever.
func insists(do func() error) error {
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if err := do(); !passes(err) && !isUnknown(err) || time.Now().After(end) {
			return err
		}
	}
}
