package history_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/history"
)

func Example() {
	type Page struct {
		Wiki  string `repo:"wiki"`
		Title string `repo:"title"`
		Text  string `repo:"text"`
	}
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	pages, err := history.Open[Page](ctx, store, repo.Schema{
		Collection: "pages", Partition: []string{"wiki"}, Sort: []string{"title"},
	}, history.Keep{})
	if err != nil {
		fmt.Println(err)
		return
	}
	tea := repo.Key{"en", "Tea"}
	for _, text := range []string{"a drink", "a hot drink", "spam"} {
		if err := pages.Put(ctx, &Page{"en", "Tea", text}, history.By("ann")); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := pages.Restore(ctx, tea, 2, history.By("bob"), history.Why("it was spam")); err != nil {
		fmt.Println(err)
		return
	}
	page, err := pages.Records().Get(ctx, tea)
	fmt.Println(page.Text, err)
	list, err := pages.Revisions(ctx, tea, 10, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range list.Items {
		fmt.Println(r.Number, r.By, r.Why, r.Record.Text)
	}
	changes, err := pages.Diff(ctx, tea, 1, 2)
	fmt.Println(changes, err)
	// Output:
	// a hot drink <nil>
	// 4 bob it was spam a hot drink
	// 3 ann  spam
	// 2 ann  a hot drink
	// 1 ann  a drink
	// [text: a drink -> a hot drink] <nil>
}
