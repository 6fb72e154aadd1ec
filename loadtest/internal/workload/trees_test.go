package workload

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/tree"
)

func TestTreesAreRead(t *testing.T) {
	w := testload.Parsed(t, Parse, testload.Trees)
	c := w.Collections[0]
	if c.Tree == nil || *c.Tree != (Tree{Of: "suite", ID: "path", Parent: "folder"}) || strings.Join(c.Key(), " ") != "suite path" {
		t.Errorf("the tree is %+v, the key %q", c.Tree, c.Key())
	}
	strategies := ""
	for _, mo := range w.Models {
		strategies += string(mo.Forests[0].Strategy) + " "
	}
	if strategies != "path  ancestors nested_sets document ancestors " || !w.Models[5].Forests[0].Spread || w.Models[0].Forests[0].Spread {
		t.Errorf("strategies %q, the last model %+v", strategies, w.Models[5].Forests[0])
	}
	for name, want := range map[string]Bounds{"one": {0, math.MaxInt32}, "folder": {1, math.MaxInt32}, "below": {1, 50}, "leaf": {0, 0}, "branch": {1, 40}, "gone": {0, 0}} {
		for _, q := range w.Queries {
			if q.Name == name && q.Below != want {
				t.Errorf("%s draws nodes with %v below them, want %v", name, q.Below, want)
			}
		}
	}
}

// A model takes over what the collection says, and a collection's own words come last.
func TestStrategyOfAModel(t *testing.T) {
	text := strings.Replace(testload.Trees, "parent: folder}", "parent: folder, strategy: ancestors, spread: true}", 1)
	text = text[:strings.Index(text, "models:")] + `models:
  - name: as it is
  - {name: together, spread: false}
  - {name: its own, strategy: adjacency, collections: {files: {strategy: path, spread: false}}}
`
	w := testload.Parsed(t, Parse, text)
	for i, want := range []tree.Schema{{Strategy: tree.Ancestors, Spread: true}, {Strategy: tree.Ancestors}, {Strategy: tree.Path}} {
		if f := w.Models[i].Forests[0]; f.Strategy != want.Strategy || f.Spread != want.Spread {
			t.Errorf("model %s: %+v, want %+v", w.Models[i].Name, f, want)
		}
	}
}

