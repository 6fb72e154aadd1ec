package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

type department struct {
	tree.Node
	Name string `repo:"name"`
}

// planted makes a Pebble store with a forest, and returns its directory.
func planted(t *testing.T, schema tree.Schema, damage bool) string {
	t.Helper()
	dir, ctx := filepath.Join(t.TempDir(), "db"), t.Context()
	backend, err := pebble.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := repo.NewStore(backend, nil)
	schema.Collection = "departments"
	forest, err := tree.Open[department](ctx, store, schema)
	if err != nil {
		t.Fatal(err)
	}
	company := forest.Tree("company")
	for _, one := range [][3]string{{"", "it", "IT"}, {"it", "web", "Web"}, {"web", "a b", "Front\nend"}, {"", "sales", "Sales"}} {
		if err := company.Insert(ctx, tree.Under(one[0]), &department{Node: tree.Node{ID: one[1]}, Name: one[2]}); err != nil {
			t.Fatal(err)
		}
	}
	if damage {
		if _, err := forest.Nodes().Patch(ctx, repo.Key{"company", "web"}, repo.Set("parent", "nobody")); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return "pebble:" + dir
}

func TestTree(t *testing.T) {
	for name, schema := range map[string]tree.Schema{
		"adjacency": {}, "path": {Strategy: tree.Path, Name: "name"}, "ancestors": {Strategy: tree.Ancestors},
		"nested_sets": {Strategy: tree.NestedSets}, "document": {Strategy: tree.Document},
		"spread": {Strategy: tree.Adjacency, Spread: true, Also: []tree.Strategy{tree.Ancestors}, Name: "name"},
	} {
		url, strategy := planted(t, schema, false), strings.Replace(name, "spread", "adjacency", 1)
		for _, tt := range []struct {
			args []string
			want string
		}{
			{nil, "company  " + strategy + "\n"},
			{[]string{"company", "--show", "name"}, "it  IT\n  web  Web\n    a b  \"Front\\nend\"\nsales  Sales\ncompany: " + strategy + ", 4 nodes, 0 problems\n"},
			{[]string{"company", "--depth", "1"}, "it\nsales\ncompany: " + strategy + ", 2 nodes in the first 1 levels, 0 problems\n"},
		} {
			code, out, diag := do(t, append([]string{"tree", url, "departments"}, tt.args...)...)
			if code != 0 || out != tt.want {
				t.Errorf("%s %q: exit %d, %q, %q; want %q", name, tt.args, code, out, diag, tt.want)
			}
		}
	}
}

func TestDamagedTree(t *testing.T) {
	url := planted(t, tree.Schema{}, true)
	code, out, diag := do(t, "tree", url, "departments", "company")
	if code != loadtest.Missed || !strings.Contains(out, "2 nodes, 2 problems\n") || !strings.Contains(out, `web: its ancestor "nobody" is not there; move or delete it`) {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
}

func TestTreeRefusals(t *testing.T) {
	url := planted(t, tree.Schema{}, false)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{url, "nothing"}, "no such collection"},
		{[]string{url, "departments_trees"}, "no nodes of trees"},
		{[]string{url, "departments", "company", "--depth", "-1"}, "--depth"},
		{[]string{url, "departments", "kompany"}, "no tree \"kompany\""},
		{[]string{url, "departments", "company", "--show", "gnome"}, "gnome"},
		{[]string{url}, "URL COLLECTION [TREE]"},
		{[]string{"pebble:" + filepath.Join(t.TempDir(), "none"), "departments"}, "none"},
	} {
		if code, out, diag := do(t, append([]string{"tree"}, tt.args...)...); code != loadtest.Usage || !strings.Contains(diag, tt.want) {
			t.Errorf("%q: exit %d, %q, %q; want %q", tt.args, code, out, diag, tt.want)
		}
	}
}
