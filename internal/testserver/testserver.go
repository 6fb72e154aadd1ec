// Package testserver gives tests real Redis, MongoDB and Cassandra servers.
//
// A server shared by the tests of a process is, in this order,
//
//   - the one that POLYSTORE_TEST_REDIS, POLYSTORE_TEST_MONGO or POLYSTORE_TEST_CASSANDRA names,
//     as a URL; one that is named and cannot be used fails the test,
//   - a container of a pinned image, where a Docker engine answers on this machine,
//   - a native process that scripts/servers starts, after it was installed with it.
//
// A Redis Cluster is the one that POLYSTORE_TEST_REDIS_CLUSTER names, or six native processes;
// a ring of three Cassandra nodes and a replica set of three MongoDB servers are native processes.
//
// Servers listen on loopback only. They are killed and their folders removed when the process
// that started them ends, however it ends: by returning, a panic, os.Exit, Ctrl-C or kill -9.
//
// "scripts/servers run -- go test ./..." starts the three servers once for the tests of all packages.
package testserver

import (
	"context"
	"sync"
	"syscall"
	"testing"
)

// A Server is a running store.
type Server struct {
	Store Store
	URL   string // as programs are given it: redis://…, mongodb://… or cassandra://…
	Addr  string // host:port; several with commas where a variable names several

	kind    kind
	process process // nil where a variable names the server
	guard   *guard
	ended   <-chan struct{} // closed when the process has ended
	shared  bool
}

// shared holds the servers that the tests of this process share. Package state, because
// nothing else is common to the tests of a process; it is made at the first use.
var shared = map[Store]func() (*Server, error){
	Redis:     sync.OnceValues(func() (*Server, error) { return openShared(Redis) }),
	Mongo:     sync.OnceValues(func() (*Server, error) { return openShared(Mongo) }),
	Cassandra: sync.OnceValues(func() (*Server, error) { return openShared(Cassandra) }),
}

func openShared(store Store) (*Server, error) {
	l, err := newLauncher()
	if err != nil {
		return nil, err
	}
	s, err := l.open(context.Background(), store)
	if err != nil {
		return nil, err
	}
	s.shared = true
	return s, nil
}

// Shared returns the server that all tests of this process share. Tests keep apart by using
// names of their own in it. It fails the test when there is no server to be had.
func Shared(t testing.TB, store Store) *Server {
	t.Helper()
	s, err := shared[store]()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Start starts a server for this test alone, whatever the variables say, which the test may kill
// and restart. It is removed at the end of the test. Args go to the server after those that every
// server gets, in its own words: --appendfsync always for Redis, --setParameter
// enableTestCommands=1 for MongoDB, -Dcassandra.settings.KEY=VALUE for Cassandra.
func Start(t testing.TB, store Store, args ...string) *Server {
	t.Helper()
	return start(t, store.kind(), args)
}

// StartStandalone is Start for a MongoDB server that is no replica set.
func StartStandalone(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, standaloneKind(), args)
}

func start(t testing.TB, k kind, args []string) *Server {
	t.Helper()
	return own(t, func(l launcher) (*Server, error) { return l.launch(t.Context(), k, args) })
}

// own starts servers for this test alone, which are closed at its end.
func own[T interface{ close() error }](t testing.TB, launch func(launcher) (T, error)) T {
	t.Helper()
	l, err := newLauncher()
	if err != nil {
		t.Fatal(err)
	}
	s, err := launch(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// Kill9 kills the server without warning and returns when it has ended. Its data stays.
func (s *Server) Kill9(t testing.TB) {
	t.Helper()
	s.mustOwn(t)
	if err := s.end(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// Restart starts the server on the data and at the address it had, after an orderly stop if it
// still runs, and returns when it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.mustOwn(t)
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Pause makes the server stand still, with its connections open, until Resume or its end.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.mustOwn(t)
	if err := s.process.signal(suspend); err != nil {
		t.Fatal(err)
	}
}

// Resume makes a server go on that was paused.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.mustOwn(t)
	if err := s.process.signal(proceed); err != nil {
		t.Fatal(err)
	}
}

func (s *Server) mustOwn(t testing.TB) {
	t.Helper()
	if s.shared || s.process == nil {
		t.Fatalf("testserver: %s at %s is shared with other tests: use Start", s.Store, s.Addr)
	}
}

// Image returns the container image, with its tag, that stands for the store where a Docker
// engine answers.
func (s Store) Image() string { return s.kind().image }
