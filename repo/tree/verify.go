package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo"
)

// A Problem is what is wrong with a node.
type Problem struct {
	ID   string
	What string // for people

	Repairable bool // by [Tree.Repair], which computes what is right
}

// String returns the problem for people.
func (p Problem) String() string { return fmt.Sprintf("%q: %s", p.ID, p.What) }

// Verify reads all nodes of the tree, and says what is wrong with them: a parent that is not there, a cycle, fields of
// the strategy that do not follow from the parents, a record beside a [Document]. It ends what was pending first. It
// holds the IDs and the fields of [Node] in memory.
func (t *Tree[T]) Verify(ctx context.Context) ([]Problem, error) {
	_, list, err := t.records.verify(ctx)
	return list, t.failed("verify", "", err)
}

// Repair computes the fields of the strategy anew from the parents and places of the nodes, where they are wrong. It
// returns what is wrong then, which only the caller can mend: a parent that is not there, a cycle, a record beside a
// [Document].
func (t *Tree[T]) Repair(ctx context.Context) (left []Problem, err error) {
	err = t.again(ctx, func() error {
		s, list, err := t.records.verify(ctx)
		if err != nil {
			return err
		}
		var wrong []Node
		left = nil
		for _, p := range list {
			if !p.Repairable {
				left = append(left, p)
				continue
			}
			if slices.ContainsFunc(wrong, func(n Node) bool { return n.ID == p.ID }) {
				continue // more than one thing is wrong with it
			}
			if wrong = append(wrong, *s.nodes[p.ID]); len(wrong) == t.forest.most {
				break
			}
		}
		if len(wrong) == 0 {
			return nil
		}
		err = t.guards.rewrite(ctx, &s.guard, wrong, func(n *Node) {
			state, refused := n.State, n.Refused // which may have changed since
			n.Kept = s.want[n.ID]
			n.State, n.Refused = state, refused
		})
		if err != nil {
			return err
		}
		if s.guard.Strategy == NestedSets {
			g := t.forest.group()
			t.guards.decide(g, &s.guard, &pending{Do: doNumber})
			if err := t.writes.commit(ctx, g, ""); err != nil {
				return err
			}
		}
		return errAgain
	})
	return left, t.failed("repair", "", err)
}

// A survey is all nodes of a tree in one state.
type survey struct {
	guard guard
	nodes map[string]*Node
	want  map[string]Kept // by ID, of nodes that lie below a root

	missing []string // of ancestors

	places map[string]string // by ID, of sorted siblings and of those that had none
}

func (t records[T]) verify(ctx context.Context) (s survey, list []Problem, err error) {
	err = t.again(ctx, func() error {
		if s.guard, err = t.guards.settled(ctx); err != nil {
			return err
		}
		if list = nil; s.guard.Strategy == Document {
			if _, err = t.documents.documentOf(&s.guard); err == nil {
				list, err = t.strays(ctx, &s.guard)
			}
			return err
		}
		s.missing = nil
		s.nodes, s.want, s.places = map[string]*Node{}, map[string]Kept{}, map[string]string{}
		var ids []string
		for rec, err := range t.every(ctx) {
			if err != nil {
				return err
			}
			n := *nodeOf(&rec)
			s.nodes[n.ID], ids = &n, append(ids, n.ID)
			if t.forest.order != nil {
				if s.places[n.ID], err = t.forest.order.placeOf(&rec); err != nil {
					return err
				}
			}
		}
		if t.forest.order == nil {
			s.addPlaces(ids)
		}
		is, err := t.guards.guard(ctx)
		if err == nil && is.Version != s.guard.Version {
			return errAgain
		}
		list = nil
		for _, id := range ids {
			if p, bad := s.problem(id); bad {
				list = append(list, p)
			}
		}
		for _, id := range s.missing {
			if _, err := t.present(ctx, id); !errors.Is(err, repo.ErrNotFound) {
				return cmp.Or(err, errAgain) // it came while the others were read
			}
		}
		if err == nil && s.guard.Strategy == NestedSets {
			list = append(list, s.misnumbered()...)
		}
		return err
	})
	return s, list, err
}

// strays says which records lie beside a document.
func (t records[T]) strays(ctx context.Context, was *guard) (list []Problem, err error) {
	for n, err := range t.forest.links.Find(ctx, repo.Where("tree", t.name)) {
		if err != nil {
			return nil, err
		}
		list = append(list, Problem{ID: n.ID, What: "it is a record beside the document, which only Forest.Nodes finds; delete it there"})
	}
	if len(list) > 0 {
		err = t.guards.stillSo(ctx, was, nil) // else they may be those of the tree
	}
	return list, err
}

// addPlaces gives places to nodes that have none, after their siblings.
func (s *survey) addPlaces(ids []string) {
	last := map[string]string{}
	for _, n := range s.nodes {
		last[n.Parent] = max(last[n.Parent], n.Place)
	}
	for _, id := range ids {
		if n := s.nodes[id]; n.Place == "" {
			last[n.Parent] = between(last[n.Parent], "")
			s.places[id] = last[n.Parent]
		}
	}
}

// problem looks at a node, after its ancestors.
func (s *survey) problem(id string) (Problem, bool) {
	chain := []*Node{}
	for at := s.nodes[id]; ; at = s.nodes[at.Parent] {
		if chain = append(chain, at); at.Parent == "" || s.want[at.Parent].Place != "" {
			break
		}
		if s.nodes[at.Parent] == nil {
			s.missing = append(s.missing, at.Parent)
			return Problem{ID: id, What: fmt.Sprintf("its ancestor %q is not there", at.Parent)}, true
		}
		if len(chain) > len(s.nodes) {
			return Problem{ID: id, What: "it lies below itself, or below a node that does"}, true
		}
	}
	for i := len(chain) - 1; i >= 0; i-- {
		n := *chain[i]
		var parent *Node
		if n.Parent != "" {
			p := *s.nodes[n.Parent]
			p.Kept = s.want[n.Parent]
			parent = &p
		}
		n.Kept = Kept{Place: cmp.Or(s.places[n.ID], n.Place), State: n.State, Refused: n.Refused, Left: n.Left, Right: n.Right}
		n.derive(parent, s.guard.keeps())
		s.want[n.ID] = n.Kept
	}
	n, want := s.nodes[id], *s.nodes[id]
	want.Kept = s.want[id]
	if n.State == gone {
		return Problem{ID: id, What: "its deletion was begun, and nobody ends it"}, true
	}
	return Problem{ID: id, What: "its fields do not follow from its parents", Repairable: true}, !n.same(&want)
}