// Each case changes the workload of trees.
var treeFaults = []struct{ name, old, new, place, want string }{
	{"no parent", ", parent: folder}", "}", ":8:11:", "tree has no parent; add one, e.g. parent: folder"},
	{"no id", "id: path, ", "", ":8:11:", "tree has no id; add one"},
	{"parent of no field", "parent: folder}", "parent: foldr}", ":8:41:", `no field "foldr"; did you mean folder?`},
	{"id that is no text", "id: path", "id: size", ":8:27:", "tree: id is field size of kind int; it must be a string"},
	{"one field twice", "parent: folder}", "parent: path}", ":8:", "parent is field path, which is another part of the tree already"},
	{"unknown key of a tree", "of: suite", "off: suite", ":8:", `tree has no key "off"; did you mean of?`},
	{"tree that is text", "tree: {of: suite, id: path, parent: folder}", "tree: path", ":8:", "tree is text; want keys and values"},
	{"partition of a tree", "    fields:", "    partition: [suite]\n    fields:", ":9:5:", `has no key "partition"`},
	{"field of a node", "size: int", "place: int, size: int", ":8:", "field place has a name that a tree keeps for itself"},
	{"generators", "data: {file: nodes.jsonl}", "data: {count: 5, fields: {}}", ":10:", "the nodes of trees come from a file"},
	{"name of the guards", "queries:", "  - {collection: files_trees, partition: [id], fields: {id: string}, data: {file: x.jsonl}}\nqueries:", ":11:", "the trees of files have a collection files_trees of their own"},
	{"with trees", "queries:", "  - {collection: more, with: files, partition: [id], fields: {id: string}, data: {file: x.jsonl}}\nqueries:", ":11:", "files has trees, with which no other one lies"},
	{"unknown strategy", "strategy: nested_sets", "strategy: nested", ":28:25:", `strategy "nested" of model nested sets is none of adjacency, path, ancestors, nested_sets, document`},
	{"spread path", "strategy: path}", "strategy: path, spread: true}", ":25:5:", `strategy "path" keeps a tree together, so it cannot be Spread`},
	{"spread that is a number", "spread: true", "spread: 1", ":30:", "want true or false"},
	{"indexes of a model's trees", "{name: adjacency}", "{name: adjacency, collections: {files: {indexes: []}}}", ":26:", `has no key "indexes"; the keys are strategy, spread`},
	{"kind of other records", "kind: get}", "kind: find}", ":12:", "collection files has trees, of which there are get, exists, children"},
	{"move", "kind: transplant, below: {max: 0}", "kind: move, set: {size: 1}", ":21:", "is of kind move, and collection files has trees"},
	{"bounds the wrong way", "below: {min: 1, max: 40}", "below: {min: 10, max: 4}", ":22:", "max is less than min: 4 and 10"},
	{"bounds of a get", "kind: get}", "kind: get, below: {max: 1}}", ":12:", `no key "below"`},
	{"depth of children", "kind: children}", "kind: children, depth: 2}", ":15:", `no key "depth"`},
	{"negative depth", "depth: 2", "depth: -2", ":18:", "want 0 to"},
	{"update of the parent", "add: {size: 1}, set: {owner: $}", "set: {folder: x}", ":20:", "a query of kind transplant does"},
	{"insert into another tree", `folder: $path}`, `suite: x}`, ":19:", "a new node comes into that of the drawn one"},
	{"insert without an id", `path: {sequence: 1, pattern: "new-%d"}, `, "", ":19:", "give them new ones, e.g. set: {path:"},
}

func TestTreeFaults(t *testing.T) {
	for _, tt := range treeFaults {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(testload.Trees, tt.old, tt.new, 1)
			if text == testload.Trees {
				t.Fatal("the case changes nothing")
			}
			faulty(t, text, tt.place, tt.want)
		})
	}
}

// A key that is misspelt is one fault, with the one remedy.
func TestTreeOfAMisspeltKey(t *testing.T) {
	text := strings.NewReplacer("parent: folder}", "parnt: parent}", "folder: string", "parent: string", "folder: $path", "parent: $path").Replace(testload.Trees)
	_, err := Parse("trees.yaml", []byte(text))
	var faults failure.Faults
	if !errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(faults[0].Text, `tree has no key "parnt"; did you mean parent?`) {
		t.Errorf("got %v, want one fault, of parnt", err)
	}
}

// What is about trees is refused where there are none.
func TestTreeFaultsOfOtherRecords(t *testing.T) {
	for _, tt := range []struct{ old, new, place, want string }{
		{"kind: get, draw", "kind: ancestors, draw", ":24:", "one post is of kind ancestors, which asks trees, and collection posts has none; give it tree:"},
		{"- name: covering", "- {name: covering, strategy: path}", ":32:", "model covering has a strategy, and no collection has trees"},
		{"- name: covering", "- {name: covering, collections: {posts: {strategy: path}}}", ":32:", `has no key "strategy"`},
	} {
		faulty(t, strings.Replace(testload.Small, tt.old, tt.new, 1), tt.place, tt.want)
	}
}

func faulty(t *testing.T, text, place, want string) {
	t.Helper()
	_, err := Parse("trees.yaml", []byte(text))
	var faults failure.Faults
	if !errors.As(err, &faults) || len(faults) == 0 {
		t.Fatalf("got %v, want Faults", err)
	}
	if got := err.Error(); !strings.Contains(got, "trees.yaml"+place) || !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant it to contain %q and %q", testload.Short(got), "trees.yaml"+place, want)
	}
}
