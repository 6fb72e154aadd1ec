package once_test

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/once"
)

func Example() {
	type Stock struct {
		Shop  string `repo:"shop"`
		Item  string `repo:"item"`
		Count int64  `repo:"count"`
	}
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	stock, err := repo.Open[Stock](ctx, store, repo.Schema{Collection: "stock", Partition: []string{"shop"}, Sort: []string{"item"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := stock.Insert(ctx, &Stock{"north", "tea", 10}); err != nil {
		fmt.Println(err)
		return
	}
	log, err := once.Open(ctx, store, "stock", 24*time.Hour)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 { // a message that is delivered three times
		applied, err := log.Apply(ctx, repo.Key{"north"}, "order/1001", func(g *repo.Group) {
			stock.In(g).Patch(repo.Key{"north", "tea"}, repo.Add("count", -2))
		})
		fmt.Println(applied, err)
	}
	tea, err := stock.Get(ctx, repo.Key{"north", "tea"})
	fmt.Println(tea.Count, err)
	// Output:
	// true <nil>
	// false <nil>
	// false <nil>
	// 8 <nil>
}
