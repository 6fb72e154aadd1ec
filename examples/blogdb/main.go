// Command blogdb keeps posts in an embedded store and prints the newest ones.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
)

type Post struct {
	Author   string       `repo:"author"`
	ID       string       `repo:"id"`
	Category string       `repo:"category"`
	Title    string       `repo:"title"`
	Slug     string       `repo:"slug"`
	Tags     []string     `repo:"tags"`
	Created  time.Time    `repo:"created"`
	Version  repo.Version `repo:",version"` // changes at every write; usable as an ETag
}

func main() {
	ctx := context.Background()
	store, err := backends.Open(ctx, "pebble:blog.db", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	posts, err := repo.Open[Post](ctx, store, repo.Schema{
		Collection: "posts",
		Partition:  []string{"author"}, // where a record lives, and what changes together
		Sort:       []string{"id"},     // the order inside
		Indexes: []repo.Index{ // each is a table that the library keeps in step
			{Partition: []string{"author"}, Sort: []string{"-created"}},
			{Partition: []string{"category"}, Sort: []string{"-created"}, Covers: []string{"title"}},
			{Partition: []string{"tags[]"}, Sort: []string{"-created"}}, // a row for each element
			{Partition: []string{"slug"}, Unique: true},
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	post := Post{Author: "user:1000", ID: "P0001", Category: "IT", Title: "Keys", Slug: "keys", Created: time.Now()}
	if err := posts.Put(ctx, &post); err != nil {
		log.Fatal(err) // ErrExists when the slug is taken
	}
	newest := repo.Where("category", "IT").Order("-created").Limit(20)
	for p, err := range posts.Find(ctx, newest) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p.ID, p.Title)
	}
}
