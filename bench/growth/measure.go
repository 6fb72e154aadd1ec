package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A subject is a store that is measured, with its two collections.
type subject struct {
	name     string
	space    string // begins the names of its collections
	store    *repo.Store
	settles  time.Duration // after deletes
	rests    time.Duration // between deletes and upkeep
	later    *repo.Store   // the same, by a clock that is so far ahead that all tombstones are old
	posts    *repo.Repo[post]
	events   *repo.Repo[event]
	made     int // posts
	sent     int // events
	oldest   int // number of the first event that is there
	progress io.Writer
	figures  []figure
}

const (
	ahead    = 30 * 24 * time.Hour
	dropTime = 5 * time.Minute
)

// rest is how long a sweep leaves alone what was deleted, and some more: Cassandra's removes whole ranges
// of what is older, and before that one row at a time. In service tombstones are days old.
const rest = 11 * time.Minute

// longest is how long calls of one kind are measured: of slow ones there are fewer.
const longest = time.Minute

// measure measures one store at all sizes, and removes what it put there. With an error comes what was
// measured before, if there is any.
func measure(ctx context.Context, url string, o *options, progress io.Writer) (r *report, err error) {
	d, err := backends.OpenDriver(ctx, url)
	if err != nil {
		return nil, err
	}
	s := &subject{name: d.Facts().Name, store: repo.NewStore(d, nil), settles: o.settle, progress: progress}
	s.later = repo.NewStore(d, &repo.Options{Now: func() time.Time { return time.Now().Add(ahead) }})
	if _, sweeps := d.(driver.Sweeper); sweeps {
		s.rests = rest
	}
	s.space = "growth_" + strings.ToLower(rand.Text()[:8]) + "_"
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTime)
		defer cancel()
		err = errors.Join(err, repo.DropCollection(ctx, s.store, s.space+"posts"),
			repo.DropCollection(ctx, s.store, s.space+"events"), s.store.Close())
	}()
	if s.posts, err = repo.Open[post](ctx, s.store, postSchema(s.space+"posts")); err != nil {
		return nil, err
	}
	if s.events, err = repo.Open[event](ctx, s.store, eventSchema(s.space+"events")); err != nil {
		return nil, err
	}
	r = &report{Store: s.name, Calls: o.calls}
	for _, n := range o.records {
		s.figures = nil
		err := s.at(ctx, n, o.calls)
		if len(s.figures) > 0 {
			r.Sizes = append(r.Sizes, size{n, s.figures})
		}
		if err != nil {
			return r, fmt.Errorf("%s, %d records: %w", s.name, n, err)
		}
	}
	return r, nil
}

