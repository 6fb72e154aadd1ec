package crash_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
)

// A standing is the records of a tree as package repo shows them, without package tree.
type standing struct {
	nodes   map[string]fields // by ID
	guard   fields
	pending fields // nil if nothing is
}

type fields = map[string]any

func text(f fields, name string) string { s, _ := f[name].(string); return s }

func number(f fields, name string) int64 { n, _ := f[name].(int64); return n }

func texts(f fields, name string) (ids []string) {
	values, _ := f[name].([]any)
	for _, v := range values {
		ids = append(ids, fmt.Sprint(v))
	}
	return ids
}

// standingOf reads the records of a tree. Those of a document are in the guard; a record beside it is no node.
func standingOf(ctx context.Context, store *repo.Store, collection, name string) (*standing, error) {
	s := &standing{nodes: map[string]fields{}}
	guards, err := records(ctx, store, collection+"_trees")
	if err != nil {
		return nil, err
	}
	if s.guard, err = guards.Get(ctx, repo.Key{name}); err != nil && !errors.Is(err, repo.ErrNotFound) {
		return nil, err
	}
	s.pending, _ = s.guard["pending"].(fields)
	nodes, err := records(ctx, store, collection)
	if err != nil {
		return nil, err
	}
	if s.strategy() == "document" {
		inside, _ := s.guard["nodes"].([]any)
		for _, n := range inside {
			one, _ := n.(fields)
			s.nodes[text(one, "id")] = one
		}
		return s, nil
	}
	for n, err := range nodes.Scan(ctx, repo.Where("tree", name)) {
		if err != nil {
			return nil, err
		}
		s.nodes[text(n, "id")] = n
	}
	return s, nil
}

func records(ctx context.Context, store *repo.Store, collection string) (*repo.Repo[fields], error) {
	schema, err := repo.SchemaOf(ctx, store, collection)
	if err != nil {
		return nil, err
	}
	return repo.Open[fields](ctx, store, schema, repo.WithoutDefine())
}

func (s *standing) strategy() string { return text(s.guard, "strategy") }

// parents returns the tree: each node with its parent.
func (s *standing) parents() map[string]string {
	all := map[string]string{}
	for id, n := range s.nodes {
		if text(n, "state") != "gone" {
			all[id] = text(n, "parent")
		}
	}
	return all
}

// above returns the nodes from the parent of one to its root, and whether there is one.
func (s *standing) above(id string) (ids []string, rooted bool) {
	for at := text(s.nodes[id], "parent"); at != ""; at = text(s.nodes[at], "parent") {
		if s.nodes[at] == nil || slices.Contains(ids, at) {
			return ids, false
		}
		ids = append(ids, at)
	}
	return ids, true
}

// wrong returns what is wrong with the nodes whatever is pending, and the nodes of which the strategy keeps what does
// not follow from the parents.
func (s *standing) wrong() (faults, derived []string) {
	for _, id := range slices.Sorted(maps.Keys(s.nodes)) {
		above, rooted := s.above(id)
		if !rooted && s.isRemoved(id) {
			continue
		}
		if !rooted {
			faults = append(faults, fmt.Sprintf("%s does not lie below a root, but below %q", id, above))
			continue
		}
		n := s.nodes[id]
		parent := s.nodes[text(n, "parent")]
		ok := true
		switch s.strategy() {
		case "path":
			from := text(parent, "path")
			ok = strings.HasPrefix(text(n, "path"), from) && len(text(n, "path")) > len(from) && strings.Contains(text(n, "path")[len(from):], id)
		case "ancestors":
			slices.Reverse(above)
			ok = slices.Equal(texts(n, "ancestors"), above)
		case "nested_sets":
			ok = number(n, "left") < number(n, "right") && (parent == nil || number(parent, "left") < number(n, "left") && number(n, "right") < number(parent, "right"))
		}
		want := map[string]string{"path": "p", "ancestors": "a", "nested_sets": "n"}[s.strategy()]
		if !ok || s.strategy() != "document" && text(n, "keeps") != want || text(n, "state") != "" {
			derived = append(derived, id)
		}
	}
	return faults, derived
}

// isRemoved reports whether a node is one of those that the pending change removes, as the strategy finds them.
func (s *standing) isRemoved(id string) bool {
	n, top := s.nodes[id], text(s.pending, "node")
	if text(s.pending, "do") != "remove" {
		return false
	}
	switch s.strategy() {
	case "path":
		return strings.HasPrefix(text(n, "path"), text(s.pending, "from"))
	case "ancestors":
		return slices.Contains(texts(n, "ancestors"), top)
	case "nested_sets":
		return number(s.nodes[top], "left") < number(n, "left") && number(n, "right") < number(s.nodes[top], "right")
	}
	return false
}

// unnamed returns the nodes that are not as they should be, though the guard does not say so.
func (s *standing) unnamed() (ids []string) {
	_, derived := s.wrong()
	for _, id := range derived {
		above, _ := s.above(id)
		top := text(s.pending, "node")
		switch text(s.pending, "do") {
		case "convert", "forget", "erase", "number":
		case "move", "remove":
			if id != top && !slices.Contains(above, top) {
				ids = append(ids, id)
			}
		default:
			ids = append(ids, id)
		}
	}
	return ids
}
