package redis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// newSilent fills a store behind a network that will be silent, and names its connections.
func newSilent(t *testing.T) *backendtest.Silent {
	t.Helper()
	proxy := toxic.New(t, testserver.Shared(t, testserver.Redis).Addr)
	url := "redis://" + proxy.Addr() + "?client_name=" + proxy.Addr() + "&prefix=" + driver.NewToken().String()
	store, ts := open(t, url)
	s := &backendtest.Silent{T: t, Proxy: proxy, Store: store, Tables: ts, Reopen: func(ctx context.Context) error {
		_, err := redis.Open(ctx, url)
		return err
	}}
	s.Fill()
	return s
}

// silence is that of a Redis server: a store keeps four connections at the most.
func silence(t *testing.T) *backendtest.Silence {
	t.Helper()
	admin := raw(t, testserver.Shared(t, testserver.Redis).Addr)
	links := func(s *backendtest.Silent) int {
		return strings.Count(do(t, admin, "CLIENT", "LIST").(string), "name="+s.Proxy.Addr()+" ")
	}
	return &backendtest.Silence{New: newSilent, Verbs: slices.Concat(backendtest.Verbs(), storeVerbs(), repoVerbs()), Lasts: 200 * time.Millisecond,
		Slack: 2500 * time.Millisecond, Links: links, Frame: "backends/redis.(*", During: func(s *backendtest.Silent) {
			if n := backendtest.Await(func() int { return max(0, links(s)-4) }); n > 0 {
				s.T.Errorf("%d connections more than there should be", n)
			}
		}}
}

// storeVerbs are those of this store. A script that was sent may be done.
func storeVerbs() []backendtest.Verb {
	unknown, timeout := driver.ErrUnknownOutcome, driver.ErrTimeout
	return []backendtest.Verb{
		{Name: "commit of puts", Kind: unknown, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return s.Commit(ctx, s.Tables.Insert(s.T, "ann", "2"))
		}},
		{Name: "commit of a check", Kind: unknown, Call: func(s *backendtest.Silent, ctx context.Context) error { return s.Check(ctx) }},
		{Name: "commits of many at once", Kind: unknown, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return atOnce(func() error { return s.Commit(ctx, s.Tables.Add(s.T, "ann", "1")) })
		}},
		{Name: "gets of many at once", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return atOnce(func() error { return s.Get(ctx, 1) })
		}},
	}
}

// repoVerbs are those of package repo. A write that reads first has done nothing.
func repoVerbs() []backendtest.Verb {
	unknown, timeout := driver.ErrUnknownOutcome, driver.ErrTimeout
	return []backendtest.Verb{
		{Name: "repo get", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			_, err := s.Notes.Get(ctx, repo.Key{"a"})
			return err
		}},
		{Name: "repo get many", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			_, _, err := s.Notes.GetMany(ctx, []repo.Key{{"a"}, {"b"}})
			return err
		}},
		{Name: "repo count", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			_, err := s.Notes.Count(ctx, repo.Where("tag", "x"))
			return err
		}},
		{Name: "repo scan", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return backendtest.Drain(s.Notes.Scan(ctx, repo.All()))
		}},
		{Name: "repo walk", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return backendtest.Drain(s.Notes.Walk(ctx, ""))
		}},
		{Name: "repo verify", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			_, err := s.Notes.Verify(ctx)
			return err
		}},
		{Name: "repo insert", Kind: unknown, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return s.Notes.Insert(ctx, &backendtest.Note{ID: "d", Tag: "x"})
		}},
		{Name: "repo update", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			_, err := s.Notes.Update(ctx, repo.Key{"a"}, func(n *backendtest.Note) error { n.N++; return nil })
			return err
		}},
		{Name: "repo delete", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error { return s.Notes.Delete(ctx, repo.Key{"a"}) }},
		{Name: "repo group", Kind: unknown, Call: func(s *backendtest.Silent, ctx context.Context) error {
			g := s.Notes.Store().Group()
			in := s.Notes.In(g)
			in.Insert(&backendtest.Note{ID: "d", Tag: "x"})
			return g.Commit(ctx)
		}},
		{Name: "repo drop", Kind: timeout, Call: func(s *backendtest.Silent, ctx context.Context) error {
			return repo.DropCollection(ctx, s.Repo, "notes")
		}},
	}
}

// atOnce makes so many calls that they share pipelines, and returns all errors, or
// alone what a call must not return. Some calls may not have sent anything.
func atOnce(call func() error) error {
	errs := make([]error, 32)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()
	for _, err := range errs {
		if !errors.Is(err, driver.ErrTimeout) && !errors.Is(err, driver.ErrUnknownOutcome) {
			return err
		}
	}
	return errors.Join(errs...)
}

// Every call ends at its deadline while the server is silent.
func TestDeadlinesInSilence(t *testing.T) { silence(t).Deadline(t) }
