package tree

import (
	"fmt"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// A stepped record counts how often its Node is looked at.
type stepped struct {
	Node
	Votes int `repo:"votes"`
}

var steps int

func (s *stepped) inTree() *Node {
	steps++
	return &s.Node
}

// stepsToLoad returns the steps in which n nodes come below a node of a document that has as many already.
func stepsToLoad(t *testing.T, n int, load func(tr *Tree[stepped], list []stepped) error) int {
	t.Helper()
	f, err := Open[stepped](t.Context(), repo.NewStore(memory.New(nil), nil), Schema{Collection: "c", Strategy: Document, Sorted: []string{"votes"}})
	if err != nil {
		t.Fatal(err)
	}
	tr, list := f.Tree("shop"), []stepped{{Node: Node{ID: "r"}}}
	for i := range 2 * n {
		list = append(list, stepped{Node: Node{ID: fmt.Sprint("n", i), Parent: "r"}, Votes: i * 7919 % 10007})
	}
	if err := load(tr, list[:n+1]); err != nil {
		t.Fatal(err)
	}
	steps = 0
	if err := load(tr, list[n+1:]); err != nil {
		t.Fatal(err)
	}
	took, last := steps, -1
	for rec, err := range tr.Children(t.Context(), "r") {
		if err != nil || rec.Votes < last {
			t.Fatal(rec, err)
		}
		last = rec.Votes
	}
	return took
}

// A sorted document is loaded in steps that grow as its nodes do; nodes that are inserted one by one take a multiple.
func TestLoadOfASortedDocument(t *testing.T) {
	at := func(tr *Tree[stepped], list []stepped) error {
		_, err := tr.Load(t.Context(), func(yield func(stepped, error) bool) {
			for i := 0; i < len(list) && yield(list[i], nil); i++ {
			}
		})
		return err
	}
	single := func(tr *Tree[stepped], list []stepped) (err error) {
		for i := 0; i < len(list) && err == nil; i++ {
			err = tr.Insert(t.Context(), Under(list[i].Parent), &list[i])
		}
		return err
	}
	if few, many := stepsToLoad(t, 100, at), stepsToLoad(t, 400, at); many > 6*few {
		t.Errorf("%d steps for 100 nodes, and %d for 400", few, many)
	}
	if few, many := stepsToLoad(t, 20, single), stepsToLoad(t, 80, single); many <= 6*few {
		t.Errorf("one by one %d steps for 20 nodes, and %d for 80: steps are not counted", few, many)
	}
}
