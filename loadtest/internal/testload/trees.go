package testload

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Trees is a workload of trees that is right, with a file of nodes that Forest makes; tests change one thing
// in it.
const Trees = `workload: trees
seed: 3
rate: 300
rounds: 1
round: 100ms
collections:
  - collection: files
    tree: {of: suite, id: path, parent: folder}
    fields: {suite: string, path: string, folder: string, size: int, owner: string, since: time, tags: list}
    data: {file: nodes.jsonl}
queries:
  - {name: one, weight: 10, kind: get}
  - {name: is there, weight: 5, kind: exists}
  - {name: folder, weight: 15, kind: children, limit: 3}
  - {name: whole folder, weight: 5, kind: children}
  - {name: way, weight: 10, kind: ancestors}
  - {name: below, weight: 10, kind: subtree, below: {max: 50}}
  - {name: two levels, weight: 5, kind: subtree, depth: 2, limit: 20}
  - {name: new, weight: 10, kind: insert, set: {path: {sequence: 1, pattern: "new-%d"}, folder: $path}}
  - {name: grown, weight: 5, kind: update, add: {size: 1}, set: {owner: $}}
  - {name: leaf, weight: 10, kind: transplant, below: {max: 0}}
  - {name: branch, weight: 10, kind: transplant, below: {min: 1, max: 40}}
  - {name: gone, weight: 5, kind: delete}
models:
  - {name: path, strategy: path}
  - {name: adjacency}
  - {name: ancestors, strategy: ancestors}
  - {name: nested sets, strategy: nested_sets}
  - {name: document, strategy: document}
  - {name: spread, spread: true, strategy: ancestors}
`

// Forest returns the workload Trees with a file of some trees.
func Forest(t *testing.T) string {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for _, suite := range []string{"one", "two", "three"} {
		for i := range 50 {
			fmt.Fprintf(&b, `{"suite":%q,"path":"%d","size":%d,"owner":"o%d","since":"2024-05-06T07:08:09Z","tags":["x","y"]`, suite, i, i, i%7)
			if i > 1 {
				fmt.Fprintf(&b, `,"folder":"%d"`, r.IntN(i))
			}
			b.WriteString("}\n")
		}
	}
	return ForestOf(t, b.String())
}

// ForestOf returns the workload Trees with a file of other lines.
func ForestOf(t *testing.T, lines string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nodes.jsonl")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return strings.Replace(Trees, "nodes.jsonl", file, 1)
}
