package main

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo"
)

// An entry is a thread, or a vote on one. They share a partition, so that they change together.
type entry struct {
	Thread  string       `repo:"thread"`
	ID      string       `repo:"id"` // "thread", or "vote:" and who voted
	Title   string       `repo:"title"`
	Votes   int64        `repo:"votes"`
	Made    time.Time    `repo:"made"`
	Version repo.Version `repo:",version"`
}

// A notice is one that a user gets, or the record that counts them.
type notice struct {
	User  string `repo:"user"`
	ID    string `repo:"id"` // the time, so that the oldest is first; or countID, which comes last
	Text  string `repo:"text"`
	Count int64  `repo:"count"`
}

const (
	threadID    = "thread"
	countID     = "~count"
	mostNotices = 20
)

type forum struct {
	entries *repo.Repo[entry]
	notices *repo.Repo[notice]
}

func open(ctx context.Context, store *repo.Store) (*forum, error) {
	entries, err1 := repo.Open[entry](ctx, store, repo.Schema{Collection: "entries", Partition: []string{"thread"}, Sort: []string{"id"}})
	notices, err2 := repo.Open[notice](ctx, store, repo.Schema{Collection: "notices", Partition: []string{"user"}, Sort: []string{"id"}})
	return &forum{entries, notices}, errors.Join(err1, err2)
}

// vote counts the vote of a user on a thread, once. The vote comes first in the group: nobody else
// writes it, so that it can always be said whether the group was done.
func (f *forum) vote(ctx context.Context, thread, user string) error {
	g := f.entries.Group()
	g.Insert(&entry{Thread: thread, ID: "vote:" + user, Made: time.Now()})
	g.Patch(repo.Key{thread, threadID}, repo.Add("votes", 1))
	return settled(ctx, f.entries, g.Commit(ctx))
}

// settled asks what became of a write whose outcome is unknown.
func settled[T any](ctx context.Context, r *repo.Repo[T], err error) error {
	e, ok := errors.AsType[*repo.Error](err)
	if !ok || e.Outcome == nil {
		return err
	}
	switch verdict, _ := r.Resolve(ctx, e.Outcome); verdict {
	case repo.Committed:
		return nil
	case repo.NotCommitted:
		return errNotDone
	}
	return err
}

// errNotDone says that a write was lost, and will not be done any more.
var errNotDone = errors.New("the write was lost; try again")

// errNoRoom says that a user has as many notices as may be.
var errNoRoom = errors.New("no room")

// notify gives a user a notice. At most mostNotices stay, however many come at once: each is
// added in one commit with the record that counts them, or in one with the removal of the oldest.
func (f *forum) notify(ctx context.Context, n notice) error {
	for ctx.Err() == nil {
		err := f.addNotice(ctx, n)
		if errors.Is(err, repo.ErrNotFound) {
			err = f.beginCount(ctx, n.User)
			if err == nil || errors.Is(err, repo.ErrExists) {
				continue
			}
		}
		if errors.Is(err, errNoRoom) {
			if err = f.replaceOldest(ctx, n); errors.Is(err, repo.ErrNotFound) {
				continue // another one took the oldest away
			}
		}
		return settled(ctx, f.notices, err)
	}
	return ctx.Err()
}

// addNotice adds a notice if there is room: the function sees the count as it is in the same commit.
func (f *forum) addNotice(ctx context.Context, n notice) error {
	g := f.notices.Group()
	g.Insert(&n)
	g.Update(repo.Key{n.User, countID}, func(all *notice) error {
		if all.Count >= mostNotices {
			return errNoRoom
		}
		all.Count++
		return nil
	})
	return g.Commit(ctx)
}

func (f *forum) beginCount(ctx context.Context, user string) error {
	return f.notices.Insert(ctx, &notice{User: user, ID: countID})
}

// replaceOldest adds a notice in place of the oldest, which must still be there: the count stays.
func (f *forum) replaceOldest(ctx context.Context, n notice) error {
	for oldest, err := range f.notices.Find(ctx, repo.Where("user", n.User).Limit(1)) {
		if err != nil {
			return err
		}
		g := f.notices.Group()
		g.Insert(&n)
		g.Delete(repo.Key{oldest.User, oldest.ID}, repo.IfExists())
		return g.Commit(ctx)
	}
	return repo.ErrNotFound
}
