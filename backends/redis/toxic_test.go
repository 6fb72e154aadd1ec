package redis_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/redis"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/internal/toxic"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

type note struct {
	ID      string       `repo:"id"`
	Tag     string       `repo:"tag"`
	N       int64        `repo:"n"`
	Version repo.Version `repo:",version"`
}

// A silent has a store, with some records, behind a network that will be silent.
type silent struct {
	t     *testing.T
	proxy *toxic.Proxy
	name  string // of the connections
	url   string
	store *redis.Store
	ts    *tables
	repo  *repo.Store
	notes *repo.Repo[note]
	last  note
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	s := &silent{t: t, proxy: toxic.New(t, testserver.Shared(t, testserver.Redis).Addr), name: driver.NewToken().String()}
	s.url = "redis://" + s.proxy.Addr() + "?client_name=" + s.name + "&prefix=" + s.name
	s.store, s.ts = open(t, s.url)
	mustCommit(t, s.store, s.ts.insert(t, "ann", "1"))
	mustCommit(t, s.store, s.ts.add(t, "ann", "1"))
	s.repo = repo.NewStore(s.store, nil)
	var err error
	if s.notes, err = repo.Open[note](t.Context(), s.repo, noteSchema()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		s.last = note{ID: id, Tag: "x"}
		if err := s.notes.Insert(t.Context(), &s.last); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func noteSchema() repo.Schema {
	return repo.Schema{Collection: "notes", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"tag"}, Sort: []string{"id"}}}}
}

func (s *silent) commit(ctx context.Context, ops []driver.Op) error {
	_, err := s.store.Commit(ctx, driver.NewToken(), ops)
	return err
}

func (s *silent) span() driver.Span {
	return driver.Span{Table: s.ts.posts, Key: driver.Key{Partition: "ann#"}}
}

