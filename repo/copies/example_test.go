package copies_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/copies"
)

// A User is what posts have copies of.
type User struct {
	ID      string       `repo:"id"`
	Name    string       `repo:"name"`
	Version repo.Version `repo:",version"`
}

// A Post has the name of its author.
type Post struct {
	ID         string       `repo:"id"`
	Author     string       `repo:"author"`
	AuthorName string       `repo:"author_name"`
	Version    repo.Version `repo:",version"`
}

func Example() {
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	defer store.Close()
	users, err := copies.OpenSource(ctx, store, repo.Schema{Collection: "users", Partition: []string{"id"}},
		func(u *User) (repo.Key, repo.Version) { return repo.Key{u.ID}, u.Version })
	if err != nil {
		fmt.Println(err)
		return
	}
	posts, err := copies.OpenTarget(ctx, store, repo.Schema{
		Collection: "posts", Partition: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"author"}, Sort: []string{"id"}}}, // finds the posts of a user
	}, func(p *Post) (repo.Key, repo.Version) { return repo.Key{p.ID}, p.Version })
	if err != nil {
		fmt.Println(err)
		return
	}
	err = copies.Declare(posts, users, copies.Rule[Post, User]{
		By:   []string{"author"},
		Refs: func(p *Post) []repo.Key { return []repo.Key{{p.Author}} },
		Copy: func(_ context.Context, p *Post, of []*User) error {
			if of[0] != nil { // nil: the user was deleted, and the name stays
				p.AuthorName = of[0].Name
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = users.Insert(ctx, &User{ID: "ann", Name: "Ann"})
	for n := 0; n < 60 && err == nil; n++ {
		err = posts.Insert(ctx, &Post{ID: fmt.Sprintf("p%02d", n), Author: "ann"})
	}
	show := func() {
		post, err := posts.Records().Get(ctx, repo.Key{"p07"})
		due, e := users.Due(ctx)
		fmt.Println(post.AuthorName, err, "due:", due.Count, e)
	}
	show()
	_, err = users.Update(ctx, repo.Key{"ann"}, func(u *User) error { u.Name = "Anne"; return nil })
	fmt.Println(err)
	show()
	fmt.Println(users.Follow(ctx)) // a worker, in the background
	show()
	// Output:
	// Ann <nil> due: 1 <nil>
	// <nil>
	// Ann <nil> due: 1 <nil>
	// 60 <nil>
	// Anne <nil> due: 0 <nil>
}