// at lets both collections grow to n records, and measures.
func (s *subject) at(ctx context.Context, n, calls int) error {
	for _, step := range []func(context.Context, int, int) error{s.growPosts, s.callPosts, s.keepPosts, s.growEvents, s.trimEvents} {
		if err := step(ctx, n, calls); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) growPosts(ctx context.Context, n, _ int) error {
	first := s.made
	s.made = n
	return s.rate("posts: insert many", func() (int, error) { return s.posts.InsertAll(ctx, from(first, n, newPost)) })
}

// callPosts measures single calls. What is deleted is what was inserted.
func (s *subject) callPosts(ctx context.Context, n, calls int) error {
	at := func(i int) int { return i * 7919 % n } // all over
	key := func(i int) repo.Key { return repo.Key{postID(at(i))} }
	return errors.Join(
		s.time("get", calls, func(i int) error {
			_, err := s.posts.Get(ctx, key(i))
			return err
		}),
		s.time("newest 20 of an author", calls, func(i int) error {
			return twenty(repo.Collect(s.posts.Find(ctx, repo.Where("author", authorOf(at(i))).Order("-created").Limit(20))))
		}),
		s.time("update", calls, func(i int) error {
			_, err := s.posts.Update(ctx, key(i), func(p *post) error { p.Title += "."; return nil })
			return err
		}),
		s.time("insert", calls, func(i int) error {
			p := newPost(n + i)
			return s.posts.Insert(ctx, &p)
		}),
		s.time("delete", calls, func(i int) error { return s.posts.Delete(ctx, repo.Key{postID(n + i)}, repo.IfExists()) }),
	)
}

// keepPosts measures what looks at everything.
func (s *subject) keepPosts(ctx context.Context, n, _ int) error {
	later, err := repo.Open[post](ctx, s.later, postSchema(s.space+"posts"), repo.WithoutDefine())
	if err != nil {
		return err
	}
	err = errors.Join(
		s.rate("walk", func() (seen int, err error) {
			for chunk, err := range s.posts.Walk(ctx, "") {
				if err != nil {
					return seen, err
				}
				seen += len(chunk.Items)
			}
			return seen, wrongUnless(seen, n)
		}),
		s.rate("verify", func() (int, error) {
			reports, err := s.posts.Verify(ctx)
			for _, r := range reports {
				if err == nil && !r.Clean() {
					err = fmt.Errorf("index %s does not agree with the records", r.Index)
				}
			}
			return n, err
		}),
		s.rate("maintain", func() (int, error) {
			_, err := later.Maintain(ctx)
			return n, err
		}),
	)
	if err != nil {
		return err
	}
	sizes, err := s.posts.Sizes(ctx)
	if errors.Is(err, repo.ErrUnsupported) {
		return nil
	}
	s.add("bytes of a record and its index rows", "B", float64(sizes.Total())/float64(n))
	return err
}

func (s *subject) growEvents(ctx context.Context, n, calls int) error {
	first := s.sent
	s.sent = n
	if err := s.rate("events: insert many", func() (int, error) { return s.events.InsertAll(ctx, from(first, n, newEvent)) }); err != nil {
		return err
	}
	hall := repo.Where("room", room)
	return errors.Join(
		s.time("newest 20 of all", calls, func(int) error { return twenty(repo.Collect(s.events.Find(ctx, hall.Order("-n").Limit(20)))) }),
		s.time("oldest 20", calls, func(int) error { return twenty(repo.Collect(s.events.Find(ctx, hall.Order("n").Limit(20)))) }),
	)
}

// trimEvents deletes the older half, and looks at what that leaves.
func (s *subject) trimEvents(ctx context.Context, n, calls int) error {
	oldest := func(name string) error {
		return s.time(name, min(calls, 20), func(int) error {
			return twenty(repo.Collect(s.events.Find(ctx, repo.Where("room", room).Order("n").Limit(20))))
		})
	}
	later, err := repo.Open[event](ctx, s.later, eventSchema(s.space+"events"), repo.WithoutDefine())
	if err != nil {
		return err
	}
	gone := n/2 - s.oldest
	return errors.Join(
		s.rate("delete the older half", func() (int, error) { return gone, s.deleteUpTo(ctx, n/2) }),
		oldest("oldest 20 then"),
		wait(ctx, s.settles),
		oldest("oldest 20, settled"),
		s.rest(ctx),
		s.rate("tombstones removed", func() (int, error) {
			done, err := later.Maintain(ctx)
			return done.Dead, err // 0 where deletes leave none, or they go by themselves
		}),
		oldest("oldest 20 after that"),
	)
}

// rest lets what was deleted grow old.
func (s *subject) rest(ctx context.Context) error {
	if s.rests > 0 {
		fmt.Fprintf(s.progress, "%s: %s pass before tombstones are removed\n", s.name, s.rests)
	}
	return wait(ctx, s.rests)
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// deleteTogether is how many events go by one commit.
const deleteTogether = 100

func (s *subject) deleteUpTo(ctx context.Context, end int) error {
	for ; s.oldest < end; s.oldest = min(s.oldest+deleteTogether, end) {
		g := s.events.Store().Group()
		in := s.events.In(g)
		for i := s.oldest; i < min(s.oldest+deleteTogether, end); i++ {
			in.Delete(repo.Key{room, int64(i)})
		}
		if err := g.Commit(ctx); err != nil {
			return err
		}
	}
	return nil
}

func twenty[T any](list []T, err error) error {
	if err == nil {
		err = wrongUnless(len(list), 20)
	}
	return err
}

func wrongUnless(got, want int) error {
	if got != want {
		return fmt.Errorf("%d records came, and %d are there", got, want)
	}
	return nil
}

// time measures calls of one kind: the first, which may find more to pass than the others, and the
// median of all.
func (s *subject) time(name string, calls int, do func(i int) error) error {
	var took []time.Duration
	for all := time.Now(); len(took) < calls && (len(took) == 0 || time.Since(all) < longest); {
		began := time.Now()
		if err := do(len(took)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		took = append(took, time.Since(began))
	}
	s.add(name+", the first", "µs", float64(took[0])/float64(time.Microsecond))
	slices.Sort(took)
	s.add(name, "µs", float64(took[len(took)/2])/float64(time.Microsecond))
	return nil
}

// rate measures work on many records: how many a second.
func (s *subject) rate(name string, do func() (int, error)) error {
	watch := watchMemory()
	began := time.Now()
	n, err := do()
	took := time.Since(began)
	peak := watch.end()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.add(name, "a second", float64(n)/took.Seconds())
	s.figures[len(s.figures)-1].Peak = peak
	return nil
}

func (s *subject) add(name, unit string, value float64) {
	s.figures = append(s.figures, figure{Name: name, Unit: unit, Value: value})
	fmt.Fprintf(s.progress, "%s: %s: %.4g %s\n", s.name, name, value, unit)
}
