package link_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/link"
)

func Example() {
	type User struct {
		ID   string `repo:"id"`
		Name string `repo:"name"`
	}
	type Tagging struct {
		User string `repo:"user"`
		Tag  string `repo:"tag"`
		Day  int    `repo:"day"`
	}
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	users, err := repo.Open[User](ctx, store, repo.Schema{Collection: "users", Partition: []string{"id"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	schema := link.Schema{Collection: "taggings", From: "user", To: "tag", FromOrder: []string{"-day"}}
	taggings, err := link.Open[Tagging](ctx, store, schema)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, u := range []User{{"1", "Ann"}, {"2", "Bob"}, {"3", "Cid"}} {
		if err := users.Insert(ctx, &u); err != nil {
			fmt.Println(err)
		}
	}
	for _, t := range []Tagging{{"1", "go", 5}, {"1", "redis", 7}, {"2", "go", 6}, {"3", "go", 1}, {"3", "redis", 3}, {"3", "java", 2}} {
		if err := taggings.Add(ctx, &t); err != nil {
			fmt.Println(err)
		}
	}

	for t, err := range taggings.Find(ctx, taggings.From("1")) { // the latest first
		fmt.Println(t.User, t.Tag, err)
	}
	page, err := taggings.Page(ctx, taggings.To("go").Limit(2), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	names, err := link.Join(ctx, page.Items, func(t Tagging) []repo.Key { return []repo.Key{{t.User}} }, users)
	for i := range names {
		fmt.Println(page.Items[i].Tag, names[i][0].Name, err)
	}
	both, err := taggings.Froms().AllOf("go", "redis").NoneOf("java").Page(ctx, "")
	fmt.Println(both.Items, err)
	n, err := taggings.RemoveAll(ctx, taggings.From("3")) // a user goes
	fmt.Println(n, err)
	fmt.Println(taggings.Count(ctx, taggings.To("go")))
	// Output:
	// 1 redis <nil>
	// 1 go <nil>
	// go Ann <nil>
	// go Bob <nil>
	// [1] <nil>
	// 3 <nil>
	// 2 <nil>
}
