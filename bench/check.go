package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/polystore/polystore/repo"
)

// A model is what a candidate should hold.
type model map[string]post

// newest returns the newest n posts that have a value in an index.
func (m model) newest(index byte, value string, n int) []post {
	var list []post
	for _, p := range m {
		if p.in(index) == value {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b post) int { return b.Created.Compare(a.Created) })
	return list[:min(n, len(list))]
}

// same compares everything but the versions, which are each candidate's own.
func same(a, b post) bool {
	a.Version, b.Version = repo.Version{}, repo.Version{}
	return a == b
}

// check does a few hundred random operations on an empty candidate and holds
// every answer against a model, then lets goroutines race.
func check(ctx context.Context, p posts, seed uint64) error {
	c := checker{posts: p, model: model{}, rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range 500 {
		if err := c.step(ctx); err != nil {
			return fmt.Errorf("seed %d, operation %d: %w", seed, i, err)
		}
	}
	return c.race(ctx)
}

type checker struct {
	posts
	model model
	rand  *rand.Rand
}

const checkPosts = 3 * postsPerAuthor // of three authors

func (c *checker) step(ctx context.Context) error {
	p := newPost(c.rand.IntN(checkPosts), checkPosts)
	switch c.rand.IntN(10) {
	case 0, 1, 2:
		return c.checkInsert(ctx, p)
	case 3:
		return c.checkUpdate(ctx, p.ID, func(p *post) error { p.Title = "title " + strconv.Itoa(c.rand.Int()); return nil })
	case 4:
		return c.checkUpdate(ctx, p.ID, func(p *post) error { p.Category = categoryName(c.rand.IntN(3)); return nil })
	case 5:
		return c.checkStale(ctx, p.ID)
	case 6:
		delete(c.model, p.ID)
		return c.delete(ctx, p.ID)
	case 7:
		got, err := c.byCategory(ctx, p.Category, 20)
		return c.compare("newest of "+p.Category, got, err, c.model.newest(categoryKey, p.Category, 20))
	case 8:
		got, err := c.byAuthor(ctx, p.Author, 20)
		return c.compare("newest of "+p.Author, got, err, c.model.newest(authorKey, p.Author, 20))
	}
	return c.checkGet(ctx, p.ID)
}

func (c *checker) compare(what string, got []post, err error, want []post) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if !slices.EqualFunc(got, want, same) {
		return fmt.Errorf("%s: got %d posts %v, want %d posts %v", what, len(got), got, len(want), want)
	}
	return nil
}

func (c *checker) checkInsert(ctx context.Context, p post) error {
	_, there := c.model[p.ID]
	err := c.insert(ctx, &p)
	if there {
		return expect("insert of a post that is there", err, repo.ErrExists)
	}
	c.model[p.ID] = p
	return err
}

func (c *checker) checkGet(ctx context.Context, id string) error {
	want, there := c.model[id]
	got, err := c.get(ctx, id)
	if !there {
		return expect("get of a post that is not there", err, repo.ErrNotFound)
	}
	return c.compare("get "+id, []post{got}, err, []post{want})
}

func (c *checker) checkUpdate(ctx context.Context, id string, change func(*post) error) error {
	old, there := c.model[id]
	var want post
	got, err := c.update(ctx, id, repo.Version{}, func(p *post) error {
		err := change(p)
		want = *p
		return err
	})
	if !there {
		return expect("update of a post that is not there", err, repo.ErrNotFound)
	}
	if err == nil && got.Version == old.Version {
		return fmt.Errorf("update %s: the version is the same as before", id)
	}
	c.model[id] = got
	return c.compare("update "+id, []post{got}, err, []post{want})
}

// checkStale updates with the version that the post has, then again with the same.
func (c *checker) checkStale(ctx context.Context, id string) error {
	old, there := c.model[id]
	if !there {
		return nil
	}
	count := func(p *post) error { p.Views++; return nil }
	next, err := c.update(ctx, id, old.Version, count)
	if err != nil {
		return fmt.Errorf("update at the version that the post has: %w", err)
	}
	c.model[id] = next
	_, err = c.update(ctx, id, old.Version, count)
	return expect("update at an earlier version", err, repo.ErrConflict)
}

func expect(what string, err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: got error %w, not the one wanted, %w", what, err, want)
	}
	return nil
}

const racers, raceUpdates = 16, 10

// race lets goroutines insert the same post and then count in it.
func (c *checker) race(ctx context.Context) error {
	p := newPost(checkPosts, checkPosts)
	var wins atomic.Int64
	err := together(racers, func(int) error {
		mine := p
		err := c.insert(ctx, &mine)
		if errors.Is(err, repo.ErrExists) {
			return nil
		}
		wins.Add(1)
		return err
	}, func(int) error {
		for range raceUpdates {
			if _, err := c.update(ctx, p.ID, repo.Version{}, func(p *post) error { p.Views++; return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	got, err := c.get(ctx, p.ID)
	if want := p.Views + racers*raceUpdates; err == nil && (wins.Load() != 1 || got.Views != want) {
		return fmt.Errorf("%d of %d inserts of one post won, and then it counted to %d, want %d", wins.Load(), racers, got.Views, want)
	}
	return err
}

// together calls each function in n goroutines at once, one function after another.
func together(n int, calls ...func(worker int) error) error {
	for _, call := range calls {
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { errs[i] = call(i) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
	}
	return nil
}

// digest returns a hash of all that a candidate answers about the posts of w.
func digest(ctx context.Context, p posts, w *world) (string, error) {
	h := sha256.New()
	add := func(list []post, err error) error {
		for _, p := range list {
			p.Version = repo.Version{}
			fmt.Fprintf(h, "%+v\n", p)
		}
		return err
	}
	var err error
	for _, i := range slices.Sorted(slices.Values(w.live)) {
		got, e := p.get(ctx, postID(i))
		err = cmp.Or(err, add([]post{got}, e))
	}
	for i := range authors(w.records) {
		err = cmp.Or(err, add(p.byAuthor(ctx, authorName(i), 100)))
	}
	for i := range categories {
		err = cmp.Or(err, add(p.byCategory(ctx, categoryName(i), 100)))
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}
