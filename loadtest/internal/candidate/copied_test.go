package candidate

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// copying returns a candidate with copies on a store that commits so much at a time, loaded, and its data.
func copying(t *testing.T, scope driver.Scope) (*Candidate, *workload.Workload, []*generate.Table) {
	t.Helper()
	return opened(t, memory.New(&memory.Options{Scope: &scope}), 1)
}

// opened returns a candidate of authors with the model at an index, loaded, and its data.
func opened(t *testing.T, d driver.Store, model int) (*Candidate, *workload.Workload, []*generate.Table) {
	t.Helper()
	w := testload.Parsed(t, workload.Parse, testload.Authors)
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), "memory:", "memory:", func(context.Context, string) (driver.Store, error) {
		return d, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := New(w, s, w.Models[model], "")
	if err := c.Open(t.Context(), w, store.CandidateSpace("load_x", 1)); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(t.Context(), w, tables, &progress.Log{Out: io.Discard}).Rest(); err != nil {
		t.Fatal(err)
	}
	return c, w, tables
}

// spoiled gives a post a copy that is that of nobody, by the plain repository.
func spoiled(t *testing.T, c *Candidate) {
	t.Helper()
	for rec, err := range c.Stored(t.Context(), 2) {
		if err != nil {
			t.Fatal(err)
		}
		if rec["author_name"] != nil {
			if _, err := c.repos[2].Patch(t.Context(), repo.Key{rec["category"], rec["id"]}, repo.Set("author_name", "nobody")); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no post has a copy")
}

// Copies are loaded with their records, a copy that differs after the run is found, and restoring mends it.
func TestCopiesAreVerified(t *testing.T) {
	for _, scope := range []driver.Scope{driver.ScopeStore, driver.ScopePartition} {
		c, w, tables := copying(t, scope)
		if err := c.Verify(t.Context()); err != nil {
			t.Errorf("as loaded: %v", err)
		}
		spoiled(t, c)
		err := c.Verify(t.Context())
		if _, wrong := errors.AsType[*failure.WrongAnswers](err); !wrong || !strings.Contains(err.Error(), "after the run copies differ from their sources in 1 record of posts of copies; the first is ") {
			t.Errorf("got %v, want WrongAnswers about the copy", err)
		}
		if err := c.Restore(t.Context(), w, tables); err != nil {
			t.Fatal(err)
		}
		if err := c.Verify(t.Context()); err != nil {
			t.Errorf("restored: %v", err)
		}
	}
}

// What an operation left due which was cut off follows before copies are verified.
func TestDueCopiesFollow(t *testing.T) {
	c, w, _ := copying(t, driver.ScopePartition)
	for rec, err := range c.Stored(t.Context(), 2) {
		if err != nil {
			t.Fatal(err)
		}
		if rec["author_name"] == nil {
			continue
		}
		_, err = c.copied.sources[1].Update(t.Context(), repo.Key{rec["author"]}, func(user *map[string]any) error {
			(*user)["name"] = "another"
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	if err := c.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	n := 0
	for rec, err := range c.Stored(t.Context(), 2) {
		if err == nil && rec["author_name"] == "another" {
			n++
		}
	}
	if due, err := c.copied.sources[1].Due(t.Context()); n == 0 || due.Count > 0 || err != nil {
		t.Errorf("%d copies followed of %s, %d are due: %v", n, w.Name, due.Count, err)
	}
}
