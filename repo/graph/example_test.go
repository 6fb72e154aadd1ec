package graph_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/graph"
)

func Example() {
	type Follow struct {
		Follower string `repo:"follower"`
		Followee string `repo:"followee"`
	}
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	follows, err := repo.Open[Follow](ctx, store, repo.Schema{
		Collection: "follows",
		Partition:  []string{"follower"},
		Sort:       []string{"followee"},
		Indexes:    []repo.Index{{Partition: []string{"followee"}}}, // to follow edges backwards
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range []Follow{{"ann", "bob"}, {"ann", "cem"}, {"bob", "dee"}, {"cem", "dee"}, {"dee", "eve"}, {"fay", "gil"}} {
		if err := follows.Insert(ctx, &f); err != nil {
			fmt.Println(err)
			return
		}
	}
	g, err := graph.OfEdges(follows, graph.Edges[Follow]{
		From: "follower", To: "followee",
		Ends: func(f *Follow) (from, to string) { return f.Follower, f.Followee },
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	for v, err := range g.BreadthFirst(ctx, []string{"ann"}, graph.MaxDepth(2)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if v.Distance == 2 {
			fmt.Println("suggest", v.Node, "because of", v.Predecessor)
		}
	}
	path, err := g.ShortestPath(ctx, "ann", "eve")
	fmt.Println(path, err)
	_, err = g.ShortestPath(ctx, "ann", "fay", graph.Along(graph.Both))
	fmt.Println(err)
	groups, err := g.Components(ctx)
	fmt.Println(groups, err)
	cycle, err := g.Cycle(ctx)
	fmt.Println(slices.Sorted(slices.Values(cycle)), err)
	// Output:
	// suggest dee because of bob
	// [ann bob dee eve] <nil>
	// repo shortest path follows: no path: not found
	// [[ann bob cem dee eve] [fay gil]] <nil>
	// [] <nil>
}
