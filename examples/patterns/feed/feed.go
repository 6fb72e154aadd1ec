// Package feed shows users posts of those whom they follow: copies, and what stars have posted, merged when it is read.
package feed

import (
	"cmp"
	"context"
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

// Unfollow lets a user no longer follow an author, whose posts vanish from the feed: the copies stay, and are passed over.
func (f *Feeds) Unfollow(ctx context.Context, by, of string) error {
	return f.follows.Delete(ctx, repo.Key{by, of})
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

// Page returns posts for a user, the newest first: those after the last post of the page before, of which At and Author
// count, or the newest after Post{}. Less than limit are the last page. Posts that come meanwhile are on no later page.
func (f *Feeds) Page(ctx context.Context, user string, limit int, after Post) (page []Post, err error) {
	follows, err1 := repo.Collect(f.follows.Find(ctx, repo.Where("follower", user)))
	keys, followed, lists := make([]repo.Key, len(follows)), map[string]bool{}, []any{"for " + user}
	for i, to := range follows {
		keys[i], followed[to.Followee] = repo.Key{to.Followee}, true
	}
	stars, found, err2 := f.stars.GetMany(ctx, keys)
	for i := range stars {
		if found[i] {
			lists = append(lists, "by "+stars[i].Author)
		}
	}
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	q := repo.All().AnyOf("list", lists...).Order("-at", "author")
	if !after.At.IsZero() {
		q = q.AtMost("at", after.At)
	}
	for p, err := range f.posts.Find(ctx, q) {
		if err != nil || len(page) == limit {
			return page, err
		}
		seen := p.At.Equal(after.At) && p.Author <= after.Author // on the page before, or as another copy
		if followed[p.Author] && !seen {
			page, after = append(page, p), p
		}
	}
	return page, nil
}