// drain returns the error of a sequence.
func drain[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// A verb is a call, and what it returns when its context ends in silence.
type verb struct {
	name string
	kind error
	call func(s *silent, ctx context.Context) error
}

// driverVerbs are those of the store.
func driverVerbs() []verb {
	unknown, timeout := driver.ErrUnknownOutcome, driver.ErrTimeout
	return []verb{
		{"get", timeout, func(s *silent, ctx context.Context) error {
			return s.store.Get(ctx, s.ts.posts, []driver.Key{keyOf(s.t, s.ts.posts, "ann", "1")}, nil, make([]driver.Row, 1))
		}},
		{"get of several", timeout, func(s *silent, ctx context.Context) error {
			key := keyOf(s.t, s.ts.posts, "ann", "1")
			return s.store.Get(ctx, s.ts.posts, []driver.Key{key, key, key}, []int{fViews}, make([]driver.Row, 3))
		}},
		{"range", timeout, func(s *silent, ctx context.Context) error { return drain(s.store.Range(ctx, s.span())) }},
		{"count", timeout, func(s *silent, ctx context.Context) error {
			_, err := s.store.Count(ctx, s.span())
			return err
		}},
		{"size", timeout, func(s *silent, ctx context.Context) error {
			_, err := s.store.Size(ctx, s.ts.posts)
			return err
		}},
		{"walk", timeout, func(s *silent, ctx context.Context) error { return drain(s.store.Walk(ctx, s.ts.posts, "")) }},
		{"define", timeout, func(s *silent, ctx context.Context) error { return s.store.Define(ctx, s.ts.all()) }},
		{"attach", timeout, func(s *silent, ctx context.Context) error { return s.store.Attach(ctx, s.ts.all()) }},
		{"drop", timeout, func(s *silent, ctx context.Context) error { return s.store.Drop(ctx, s.ts.all()) }},
		{"open", timeout, func(s *silent, ctx context.Context) error {
			_, err := redis.Open(ctx, s.url)
			return err
		}},
		{"commit of puts", unknown, func(s *silent, ctx context.Context) error { return s.commit(ctx, s.ts.insert(s.t, "ann", "2")) }},
		{"commit of a patch", unknown, func(s *silent, ctx context.Context) error { return s.commit(ctx, s.ts.add(s.t, "ann", "1")) }},
		{"commit of a check", unknown, func(s *silent, ctx context.Context) error {
			return s.commit(ctx, []driver.Op{{Do: driver.Check, Table: s.ts.posts, If: driver.Present, Row: driver.Row{Key: keyOf(s.t, s.ts.posts, "ann", "1")}}})
		}},
		{"commits of many at once", unknown, func(s *silent, ctx context.Context) error {
			return atOnce(func() error { return s.commit(ctx, s.ts.add(s.t, "ann", "1")) })
		}},
		{"gets of many at once", timeout, func(s *silent, ctx context.Context) error {
			return atOnce(func() error {
				return s.store.Get(ctx, s.ts.posts, []driver.Key{keyOf(s.t, s.ts.posts, "ann", "1")}, nil, make([]driver.Row, 1))
			})
		}},
	}
}

// repoVerbs are those of package repo. A write that reads first has done nothing.
func repoVerbs() []verb {
	unknown, timeout := driver.ErrUnknownOutcome, driver.ErrTimeout
	return []verb{
		{"repo get", timeout, func(s *silent, ctx context.Context) error {
			_, err := s.notes.Get(ctx, repo.Key{"a"})
			return err
		}},
		{"repo get many", timeout, func(s *silent, ctx context.Context) error {
			_, _, err := s.notes.GetMany(ctx, []repo.Key{{"a"}, {"b"}})
			return err
		}},
		{"repo find", timeout, func(s *silent, ctx context.Context) error { return drain(s.notes.Find(ctx, repo.Where("tag", "x"))) }},
		{"repo count", timeout, func(s *silent, ctx context.Context) error {
			_, err := s.notes.Count(ctx, repo.Where("tag", "x"))
			return err
		}},
		{"repo scan", timeout, func(s *silent, ctx context.Context) error { return drain(s.notes.Scan(ctx, repo.All())) }},
		{"repo walk", timeout, func(s *silent, ctx context.Context) error { return drain(s.notes.Walk(ctx, "")) }},
		{"repo verify", timeout, func(s *silent, ctx context.Context) error {
			_, err := s.notes.Verify(ctx)
			return err
		}},
		{"repo insert", unknown, func(s *silent, ctx context.Context) error { return s.notes.Insert(ctx, &note{ID: "d", Tag: "x"}) }},
		{"repo patch", unknown, func(s *silent, ctx context.Context) error {
			_, err := s.notes.Patch(ctx, repo.Key{"a"}, repo.Add("n", 1))
			return err
		}},
		{"repo update", timeout, func(s *silent, ctx context.Context) error {
			_, err := s.notes.Update(ctx, repo.Key{"a"}, func(n *note) error { n.N++; return nil })
			return err
		}},
		{"repo delete", timeout, func(s *silent, ctx context.Context) error { return s.notes.Delete(ctx, repo.Key{"a"}) }},
		{"repo group", unknown, func(s *silent, ctx context.Context) error {
			g := s.notes.Group()
			g.Insert(&note{ID: "d", Tag: "x"})
			return g.Commit(ctx)
		}},
		{"repo open", timeout, func(s *silent, ctx context.Context) error {
			_, err := repo.Open[note](ctx, repo.NewStore(s.store, nil), noteSchema())
			return err
		}},
		{"repo drop", timeout, func(s *silent, ctx context.Context) error { return repo.DropCollection(ctx, s.repo, "notes") }},
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

const (
	silence = 200 * time.Millisecond // until the context ends
	slack   = 250 * time.Millisecond
)

// An ending is a context that ends after a time of silence.
type ending func(parent context.Context) (context.Context, context.CancelFunc)

// endsInSilence calls every verb while the network is silent, with a context that
// ends, and sees that the call ends with it, and that nothing of it is left: neither
// a goroutine nor a connection, while the store is open and thereafter.
func endsInSilence(t *testing.T, end ending, cause error) {
	t.Helper()
	admin := raw(t, testserver.Shared(t, testserver.Redis).Addr)
	t.Run("verbs", func(t *testing.T) {
		for _, v := range append(driverVerbs(), repoVerbs()...) {
			t.Run(v.name, func(t *testing.T) {
				t.Parallel()
				s := newSilent(t)
				s.proxy.Set(toxic.Fault{Kind: toxic.Drop})
				ctx, cancel := end(t.Context())
				defer cancel()
				begun := time.Now()
				err := v.call(s, ctx)
				took := time.Since(begun)
				if !errors.Is(err, v.kind) || !errors.Is(err, cause) {
					t.Errorf("%v, want %v and %v", err, v.kind, cause)
				}
				if took < silence-10*time.Millisecond || took > silence+slack {
					t.Errorf("it took %s, want %s", took.Round(time.Millisecond), silence)
				}
				s.proxy.Heal()
				if err := s.store.Define(t.Context(), s.ts.all()); err != nil {
					t.Errorf("when it was over: %v", err)
				}
				connections := func() int { return strings.Count(do(t, admin, "CLIENT", "LIST").(string), "name="+s.name) }
				if n := await(func() int { return max(0, connections()-4) }); n > 0 {
					t.Errorf("%d connections more than there should be", n)
				}
				s.repo.Close()
				if n := await(connections); n > 0 {
					t.Errorf("%d connections after Close", n)
				}
			})
		}
	})
	if n := await(func() int { return strings.Count(stacks(), "backends/redis.(*") }); n != 0 {
		t.Errorf("%d goroutines are in a store:\n%s", n, stacks())
	}
}

// Every call ends at its deadline while the server is silent.
func TestDeadlinesInSilence(t *testing.T) {
	endsInSilence(t, func(parent context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(parent, silence)
	}, context.DeadlineExceeded)
}
