// Package feed shows users posts of those whom they follow: copies, and what stars have posted, merged when it is read.
package feed

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/polystore/polystore/repo"
)

// A Post lies with its author, and copies of it in feeds.
type Post struct {
	List   string    `repo:"list"` // by its author, or in the feed of a user: "by ann", "for bob"
	At     time.Time `repo:"at"`
	Author string    `repo:"author"`
	Text   string    `repo:"text"`
}

type follow struct{ Follower, Followee string }
type star struct{ Author string } // whose posts are not copied

// Feeds are posts, and who follows whom.
type Feeds struct {
	follows *repo.Repo[follow]
	stars   *repo.Repo[star]
	posts   *repo.Repo[Post]
	most    int
}

// Open opens the feeds of a store. An author with more followers than most is a star.
func Open(ctx context.Context, store *repo.Store, most int) (*Feeds, error) {
	follows, err1 := repo.Open[follow](ctx, store, repo.Schema{Collection: "follows", Partition: []string{"follower"}, Sort: []string{"followee"},
		Indexes: []repo.Index{{Partition: []string{"followee"}}}})
	stars, err2 := repo.Open[star](ctx, store, repo.Schema{Collection: "stars", Partition: []string{"author"}})
	posts, err3 := repo.Open[Post](ctx, store, repo.Schema{Collection: "posts", Partition: []string{"list"}, Sort: []string{"-at", "author"}})
	return &Feeds{follows, stars, posts, most}, cmp.Or(err1, err2, err3)
}

// Follow lets a user follow an author.
func (f *Feeds) Follow(ctx context.Context, by, of string) error {
	return f.follows.Put(ctx, &follow{by, of})
}

// Post publishes a text. If it ends early, calling it again with the same time does the rest.
func (f *Feeds) Post(ctx context.Context, p Post) error {
	n, err := f.follows.Count(ctx, repo.Where("followee", p.Author).Limit(f.most+1))
	if err == nil && n > f.most {
		err = f.stars.Put(ctx, &star{p.Author})
	}
	_, err2 := f.posts.PutAll(ctx, func(yield func(Post, error) bool) {
		p.List = "by " + p.Author
		more := yield(p, err)
		for to, err := range f.follows.Find(ctx, repo.Where("followee", p.Author)) {
			if p.List = "for " + to.Follower; !more || n > f.most || !yield(p, err) {
				return
			}
		}
	})
	return err2
}

// Read returns the newest posts for a user, the newest first.
func (f *Feeds) Read(ctx context.Context, user string, limit int) ([]Post, error) {
	follows, err1 := repo.Collect(f.follows.Find(ctx, repo.Where("follower", user)))
	keys, lists := make([]repo.Key, len(follows)), []any{"for " + user}
	for i, to := range follows {
		keys[i] = repo.Key{to.Followee}
	}
	stars, found, err2 := f.stars.GetMany(ctx, keys)
	for i := range stars {
		if found[i] {
			lists = append(lists, "by "+stars[i].Author)
		}
	}
	all, err3 := repo.Collect(f.posts.Find(ctx, repo.All().AnyOf("list", lists...).Order("-at").Limit(2*limit)))
	all = slices.CompactFunc(all, func(a, b Post) bool { return a.At.Equal(b.At) && a.Author == b.Author })
	return all[:min(limit, len(all))], cmp.Or(err1, err2, err3)
}
