package repo_test

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repotest"
)

// Many writers on few records: every acknowledged addition counts, and every
// index agrees with its records afterwards.
func TestConcurrentWriters(t *testing.T) {
	posts, ctx := openBlog(t), t.Context()
	const writers, rounds, records = 8, 60, 4
	for i := range records {
		if err := posts.Insert(ctx, &post{Author: "a", ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	acked := make([]int, writers)
	for w := range writers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				key := repo.Key{"a", fmt.Sprint(rng.IntN(records))}
				_, err := posts.Update(ctx, key, func(p *post) error {
					p.Views++
					p.Category = fmt.Sprint(rng.IntN(3))
					p.Tags = []string{fmt.Sprint(rng.IntN(3)), "x"}
					slug := fmt.Sprint(rng.IntN(2))
					p.Slug = &slug
					return nil
				})
				switch {
				case err == nil:
					acked[w]++
				case !errors.Is(err, repo.ErrExists) && !errors.Is(err, repo.ErrConflict):
					t.Errorf("Update: %v", err)
				}
			}
		})
	}
	wg.Wait()
	want, got := 0, 0
	for _, n := range acked {
		want += n
	}
	for i := range records {
		p, err := posts.Get(ctx, repo.Key{"a", fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		got += int(p.Views)
	}
	if got != want || want == 0 {
		t.Errorf("views are %d after %d acknowledged additions", got, want)
	}
	checkClean(t, posts)
}

func checkClean[T any](t *testing.T, posts *repo.Repo[T]) {
	t.Helper()
	reports, err := posts.Verify(t.Context())
	if err != nil || len(reports) == 0 {
		t.Fatalf("Verify: %v, %v", reports, err)
	}
	for _, rep := range reports {
		if !rep.Clean() {
			t.Errorf("index %s disagrees with the records: %+v", rep.Index, rep)
		}
	}
}

// Two records of one partition swap a unique value in one commit.
func TestGroupSwapsUniqueValues(t *testing.T) {
	posts, ctx := openBlog(t), t.Context()
	one, two := "one", "two"
	a, b := post{Author: "u", ID: "a", Slug: &one}, post{Author: "u", ID: "b", Slug: &two}
	g := posts.Store().Group()
	in := posts.In(g)
	in.Insert(&a)
	in.Insert(&b)
	if err := g.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	a.Slug, b.Slug = &two, &one
	g = posts.Store().Group()
	in = posts.In(g)
	in.Replace(&a)
	in.Replace(&b)
	if err := g.Commit(ctx); err != nil {
		t.Fatalf("swap: %v", err)
	}
	if p, err := posts.One(ctx, repo.Where("slug", "one")); err != nil || p.ID != "b" {
		t.Errorf("One(slug one) = %s, %v, want b", p.ID, err)
	}
	checkClean(t, posts)
	b.Slug = a.Slug
	g = posts.Store().Group()
	in = posts.In(g)
	in.Replace(&a)
	in.Replace(&b)
	if err := g.Commit(ctx); !errors.Is(err, repo.ErrExists) {
		t.Errorf("two records with one unique value: %v, want ErrExists", err)
	}
	stale := post{Author: "u", ID: "c"}
	g = posts.Store().Group()
	in = posts.In(g)
	in.Insert(&stale)
	in.Delete(repo.Key{"u", "a"}, repo.IfVersion(repo.Version{1}))
	if err := g.Commit(ctx); !errors.Is(err, repo.ErrConflict) {
		t.Errorf("a group with a stale version: %v, want ErrConflict", err)
	}
	if ok, _ := posts.Exists(ctx, repo.Key{"u", "c"}); ok {
		t.Error("the group that failed left a record")
	}
	checkClean(t, posts)
}

func TestInsertAll(t *testing.T) {
	posts, ctx := openBlog(t), t.Context()
	slug := "taken"
	seq := func(yield func(post, error) bool) {
		for i := range 200 {
			p := post{Author: "u", ID: fmt.Sprintf("%03d", i)}
			switch i {
			case 50, 150:
				p.Slug = &slug // the second of them is refused
			case 60:
				p.ID = "010"
			case 70:
				p.Title = "\xff"
			}
			if !yield(p, nil) {
				return
			}
		}
	}
	n, err := posts.InsertAll(ctx, seq)
	batch, ok := errors.AsType[*repo.BatchError](err)
	if !ok || n != 197 || batch.Done != 197 || len(batch.Failed) != 3 {
		t.Fatalf("InsertAll = %d, %v, want 197 and three failures", n, err)
	}
	for i, want := range []struct {
		index int
		err   error
	}{{60, repo.ErrExists}, {70, repo.ErrInvalid}, {150, repo.ErrExists}} {
		if f := batch.Failed[i]; f.Index != want.index || !errors.Is(f.Err, want.err) {
			t.Errorf("failure %d is of record %d, %v, want %d, %v", i, f.Index, f.Err, want.index, want.err)
		}
	}
	checkClean(t, posts)
}

// A commit of many records whose outcome is unknown is not tried again, which
// would find the records there and call them failed; and what failed before an
// error ends InsertAll is not forgotten.
func TestInsertAllEnds(t *testing.T) {
	records := func(bad int) iter.Seq2[post, error] {
		return func(yield func(post, error) bool) {
			for i := range 100 {
				p := post{Author: "u", ID: fmt.Sprintf("%03d", i)}
				if i == bad {
					p.Title = "\xff"
				}
				if !yield(p, nil) {
					return
				}
			}
		}
	}
	for _, tt := range []struct {
		fault     repotest.Fault
		nth       int
		bad       int
		want      error
		inserted  int
		retryable bool
	}{
		{repotest.LostAnswer, 1, -1, repo.ErrUnknownOutcome, 0, false},
		{repotest.Unavailable, 1, -1, repo.ErrUnavailable, 0, true},
		{repotest.Unavailable, 2, 3, repo.ErrUnavailable, 64, false},
	} {
		store, faults := faulty(t, nil)
		posts, err := repo.Open[post](t.Context(), store, blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		err = faults.Set(
			repotest.Rule{On: repotest.Commit, Nth: tt.nth, Fault: tt.fault},
			repotest.Rule{On: repotest.Get, Fault: repotest.Unavailable}) // so that the answer is not found out
		if err != nil {
			t.Fatal(err)
		}
		n, err := posts.InsertAll(t.Context(), records(tt.bad))
		e, ok := errors.AsType[*repo.Error](err)
		if !ok || !errors.Is(err, tt.want) || n != tt.inserted || e.Retryable != tt.retryable {
			t.Errorf("%s: InsertAll = %d, %v; want %d, %v, retryable %v", tt.fault, n, err, tt.inserted, tt.want, tt.retryable)
		}
		if ok && (e.Outcome != nil) != (tt.want == repo.ErrUnknownOutcome) {
			t.Errorf("%s: outcome %v", tt.fault, e.Outcome)
		}
		batch, ok := errors.AsType[*repo.BatchError](err)
		if ok != (tt.bad >= 0) || ok && (len(batch.Failed) != 1 || batch.Failed[0].Index != tt.bad) {
			t.Errorf("%s: %v, want the failure of record %d", tt.fault, err, tt.bad)
		}
	}
}

// Writers of one record on a store that is far away do not give up: they wait as long as
// their rivals take, and then look again.
func TestManyWritersOfOneRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, faults := faulty(t, nil)
		posts, err := repo.Open[post](t.Context(), store, blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		if err := posts.Insert(t.Context(), &post{Author: "u", ID: "1"}); err != nil {
			t.Fatal(err)
		}
		far := repotest.Rule{Delay: 2 * time.Millisecond, Jitter: 2 * time.Millisecond}
		if err := faults.Set(far); err != nil {
			t.Fatal(err)
		}
		var tries atomic.Int64
		var writers sync.WaitGroup
		const each = 10
		for range 16 {
			writers.Go(func() {
				for range each {
					_, err := posts.Update(t.Context(), repo.Key{"u", "1"}, func(p *post) error {
						tries.Add(1)
						p.Views++
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		p, err := posts.Get(t.Context(), repo.Key{"u", "1"})
		if err != nil || p.Views != 16*each {
			t.Errorf("%d views, %v; want %d", p.Views, err, 16*each)
		}
		if n := tries.Load(); n > 5*16*each {
			t.Errorf("%d updates took %d tries", 16*each, n)
		}
		t.Logf("%d tries for %d updates", tries.Load(), 16*each)
	})
}
