package tree

import (
	"iter"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// ParentsFirst yields nodes that come in any order as [Tree.Load] wants them: each after its parent, if that is among
// them, and siblings in their order. It holds all nodes in memory. Nodes that lie below themselves are ErrInvalid, and
// no node is yielded then.
func ParentsFirst[T any](nodes iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		list, err := repo.Collect(nodes)
		if err == nil {
			list, err = parentsFirst(list)
		}
		if err != nil {
			yield(*new(T), err)
			return
		}
		for i := range list {
			if !yield(list[i], nil) {
				return
			}
		}
	}
}

func parentsFirst[T any](list []T) ([]T, error) {
	there, children := map[string]bool{}, map[string][]int{}
	for i := range list {
		there[nodeOf(&list[i]).ID] = true
	}
	var stack []int
	for i := range list {
		if n := nodeOf(&list[i]); n.Parent == "" || !there[n.Parent] {
			stack = append(stack, i)
		} else {
			children[n.Parent] = append(children[n.Parent], i)
		}
	}
	slices.Reverse(stack)
	var sorted []T
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack, sorted = stack[:len(stack)-1], append(sorted, list[i])
		id := nodeOf(&list[i]).ID
		for _, child := range slices.Backward(children[id]) {
			stack = append(stack, child)
		}
		delete(children, id)
	}
	for i := range list {
		if n := nodeOf(&list[i]); len(children[n.Parent]) > 0 {
			return nil, cycleAbove(list, n.ID)
		}
	}
	return sorted, nil
}

// cycleAbove says which nodes are the cycle that a node lies in or below.
func cycleAbove[T any](list []T, id string) error {
	parents := map[string]string{}
	for i := range list {
		n := nodeOf(&list[i])
		parents[n.ID] = n.Parent
	}
	var way []string
	for ; !slices.Contains(way, id); id = parents[id] {
		way = append(way, id)
	}
	text := ""
	for _, one := range way[slices.Index(way, id):] {
		text += one + " below "
	}
	return driver.Errorf("a cycle: %s: %w", driver.Private(text+id), repo.ErrInvalid)
}
