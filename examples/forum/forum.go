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

// A notice is one that a user gets, or the record that counts them. Whoever removes a notice lowers
// the count in the same group, so none may expire.
type notice struct {
	User  string `repo:"user"`
	ID    string `repo:"id"` // begins with the time, so that the oldest is first; or countID, which comes last
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
	entries, err1 := repo.Open[entry](ctx, store, repo.Schema{
		Collection: "entries", Partition: []string{"thread"}, Sort: []string{"id"}})
	notices, err2 := repo.Open[notice](ctx, store, repo.Schema{
		Collection: "notices", Partition: []string{"user"}, Sort: []string{"id"}})
	return &forum{entries, notices}, errors.Join(err1, err2)
}

// vote counts the vote of a user on a thread, once. The vote comes first in the group: nobody else
// writes it, so that it can always be said whether the group was done.
func (f *forum) vote(ctx context.Context, thread, user string) error {
	g := f.entries.Store().Group()
	in := f.entries.In(g)
	in.Insert(&entry{Thread: thread, ID: "vote:" + user, Made: time.Now()})
	in.Patch(repo.Key{thread, threadID}, repo.Add("votes", 1))
	return settled(ctx, f.entries, g.Commit(ctx))
}

// askTime is how long a write whose outcome is unknown is asked for.
const askTime = 3 * time.Second

// settled asks what became of a write whose outcome is unknown. The time of the write may be over,
// and be the reason: asking has a time of its own.
func settled[T any](ctx context.Context, r *repo.Repo[T], err error) error {
	e, ok := errors.AsType[*repo.Error](err)
	if !ok || e.Outcome == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
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
	for { // until the context ends: the next call says so
		err, again := f.addNotice(ctx, n), false
		switch {
		case errors.Is(err, errNoRoom):
			err = f.replaceOldest(ctx, n)
			again = errors.Is(err, repo.ErrNotFound) // another one took the oldest away
		case errors.Is(err, repo.ErrNotFound):
			err = f.beginCount(ctx, n.User)
			again = err == nil
		}
		if !again {
			return settled(ctx, f.notices, err)
		}
	}
}

// addNotice adds a notice if there is room: the function sees the count as it is in the same commit.
func (f *forum) addNotice(ctx context.Context, n notice) error {
	g := f.notices.Store().Group()
	in := f.notices.In(g)
	in.Insert(&n)
	in.Update(repo.Key{n.User, countID}, func(all *notice) error {
		if all.Count >= mostNotices {
			return errNoRoom
		}
		all.Count++
		return nil
	})
	return g.Commit(ctx)
}

// beginCount makes the record that counts the notices of a user. If another one was faster, or it is
// not known whether it was done, the next notice will see.
func (f *forum) beginCount(ctx context.Context, user string) error {
	err := f.notices.Insert(ctx, &notice{User: user, ID: countID})
	if errors.Is(err, repo.ErrExists) || errors.Is(err, repo.ErrUnknownOutcome) {
		return nil
	}
	return err
}

// replaceOldest adds a notice in place of the oldest, which must still be there: the count stays.
func (f *forum) replaceOldest(ctx context.Context, n notice) error {
	for oldest, err := range f.notices.Find(ctx, noticesOf(n.User).Limit(1)) {
		if err != nil {
			return err
		}
		g := f.notices.Store().Group()
		in := f.notices.In(g)
		in.Insert(&n)
		in.Delete(repo.Key{oldest.User, oldest.ID}, repo.IfExists())
		return g.Commit(ctx)
	}
	return repo.ErrNotFound
}

// noticesOf finds the notices of a user, without the record that counts them.
func noticesOf(user string) repo.Query { return repo.Where("user", user).Below("id", countID) }
