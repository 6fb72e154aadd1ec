package repo_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A distant store is one that others can write to as well, and keeps the first op of
// the last commit.
type distant struct {
	driver.Store
	first driver.Op
}

func (d *distant) Facts() driver.Facts {
	f := d.Store.Facts()
	f.OneProcess = false
	return f
}

func (d *distant) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	d.first = ops[0]
	d.first.Edits = slices.Clone(ops[0].Edits)
	return d.Store.Commit(ctx, token, ops)
}

type note struct {
	ID      string         `repo:"id"`
	Title   string         `repo:"title"`
	Body    string         `repo:"body"`
	Tags    []string       `repo:"tags"`
	Stars   *int64         `repo:"stars"`
	Until   time.Time      `repo:"until,expires"`
	Other   map[string]any `repo:",extra"`
	Version repo.Version   `repo:",version"`
}

func openNotes(t *testing.T, backend driver.Store) *repo.Repo[note] {
	t.Helper()
	store := repo.NewStore(backend, nil)
	t.Cleanup(func() { store.Close() })
	notes, err := repo.Open[note](t.Context(), store, repo.Schema{Collection: "notes", Partition: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"title"}}, {Partition: []string{"tags[]"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

// An update sends a store on another machine what differs, and leaves the same
// record as one that is sent whole.
func TestUpdateSendsDifferences(t *testing.T) {
	backend := &distant{Store: memory.New(&memory.Options{Uncertain: true})}
	far, near := openNotes(t, backend), openNotes(t, memory.New(nil))
	five, soon := int64(5), time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC()
	many := map[string]any{}
	for i := range 70 {
		many[fmt.Sprint("f", i)] = int64(i)
	}
	for _, tt := range []struct {
		name   string
		change func(*note)
		edits  int // -1: sent whole
		meta   bool
	}{
		{"a field", func(n *note) { n.Body = "other" }, 1, false},
		{"a key of an index", func(n *note) { n.Title = "other" }, 1, false},
		{"a list", func(n *note) { n.Tags = []string{"b", "c"} }, 1, false},
		{"a field that comes", func(n *note) { n.Stars = &five }, 1, false},
		{"a field that goes", func(n *note) { n.Stars = nil }, 1, false},
		{"undeclared fields", func(n *note) { n.Other = map[string]any{"x": int64(1), "y": "2"} }, 2, false},
		{"one that stays, one that goes, one that comes", func(n *note) { n.Other = map[string]any{"y": "2", "z": true} }, 2, false},
		{"the expiry, and a field", func(n *note) { n.Until, n.Body = soon, "short" }, 1, true},
		{"the expiry alone", func(n *note) { n.Until = time.Time{} }, -1, false},
		{"nothing", func(*note) {}, -1, false},
		{"very much", func(n *note) { n.Other = many }, -1, false},
	} {
		for _, notes := range []*repo.Repo[note]{far, near} {
			if tt.name == "a field" {
				if err := notes.Insert(t.Context(), &note{ID: "1", Title: "t", Body: "b", Tags: []string{"a", "b"}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := notes.Update(t.Context(), repo.Key{"1"}, func(n *note) error { tt.change(n); return nil }); err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
		}
		switch op := &backend.first; {
		case tt.edits < 0 && op.Do != driver.Put:
			t.Errorf("%s: sent as %s, want put", tt.name, op.Do)
		case tt.edits >= 0 && (op.Do != driver.Patch || len(op.Edits) != tt.edits || op.PatchMeta != tt.meta || op.If != driver.AtRev):
			t.Errorf("%s: sent as %s if %s of %d fields (expiry %v), want patch if at rev of %d (%v)", tt.name, op.Do, op.If, len(op.Edits), op.PatchMeta, tt.edits, tt.meta)
		}
		got, want := mustGet(t, far), mustGet(t, near)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the record (-sent whole +sent in part):\n%s", tt.name, diff)
		}
	}
	reports, err := far.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if !r.Clean() {
			t.Errorf("verify: %+v", r)
		}
	}
}

func mustGet(t *testing.T, notes *repo.Repo[note]) note {
	t.Helper()
	n, err := notes.Get(t.Context(), repo.Key{"1"})
	if err != nil {
		t.Fatal(err)
	}
	n.Version = repo.Version{}
	return n
}
