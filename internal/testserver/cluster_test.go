package testserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/internal/testserver"
)

// A cluster takes writes to every slot, and goes on when a master is killed and when it returns.
func TestCluster(t *testing.T) {
	begun := time.Now()
	c := testserver.StartCluster(t, testserver.FailsOver...)
	t.Logf("%d servers after %.1f s", len(c.Nodes), time.Since(begun).Seconds())
	var addrs []string
	for _, s := range c.Nodes {
		addrs = append(addrs, s.Addr)
	}
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs, ClusterStateReloadInterval: 100 * time.Millisecond})
	defer client.Close()
	fill := func(name string) error {
		for i := range 100 {
			if err := client.Set(t.Context(), fmt.Sprint(name, i), "x", 0).Err(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := fill("a"); err != nil {
		t.Fatal(err)
	}
	for i, s := range c.Nodes {
		n, err := keysOf(t, s)
		for begun := time.Now(); err == nil && n < 10 && time.Since(begun) < 20*time.Second; n, err = keysOf(t, s) {
			time.Sleep(50 * time.Millisecond) // a replica follows its master some time later
		}
		if err != nil || n < 10 || n > 60 {
			t.Errorf("server %d has %d of 100 keys, %v; want about a third", i, n, err)
		}
	}
	c.Nodes[0].Kill9(t)
	err := fill("b")
	for begun := time.Now(); err != nil && time.Since(begun) < 20*time.Second; err = fill("b") {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("after a master was killed: %v", err)
	}
	c.Nodes[0].Restart(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.AwaitWhole(ctx); err != nil {
		t.Error(err)
	}
}

func keysOf(t *testing.T, s *testserver.Server) (int64, error) {
	t.Helper()
	one := goredis.NewClient(&goredis.Options{Addr: s.Addr})
	defer one.Close()
	return one.DBSize(t.Context()).Result()
}

// A master that does not answer for some seconds, as on a busy machine, keeps its place, unless the
// cluster was to be one that fails over.
func TestSlowMaster(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		keep bool
	}{"usual": {nil, true}, "fails over": {testserver.FailsOver, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testserver.StartCluster(t, tt.args...)
			replica := goredis.NewClient(&goredis.Options{Addr: c.Nodes[len(c.Nodes)/2].Addr})
			defer replica.Close()
			role := func() string {
				text, err := replica.Info(t.Context(), "replication").Result()
				if err != nil {
					t.Fatal(err)
				}
				_, text, _ = strings.Cut(text, "role:")
				return text[:strings.Index(text, "\r")]
			}
			c.Nodes[0].Pause(t)
			for begun := time.Now(); time.Since(begun) < 5*time.Second || !tt.keep && role() == "slave" && time.Since(begun) < time.Minute; {
				time.Sleep(100 * time.Millisecond)
			}
			c.Nodes[0].Resume(t)
			if got := role(); (got == "slave") != tt.keep {
				t.Errorf("the replica is %s after its master was silent for some seconds; want that it keeps its place: %v", got, tt.keep)
			}
		})
	}
}
