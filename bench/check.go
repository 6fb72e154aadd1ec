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

// newest returns the newest n posts that have the value of a post in an index, and its
// author if it is local.
func (m model) newest(of post, index byte, n int, local bool) []post {
	var list []post
	for _, p := range m {
		if p.in(index) == of.in(index) && (!local || p.Author == of.Author) {
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

// An effort is how much of a candidate is checked.
type effort struct{ steps, updates int }

// effortOn returns what a check does on a store: less where a call takes milliseconds.
func effortOn(store string) effort {
	if store == mongoName || store == cassandraName {
		return effort{200, 2}
	}
	return effort{500, 10}
}

// check does a few hundred random operations on an empty candidate and holds
// every answer against a model, then lets goroutines race.
func check(ctx context.Context, p posts, local bool, e effort, seed uint64) error {
	c := checker{posts: p, local: local, model: model{}, rand: rand.New(rand.NewPCG(seed, 1))}
	for i := range e.steps {
		if err := c.step(ctx); err != nil {
			return fmt.Errorf("seed %d, operation %d: %w", seed, i, err)
		}
	}
	return c.race(ctx, e.updates)
}

type checker struct {
	posts
	local bool // the posts of an author lie together
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
		return c.checkUpdate(ctx, p.key(), func(p *post) error { p.Title = "title " + strconv.Itoa(c.rand.Int()); return nil })
	case 4:
		return c.checkUpdate(ctx, p.key(), func(p *post) error { p.Category = categoryName(c.rand.IntN(3)); return nil })
	case 5:
		return c.checkStale(ctx, p.key())
	case 6:
		delete(c.model, p.ID)
		return c.delete(ctx, p.key())
	case 7:
		got, err := c.byCategory(ctx, p.Author, p.Category, 20)
		return c.compare("newest of "+p.Category, got, err, c.model.newest(p, categoryKey, 20, c.local))
	case 8:
		got, err := c.byAuthor(ctx, p.Author, 20)
		return c.compare("newest of "+p.Author, got, err, c.model.newest(p, authorKey, 20, c.local))
	}
	return c.checkGet(ctx, p.key())
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

func (c *checker) checkGet(ctx context.Context, k key) error {
	want, there := c.model[k.id]
	got, err := c.get(ctx, k)
	if !there {
		return expect("get of a post that is not there", err, repo.ErrNotFound)
	}
	return c.compare("get "+k.id, []post{got}, err, []post{want})
}

func (c *checker) checkUpdate(ctx context.Context, k key, change func(*post) error) error {
	old, there := c.model[k.id]
	var want post
	got, err := c.update(ctx, k, repo.Version{}, func(p *post) error {
		err := change(p)
		want = *p
		return err
	})
	if !there {
		return expect("update of a post that is not there", err, repo.ErrNotFound)
	}
	if err == nil && got.Version == old.Version {
		return fmt.Errorf("update %s: the version is the same as before", k.id)
	}
	c.model[k.id] = got
	return c.compare("update "+k.id, []post{got}, err, []post{want})
}

// checkStale updates with the version that the post has, then again with the same.
func (c *checker) checkStale(ctx context.Context, k key) error {
	old, there := c.model[k.id]
	if !there {
		return nil
	}
	count := func(p *post) error { p.Views++; return nil }
	next, err := c.update(ctx, k, old.Version, count)
	if err != nil {
		return fmt.Errorf("update at the version that the post has: %w", err)
	}
	c.model[k.id] = next
	_, err = c.update(ctx, k, old.Version, count)
	return expect("update at an earlier version", err, repo.ErrConflict)
}

func expect(what string, err, want error) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%s: got error %w, not the one wanted, %w", what, err, want)
	}
	return nil
}

const racers = 16

// race lets goroutines insert the same post and then count in it.
func (c *checker) race(ctx context.Context, updates int) error {
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
		for range updates {
			if err := c.count(ctx, p.key()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	got, err := c.get(ctx, p.key())
	if want := p.Views + int64(racers*updates); err == nil && (wins.Load() != 1 || got.Views != want) {
		return fmt.Errorf("%d of %d inserts of one post won, and then it counted to %d, want %d", wins.Load(), racers, got.Views, want)
	}
	return err
}

// count adds one to the views of a post. Package repo gives up an update that others were
// faster than fifty times, and says so; its caller may begin again.
func (c *checker) count(ctx context.Context, k key) (err error) {
	for range 20 {
		_, err = c.update(ctx, k, repo.Version{}, func(p *post) error { p.Views++; return nil })
		if !errors.Is(err, repo.ErrConflict) {
			return err
		}
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
func digest(ctx context.Context, p posts, local bool, w *postWorld) (string, error) {
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
		got, e := p.get(ctx, keyOf(i, w.records))
		err = cmp.Or(err, add([]post{got}, e))
	}
	for i := range authors(w.records) {
		err = cmp.Or(err, add(p.byAuthor(ctx, authorName(i), 100)))
	}
	for i := range categories {
		if !local {
			err = cmp.Or(err, add(p.byCategory(ctx, "", categoryName(i), 100)))
			continue
		}
		for j := range authors(w.records) {
			err = cmp.Or(err, add(p.byCategory(ctx, authorName(j), categoryName(i), 100)))
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}
