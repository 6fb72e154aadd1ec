// Package recent keeps the newest elements of a list in one record, the newest first: what a user looked at last. Each
// push reads and writes the list, so it is for some hundreds of elements at most; longer lists are records of their own,
// read by Order and Limit.
package recent

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo"
)

// A List is the newest elements of a user.
type List struct {
	User  string   `repo:"user"`
	Items []string `repo:"items"`
}

// Lists keep so many elements for each user.
type Lists struct {
	lists *repo.Repo[List]
	most  int
}

// Open opens lists of at most so many elements.
func Open(ctx context.Context, store *repo.Store, most int) (Lists, error) {
	r, err := repo.Open[List](ctx, store, repo.Schema{Collection: "recent", Partition: []string{"user"}})
	return Lists{r, most}, err
}

// Push puts an element in front, and returns the list as it is then.
func (l Lists) Push(ctx context.Context, user, item string) ([]string, error) {
	push := repo.PushFront("items", l.most, item)
	list, err := l.lists.PatchGet(ctx, repo.Key{user}, push)
	if errors.Is(err, repo.ErrNotFound) {
		if err = l.lists.Insert(ctx, &List{User: user}); err == nil || errors.Is(err, repo.ErrExists) {
			list, err = l.lists.PatchGet(ctx, repo.Key{user}, push)
		}
	}
	return list.Items, err
}

// Recent returns the elements of a user, the newest first.
func (l Lists) Recent(ctx context.Context, user string) ([]string, error) {
	list, err := l.lists.Get(ctx, repo.Key{user})
	if errors.Is(err, repo.ErrNotFound) {
		err = nil
	}
	return list.Items, err
}
