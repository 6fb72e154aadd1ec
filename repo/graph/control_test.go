package graph_test

import (
	"testing"

	"github.com/polystore/polystore/repo/graph"
)

// The comparison of random graphs notices reads that are wrong.
func TestRandomNotices(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(node string, list []string, along graph.Direction) []string
	}{
		{"a neighbour is missing", func(_ string, list []string, _ graph.Direction) []string { return list[:max(0, len(list)-1)] }},
		{"a neighbour too many", func(_ string, list []string, _ graph.Direction) []string {
			return append(list[:len(list):len(list)], "x")
		}},
		{"the empty ID is lost", func(_ string, list []string, _ graph.Direction) []string { return without(list, "") }},
		{"loops are lost", func(node string, list []string, _ graph.Direction) []string { return without(list, node) }},
		{"a separator is lost", func(_ string, list []string, _ graph.Direction) []string { return replaced(list, "a/b", "a") }},
		{"backwards nothing is found", func(_ string, list []string, along graph.Direction) []string {
			if along != graph.Out {
				return nil
			}
			return list
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(seeds) {
				want := random(seed)
				if bad := differences(t, build(t, newStore(t), "edges", want).Broken(tt.change), want, "edges"); len(bad) > 0 {
					t.Logf("noticed with seed %d: %s", seed, bad[0])
					return
				}
			}
			t.Errorf("not noticed with %d seeds", seeds)
		})
	}
}

func without(list []string, id string) (rest []string) {
	for _, one := range list {
		if one != id {
			rest = append(rest, one)
		}
	}
	return rest
}

func replaced(list []string, id, by string) (all []string) {
	for _, one := range list {
		if one == id {
			one = by
		}
		all = append(all, one)
	}
	return all
}
