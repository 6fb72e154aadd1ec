package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
)

func TestMaintain(t *testing.T) {
	type session struct {
		ID      string    `repo:"id"`
		Expires time.Time `repo:",expires"`
	}
	dir := filepath.Join(t.TempDir(), "db")
	backend, err := pebble.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := repo.NewStore(backend, nil)
	sessions, err := repo.Open[session](t.Context(), store, repo.Schema{Collection: "sessions", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for id, expires := range map[string]time.Time{"old": now.Add(-time.Hour), "older": now.Add(-2 * time.Hour), "new": now.Add(time.Hour)} {
		if err := sessions.Insert(t.Context(), &session{id, expires}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"sessions: removed 2 expired records, 0 tombstones, 0 rows", "sessions: removed 0 expired"} {
		if code, out, diag := do(t, "maintain", "pebble:"+dir, "sessions"); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("exit %d, %q, %q; want %q", code, out, diag, want)
		}
	}
	if code, _, diag := do(t, "maintain", "pebble:"+dir, "nothing"); code != loadtest.Usage || !strings.Contains(diag, "no such collection") {
		t.Errorf("maintain of no collection: exit %d, %q", code, diag)
	}
}
