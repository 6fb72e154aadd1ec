package testserver_test

import (
	"net"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/testserver"
)

// closed returns an address at which nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// shared runs TestShared of a store in a process whose variable has the value.
func shared(t *testing.T, store testserver.Store, value string) (output string, err error) {
	t.Helper()
	env := []string{store.Variable() + "=" + value}
	out, err := again(t, env, "-test.run=^TestShared$/^"+string(store)+"$").CombinedOutput()
	return string(out), err
}

func TestServerThatAVariableNames(t *testing.T) {
	for _, store := range stores {
		t.Run(string(store), func(t *testing.T) {
			t.Parallel()
			s := testserver.Shared(t, store)
			if out, err := shared(t, store, s.URL); err != nil {
				t.Errorf("a variable that names %s: %v\n%s", s.URL, err, out)
			}
		})
	}
}

func TestServerThatAVariableNamesInVain(t *testing.T) {
	addr := closed(t)
	for _, tt := range []struct {
		name       string
		store      testserver.Store
		url, where string
	}{
		{"redis nobody there", testserver.Redis, "redis://u:s3cret@" + addr + "/0", addr},
		{"redis bad number", testserver.Redis, "redis://u:s3cret@" + addr + "/no-number", addr},
		{"redis bad escape", testserver.Redis, "redis://u:s3cret%zz@" + addr + "/0", addr},
		{"redis no URL", testserver.Redis, "s3cret", "redis://HOST:PORT/0"},
		{"mongo nobody there", testserver.Mongo, "mongodb://u:s3cret@" + addr + "/?replicaSet=rs0", addr},
		{"mongo bad escape", testserver.Mongo, "mongodb://u:s3cret@" + addr + "/?replicaSet=rs0&w=s3cret%zz", addr},
		{"mongo other scheme", testserver.Mongo, "redis://u:s3cret@" + addr, "mongodb://HOST:PORT/?replicaSet=rs0"},
		{"cassandra nobody there", testserver.Cassandra, "cassandra://u:s3cret@" + addr + "/", addr},
		{"cassandra bad port", testserver.Cassandra, "cassandra://u:s3cret@" + addr + ":1:2/", addr},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := shared(t, tt.store, tt.url)
			if err == nil || !strings.Contains(out, "--- FAIL: TestShared/"+string(tt.store)) {
				t.Errorf("the test did not fail: %v\n%s", err, out)
			}
			if !strings.Contains(out, tt.store.Variable()) || !strings.Contains(out, tt.where) {
				t.Errorf("the message names not both %s and %s:\n%s", tt.store.Variable(), tt.where, out)
			}
			if strings.Contains(out, "s3cret") {
				t.Errorf("the message has the password:\n%s", out)
			}
		})
	}
}

func TestVariableThatNamesAnotherStore(t *testing.T) {
	s := testserver.Shared(t, testserver.Redis)
	out, err := shared(t, testserver.Mongo, "mongodb://"+s.Addr)
	if err == nil || !strings.Contains(out, testserver.Mongo.Variable()+" names "+s.Addr) {
		t.Errorf("a Redis named as MongoDB: %v\n%s", err, out)
	}
}
