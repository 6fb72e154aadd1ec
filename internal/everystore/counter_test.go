package everystore

import (
	"context"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

// A count is one request, by Patch where a commit whose answer is lost is certain all the same, and by PatchBlind on every
// store; Patch reads the record first on the others.
func TestCountRequests(t *testing.T) {
	var requests int
	opts := &repo.Options{Tracer: repo.Tracer{Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
		return ctx, func(e repo.Event) { requests = e.Requests }
	}}}
	count := func(t *testing.T, store *repo.Store, patch int) {
		accounts := good(repo.Open[account](t.Context(), store, accountsSchema))(t)
		must(t, accounts.Put(t.Context(), &account{Bank: "b", No: 1}))
		for n := range 3 { // at the first a server may have to be given its scripts
			good(accounts.Patch(t.Context(), repo.Key{"b", 1}, repo.Add("cents", 1)))(t)
			if n > 0 && requests != patch {
				t.Errorf("Patch took %d requests, want %d", requests, patch)
			}
			good(accounts.PatchBlind(t.Context(), repo.Key{"b", 1}, repo.Add("cents", 1)))(t)
			if n > 0 && requests != 1 {
				t.Errorf("PatchBlind took %d requests, want 1", requests)
			}
		}
	}
	for name, url := range map[string]string{"memory": "memory:", "pebble": "pebble:" + t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			store := good(backends.Open(context.Background(), url, opts))(t)
			t.Cleanup(func() { store.Close() })
			count(t, store, 1)
		})
	}
	t.Run("redis", func(t *testing.T) {
		count(t, repo.NewStore(repotest.Isolated(t, testserver.Shared(t, testserver.Redis).URL, backends.OpenDriver, nil), opts), 2)
	})
}
