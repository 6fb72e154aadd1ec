package tree_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// Errors name nodes and trees, unless the store's errors are redacted. What they are is the same.
func TestRedact(t *testing.T) {
	for _, s := range all {
		for _, redact := range []bool{true, false} {
			schema := tree.Schema{Collection: "c", Strategy: s, Name: "name", Also: all}
			f, err := tree.Open[category](t.Context(), repo.NewStore(memory.New(nil), &repo.Options{Redact: redact}), schema)
			if err != nil {
				t.Fatal(err)
			}
			for call, err := range secretErrors(t, f.Tree("secret-tree")) {
				switch {
				case err == nil:
					t.Errorf("%s, %s: no error", s, call)
				case strings.Contains(err.Error(), "secret") == redact:
					t.Errorf("%s, redacted %v: %s: %v", s, redact, call, err)
				case strings.Contains(err.Error(), "of the group"):
					t.Errorf("%s: %s: %v", s, call, err)
				}
			}
		}
	}
}

// secretErrors returns the errors of calls about nodes and names that nobody is to read.
func secretErrors(t *testing.T, tr *tree.Tree[category]) map[string]error {
	plant(t, tr, "secret-root secret-leaf<secret-root")
	ctx := t.Context()
	rec := func(id, parent string) *category { return &category{Node: tree.Node{ID: id, Parent: parent}} }
	load := func(rec *category) error {
		_, err := tr.Load(ctx, func(yield func(category, error) bool) { yield(*rec, nil) })
		return err
	}
	calls := map[string]error{
		"insert":      tr.Insert(ctx, tree.After("secret-sibling"), rec("secret-id", "")),
		"insert long": tr.Insert(ctx, tree.Under("secret-leaf"), rec("secret-root", "")),
		"under":       tr.Insert(ctx, tree.Under("secret-parent"), rec("secret-id", "")),
		"move":        tr.Move(ctx, "secret-root", tree.Under("secret-root")),
		"delete":      tr.Delete(ctx, "secret-root"),
		"lift":        tr.Lift(ctx, "secret-id"),
		"load":        load(rec("secret-id", "secret-parent")),
		"load again":  load(rec("secret-root", "")),
	}
	_, calls["get"] = tr.Get(ctx, "secret-id")
	_, calls["find"] = tr.Find(ctx, "secret-name")
	_, calls["common"] = tr.CommonAncestor(ctx, "secret-root", "secret-id")
	_, calls["descendants"] = tr.Count(ctx, "secret-id")
	_, calls["update"] = tr.Update(ctx, "secret-leaf", func(c *category) error { c.Parent = "secret"; return nil })
	for call, err := range calls {
		if e, ok := errors.AsType[*repo.Error](err); !ok || e.Op == "" || !errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrExists) && !errors.Is(err, repo.ErrInvalid) && !errors.Is(err, tree.ErrHasChildren) {
			t.Errorf("%s: %v", call, err)
		}
	}
	return calls
}
