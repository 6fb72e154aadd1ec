package main

import (
	"context"
	"strings"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// ours is the work as a user of package repo writes it.
type ours struct {
	store *repo.Store
	posts *repo.Repo[post]
	local bool // the posts of an author lie together
}

func (o *ours) key(k key) repo.Key {
	if o.local {
		return repo.Key{k.author, k.id}
	}
	return repo.Key{k.id}
}

func postSchema(covering bool) repo.Schema {
	var covers []string
	if covering {
		covers = []string{"*"}
	}
	return repo.Schema{
		Collection: "posts",
		Partition:  []string{"id"},
		Indexes: []repo.Index{
			{Partition: []string{"author"}, Sort: []string{"-created"}, Covers: covers},
			{Partition: []string{"category"}, Sort: []string{"-created"}, Covers: covers},
		},
	}
}

func openOurs(at place, covering bool) (posts, error) {
	backend, err := pebble.Open(at.dir, &pebble.Options{NoSync: !at.sync})
	if err != nil {
		return nil, err
	}
	return newOurs(backend, postSchema(covering))
}

func openRedisOurs(at place, covering bool) (posts, error) {
	option := "?prefix="
	if strings.Contains(at.url, "?") {
		option = "&prefix="
	}
	backend, err := redis.Open(context.Background(), at.url+option+at.prefix())
	if err != nil {
		return nil, err
	}
	return newOurs(backend, postSchema(covering))
}

func newOurs(backend driver.Store, schema repo.Schema) (posts, error) {
	store := repo.NewStore(backend, nil)
	r, err := repo.Open[post](context.Background(), store, schema)
	if err != nil {
		store.Close()
		return nil, err
	}
	return &ours{store, r, len(schema.Sort) > 0}, nil
}

func (o *ours) insert(ctx context.Context, p *post) error { return o.posts.Insert(ctx, p) }

func (o *ours) get(ctx context.Context, k key) (post, error) {
	return o.posts.Get(ctx, o.key(k))
}

func (o *ours) update(ctx context.Context, k key, version repo.Version, change func(*post) error) (post, error) {
	if version.IsZero() {
		return o.posts.Update(ctx, o.key(k), change)
	}
	return o.posts.Update(ctx, o.key(k), change, repo.IfVersion(version))
}

func (o *ours) byAuthor(ctx context.Context, author string, n int) ([]post, error) {
	return o.newest(ctx, repo.Where("author", author), n)
}

func (o *ours) byCategory(ctx context.Context, author, category string, n int) ([]post, error) {
	q := repo.Where("category", category)
	if o.local {
		q = repo.Where("author", author).Where("category", category)
	}
	return o.newest(ctx, q, n)
}

func (o *ours) newest(ctx context.Context, q repo.Query, n int) ([]post, error) {
	list := make([]post, 0, n)
	for p, err := range o.posts.Find(ctx, q.Order("-created").Limit(n)) {
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (o *ours) delete(ctx context.Context, k key) error {
	return o.posts.Delete(ctx, o.key(k))
}

func (o *ours) close() error { return o.store.Close() }
