package hierarchy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// lists are a tree as the children of each node.
type lists struct {
	children map[string][]string
	parent   map[string]string
	text     map[string]string
}

func newLists() *lists {
	return &lists{map[string][]string{}, map[string]string{}, map[string]string{}}
}

// parse is the reverse of outlineOf.
func parse(outline string) *lists {
	l, above := newLists(), []string{""}
	for one := range strings.FieldsSeq(outline) {
		node := strings.TrimLeft(one, ".")
		depth := min(len(one)-len(node), len(above)-1)
		id, text, _ := strings.Cut(node, "=")
		parent := above[depth]
		above = append(above[:depth+1], id)
		l.children[parent] = append(l.children[parent], id)
		l.parent[id], l.text[id] = parent, text
	}
	return l
}

// outlineOf returns the lists as a text, with what the nodes say; where they have no order, siblings are sorted.
func (l *lists) outlineOf(ordered bool) string {
	var b strings.Builder
	l.write(&b, "", 0, ordered)
	return b.String()
}

func (l *lists) write(b *strings.Builder, id string, depth int, ordered bool) {
	children := l.children[id]
	if !ordered {
		children = slices.Sorted(slices.Values(children))
	}
	for _, child := range children {
		fmt.Fprintf(b, "%s%s=%s ", strings.Repeat(".", depth), child, l.text[child])
		l.write(b, child, depth+1, ordered)
	}
}

// below returns the nodes below one.
func (l *lists) below(id string) (ids []string) {
	for _, child := range l.children[id] {
		ids = append(append(ids, child), l.below(child)...)
	}
	return ids
}

func (l *lists) has(id string) bool {
	_, has := l.parent[id]
	return has || id == ""
}

// isBelow reports whether a node is another one, or lies below it.
func (l *lists) isBelow(id, other string) bool {
	for ; id != other && id != ""; id = l.parent[id] {
	}
	return id == other
}

// A spot is a position in lists: under a node as the last or the first, or beside one.
type spot struct {
	where string
	at    string
}

func (s spot) beside() bool { return s.where == "before" || s.where == "after" }

func (s spot) position() tree.Position {
	return map[string]func(string) tree.Position{
		"under": tree.Under, "first under": tree.FirstUnder, "before": tree.Before, "after": tree.After,
	}[s.where](s.at)
}

func (l *lists) put(id string, s spot) {
	parent, i := s.at, 0
	switch {
	case s.where == "under":
		i = len(l.children[parent])
	case s.beside():
		parent = l.parent[s.at]
		if i = slices.Index(l.children[parent], s.at); s.where == "after" {
			i++
		}
	}
	l.parent[id] = parent
	l.children[parent] = slices.Insert(l.children[parent], i, id)
}

func (l *lists) cut(id string) {
	at := l.parent[id]
	l.children[at] = slices.DeleteFunc(l.children[at], func(other string) bool { return other == id })
}

func (l *lists) remove(id string) {
	for _, child := range slices.Clone(l.children[id]) {
		l.remove(child)
	}
	l.cut(id)
	delete(l.children, id)
	delete(l.parent, id)
	delete(l.text, id)
}

func (l *lists) insert(id string, s spot) error {
	switch {
	case s.beside() && s.at == id:
		return repo.ErrInvalid
	case !l.has(s.at) || s.beside() && s.at == "":
		return repo.ErrNotFound
	case l.has(id):
		return repo.ErrExists
	}
	l.put(id, s)
	return nil
}

func (l *lists) move(id string, s spot) error {
	switch {
	case !l.has(id):
		return repo.ErrNotFound
	case s.beside() && s.at == id:
		return repo.ErrInvalid
	case !l.has(s.at):
		return repo.ErrNotFound
	case l.isBelow(s.at, id) || s.beside() && l.parent[s.at] != "" && l.isBelow(l.parent[s.at], id):
		return tree.ErrBelowItself
	}
	l.cut(id)
	l.put(id, s)
	return nil
}

func (l *lists) delete(id string, whole bool) error {
	switch {
	case !l.has(id):
		return repo.ErrNotFound
	case !whole && len(l.children[id]) > 0:
		return tree.ErrHasChildren
	}
	l.remove(id)
	return nil
}

// outline is env.outline of the lists.
func (l *lists) outline(id string, depth int) string {
	text := ""
	for _, child := range l.children[id] {
		text += strings.Repeat(".", depth) + child + " " + l.outline(child, depth+1)
	}
	return text
}

func (l *lists) above(id string) (ids []string) {
	for at := l.parent[id]; at != ""; at = l.parent[at] {
		ids = append(ids, at)
	}
	slices.Reverse(ids)
	return ids
}

// asLists does at random the same with a tree and with lists.
func asLists(ctx context.Context, e *env) {
	tr, rng := e.tree(ctx, "lists"), rand.New(rand.NewPCG(1, uint64(len(e.collection()))))
	l := newLists()
	for n := range 80 {
		id, s := fmt.Sprint(rng.IntN(12)), spot{[]string{"under", "first under", "before", "after"}[rng.IntN(4)], fmt.Sprint(rng.IntN(12))}
		if !s.beside() && rng.IntN(4) == 0 {
			s.at = ""
		}
		var got, want error
		what := fmt.Sprintf("%s %s %s", id, s.where, s.at)
		switch do := rng.IntN(9); {
		case do < 4:
			what = "insert " + what
			got, want = tr.Insert(ctx, s.position(), &node{Node: tree.Node{ID: id}}), l.insert(id, s)
		case do < 7:
			what = "move " + what
			got, want = tr.Move(ctx, id, s.position()), l.move(id, s)
		case do < 8:
			what = "delete " + id
			got, want = tr.Delete(ctx, id), l.delete(id, false)
		default:
			what = "delete subtree " + id
			got, want = tr.DeleteSubtree(ctx, id), l.delete(id, true)
		}
		e.That(errors.Is(got, want), fmt.Sprintf("%s to be %v", what, want), "%v", got)
		if n%10 == 9 {
			e.same(ctx, tr, l, what)
		}
	}
	e.sound(ctx, tr)
}

// same ends the rule unless a tree is as lists are.
func (e *env) same(ctx context.Context, tr *tree.Tree[node], l *lists, after string) {
	rule.Equal(e, "the tree after "+after, e.outline(ctx, tr, ""), l.outline("", 0))
	for id := range l.parent {
		list, err := tr.Ancestors(ctx, id)
		e.OK("ancestors", err)
		var ids []string
		for i := range list {
			ids = append(ids, list[i].ID)
		}
		e.That(slices.Equal(ids, l.above(id)), fmt.Sprintf("the ancestors of %s to be %q", id, l.above(id)), "%q", ids)
		break
	}
}
