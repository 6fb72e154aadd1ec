package everystore

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

// run runs a test on every store, on each in a place of its own.
func run(t *testing.T, test func(t *testing.T, store *repo.Store)) {
	t.Helper()
	on := func(name string, open func(t *testing.T) *repo.Store) {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	for name, url := range map[string]string{"memory": "memory:", "pebble": "pebble:" + t.TempDir()} {
		on(name, func(t *testing.T) *repo.Store {
			store, err := backends.Open(context.Background(), url, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			return store
		})
	}
	for name, server := range map[string]testserver.Store{"redis": testserver.Redis, "mongo": testserver.Mongo, "cassandra": testserver.Cassandra} {
		on(name, func(t *testing.T) *repo.Store {
			url := testserver.Shared(t, server).URL
			if server == testserver.Cassandra {
				url += "?timeout=60s&connect_timeout=60s" // of a busy machine
			}
			return repo.NewStore(repotest.Isolated(t, url, backends.OpenDriver, nil), nil)
		})
	}
}
