package testserver_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/testserver"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func TestShared(t *testing.T) {
	for _, store := range stores {
		t.Run(string(store), func(t *testing.T) {
			t.Parallel()
			s := testserver.Shared(t, store)
			c, key := dial(t, s), rand.Text()
			if got, err := c.get(t.Context(), key); !errors.Is(err, errAbsent) {
				t.Errorf("get before put = %q, %v, want %v", got, err, errAbsent)
			}
			if err := c.put(t.Context(), key, "v"); err != nil {
				t.Fatal(err)
			}
			if got, err := c.get(t.Context(), key); got != "v" || err != nil {
				t.Errorf("get = %q, %v, want v", got, err)
			}
			if again := testserver.Shared(t, store); again != s {
				t.Errorf("a second Shared gave %s, want %s again", again.URL, s.URL)
			}
		})
	}
}

// keeping is what a server is told so that it loses nothing when it is killed. The others need
// not be told.
var keeping = map[testserver.Store][]string{testserver.Redis: {"--appendfsync", "always"}}

func TestKill9AndRestartKeepData(t *testing.T) {
	for _, store := range stores {
		t.Run(string(store), func(t *testing.T) {
			t.Parallel()
			s := testserver.Start(t, store, keeping[store]...)
			if err := dial(t, s).put(t.Context(), "k", "v"); err != nil {
				t.Fatal(err)
			}
			s.Kill9(t)
			if reachable(s.Addr) {
				t.Errorf("%s answers after kill -9", s.Addr)
			}
			s.Restart(t) // of a killed server
			if got, err := dial(t, s).get(t.Context(), "k"); got != "v" || err != nil {
				t.Errorf("get after kill -9 = %q, %v, want v", got, err)
			}
			s.Restart(t) // of a running one
			if got, err := dial(t, s).get(t.Context(), "k"); got != "v" || err != nil {
				t.Errorf("get after restart = %q, %v, want v", got, err)
			}
		})
	}
}

// The control of the test above: a server that is told to keep nothing keeps nothing.
func TestKill9LosesWhatIsNotKept(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, testserver.Redis, "--appendonly", "no")
	if err := dial(t, s).put(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	s.Kill9(t)
	s.Restart(t)
	if got, err := dial(t, s).get(t.Context(), "k"); !errors.Is(err, errAbsent) {
		t.Errorf("get = %q, %v, want %v", got, err, errAbsent)
	}
}

func TestRedisArgs(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, testserver.Redis, "--appendfsync", "always")
	got, err := dialRedis(t, s.URL).ConfigGet(t.Context(), "append*").Result()
	if err != nil || got["appendonly"] != "yes" || got["appendfsync"] != "always" {
		t.Errorf("appendonly, appendfsync = %s, %s, %v, want yes, always", got["appendonly"], got["appendfsync"], err)
	}
}

func TestMongoArgs(t *testing.T) {
	t.Parallel()
	failPoint := func(args ...string) error {
		s := testserver.Start(t, testserver.Mongo, args...)
		return dialMongo(t, s.URL).Database("admin").RunCommand(t.Context(), bson.D{
			{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "off"},
		}).Err()
	}
	if err := failPoint("--setParameter", "enableTestCommands=1"); err != nil {
		t.Errorf("fail points with enableTestCommands: %v", err)
	}
	if err := failPoint(); err == nil {
		t.Error("fail points without enableTestCommands: no error")
	}
}

func TestCassandraArgs(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, testserver.Cassandra,
		"-Dcassandra.settings.commitlog_sync=periodic", "-Dcassandra.settings.commitlog_sync_period=10000ms")
	c := dialCassandra(t, s)
	for name, want := range map[string]string{"commitlog_sync": "periodic", "paxos_variant": "v2", "auto_snapshot": "false"} {
		var got string
		err := c.Query("SELECT value FROM system_views.settings WHERE name = ?", name).ScanContext(t.Context(), &got)
		if got != want || err != nil {
			t.Errorf("%s = %q, %v, want %s", name, got, err, want)
		}
	}
}

func TestSharedServerCannotBeKilled(t *testing.T) {
	s := testserver.Shared(t, testserver.Redis)
	for name, call := range map[string]func(testing.TB){"Kill9": s.Kill9, "Restart": s.Restart} {
		if got, want := fatal(call), "is shared with other tests: use Start"; !strings.Contains(got, want) {
			t.Errorf("%s of a shared server ended the test with %q, want %q", name, got, want)
		}
	}
	if !reachable(s.Addr) {
		t.Error("the shared server is gone")
	}
}

// A recorder is a test that notes why it was ended.
type recorder struct {
	testing.TB
	text string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.text = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// fatal returns what a call ends its test with.
func fatal(call func(testing.TB)) string {
	var r recorder
	done := make(chan struct{})
	go func() {
		defer close(done)
		call(&r)
	}()
	<-done
	return r.text
}

func reachable(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return false
	}
	c.Close()
	return true
}
