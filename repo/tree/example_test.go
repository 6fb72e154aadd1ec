package tree_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

func Example() {
	type Category struct {
		tree.Node
		Name string `repo:"name"`
	}
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	forest, err := tree.Open[Category](ctx, store, tree.Schema{Collection: "categories", Strategy: tree.Path})
	if err != nil {
		fmt.Println(err)
		return
	}
	shop := forest.Tree("shop")
	for _, c := range []struct{ id, parent, name string }{
		{"1", "", "Home"}, {"2", "1", "Kitchen"}, {"5", "2", "Knives"}, {"3", "1", "Garden"},
	} {
		err := shop.Insert(ctx, tree.Under(c.parent), &Category{Node: tree.Node{ID: c.id}, Name: c.name})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	above, err := shop.Ancestors(ctx, "5")
	for _, c := range above {
		fmt.Print(c.Name, " > ")
	}
	fmt.Println("Knives", err)

	if err := shop.Move(ctx, "2", tree.Under("3")); err != nil {
		fmt.Println(err)
	}
	for item, err := range shop.Descendants(ctx, "", 0) {
		fmt.Println(strings.Repeat("  ", item.Depth-1)+item.Node.Name, err)
	}
	fmt.Println(shop.Move(ctx, "1", tree.Under("5")))
	// Output:
	// Home > Kitchen > Knives <nil>
	// Home <nil>
	//   Garden <nil>
	//     Kitchen <nil>
	//       Knives <nil>
	// repo move categories shop/1: a node cannot lie below itself: invalid
}

// Strategies are compared before one is taken: here for nodes with 420 nodes below them.
func ExampleExplain() {
	type Category struct {
		tree.Node
		Name string `repo:"name"`
	}
	store := repo.NewStore(memory.New(nil), nil)
	for _, s := range []tree.Strategy{tree.Adjacency, tree.Path} {
		schema := tree.Schema{Collection: "categories", Strategy: s}
		costs, err := tree.Explain[Category](store, schema, tree.Size{Depth: 3, Children: 20, Below: 420, Levels: 2})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range costs {
			if c.Call == "Descendants" || c.Call == "Move" {
				fmt.Println(s, c)
			}
		}
	}
	// Output:
	// adjacency Descendants: 34 deep, 844 requests
	// adjacency Move: 6 deep, 7 requests, 4 rows written; who stops in the middle leaves nothing behind
	// path Descendants: 7 deep, 426 requests
	// path Move: 29 deep, 860 requests, 1267 rows written; who stops in the middle leaves a change half done, which the next writer ends
}
