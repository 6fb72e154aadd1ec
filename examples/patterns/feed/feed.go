// Package feed shows users what those have posted whom they follow. A post is copied into the feed of each follower,
// but not where there are too many: the posts of such authors are merged in when a feed is read.
package feed

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/polystore/polystore/repo"
)

// A Post lies with its author, and copies of it in feeds.
type Post struct {
	Owner  string    `repo:"owner"` // whose posts or whose feed these are
	At     time.Time `repo:"at"`
	Author string    `repo:"author"`
	Text   string    `repo:"text"`
}

type follow struct {
	Follower string `repo:"follower"`
	Followee string `repo:"followee"`
}

// A star is an author whose posts are not copied.
type star struct {
	Author string `repo:"author"`
}

// Feeds are posts, and who follows whom.
type Feeds struct {
	follows     *repo.Repo[follow]
	stars       *repo.Repo[star]
	posts, feed *repo.Repo[Post]
	most        int
}

// Open opens the feeds of a store. An author with more followers than most is a star.
func Open(ctx context.Context, store *repo.Store, most int) (*Feeds, error) {
	follows, err1 := repo.Open[follow](ctx, store, repo.Schema{Collection: "follows", Partition: []string{"follower"}, Sort: []string{"followee"},
		Indexes: []repo.Index{{Partition: []string{"followee"}}}})
	stars, err2 := repo.Open[star](ctx, store, repo.Schema{Collection: "stars", Partition: []string{"author"}})
	newest := repo.Schema{Collection: "posts", Partition: []string{"owner"}, Sort: []string{"-at", "author"}}
	posts, err3 := repo.Open[Post](ctx, store, newest)
	newest.Collection = "feeds"
	feed, err4 := repo.Open[Post](ctx, store, newest)
	return &Feeds{follows, stars, posts, feed, most}, errors.Join(err1, err2, err3, err4)
}

// Follow lets a user follow an author.
func (f *Feeds) Follow(ctx context.Context, user, author string) error {
	return f.follows.Put(ctx, &follow{user, author})
}

// Post publishes a text. If it ends early, calling it again with the same time does the rest.
func (f *Feeds) Post(ctx context.Context, p Post) error {
	p.Owner = p.Author
	if err := f.posts.Put(ctx, &p); err != nil {
		return err
	}
	followers, err := repo.Collect(f.follows.Find(ctx, repo.Where("followee", p.Author).Limit(f.most+1)))
	if err == nil && len(followers) > f.most {
		return f.stars.Put(ctx, &star{p.Author})
	}
	for _, to := range followers {
		p.Owner = to.Follower
		err = errors.Join(err, f.feed.Put(ctx, &p))
	}
	return err
}

// Read returns the newest posts for a user, the newest first.
func (f *Feeds) Read(ctx context.Context, user string, limit int) ([]Post, error) {
	follows, err1 := repo.Collect(f.follows.Find(ctx, repo.Where("follower", user)))
	keys, great := make([]repo.Key, len(follows)), []any{}
	for i, to := range follows {
		keys[i] = repo.Key{to.Followee}
	}
	stars, found, err2 := f.stars.GetMany(ctx, keys)
	for i, is := range found {
		if is {
			great = append(great, stars[i].Author)
		}
	}
	own, err3 := repo.Collect(f.feed.Find(ctx, repo.Where("owner", user).Limit(limit)))
	theirs, err4 := repo.Collect(f.posts.Find(ctx, repo.All().AnyOf("owner", great...).Order("-at").Limit(limit)))
	all := append(own, theirs...)
	slices.SortFunc(all, func(a, b Post) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Author, b.Author)) })
	all = slices.CompactFunc(all, func(a, b Post) bool { return a.At.Equal(b.At) && a.Author == b.Author })
	return all[:min(limit, len(all))], errors.Join(err1, err2, err3, err4)
}
