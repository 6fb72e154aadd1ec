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
