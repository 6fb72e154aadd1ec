package mongo_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/mongo"
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

func noteSchema() repo.Schema {
	return repo.Schema{Collection: "notes", Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"tag"}, Sort: []string{"id"}}}}
}

// A silent has a store, with some records, behind a network that will be silent.
type silent struct {
	t     *testing.T
	proxy *toxic.Proxy
	url   string
	store *mongo.Store
	ts    *tables
	repo  *repo.Store
	notes *repo.Repo[note]
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	s := &silent{t: t, proxy: toxic.New(t, testserver.Shared(t, testserver.Mongo).Addr)}
	s.url = "mongodb://" + s.proxy.Addr() + "/?directConnection=true&database=test" + driver.NewToken().String()
	s.store, s.ts = open(t, s.url)
	mustCommit(t, s.store, s.ts.insert(t, "ann", "1"))
	s.repo = repo.NewStore(s.store, nil)
	var err error
	if s.notes, err = repo.Open[note](t.Context(), s.repo, noteSchema()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := s.notes.Insert(t.Context(), &note{ID: id, Tag: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	return s
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

// driverVerbs are those of the store. A transaction of which no commit was sent has done
// nothing.
func driverVerbs() []verb {
	unknown, timeout := driver.ErrUnknownOutcome, driver.ErrTimeout
	return []verb{
		{"get", timeout, func(s *silent, ctx context.Context) error {
			return s.store.Get(ctx, s.ts.posts, []driver.Key{keyOf(s.t, s.ts.posts, "ann", "1")}, nil, make([]driver.Row, 1))
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
		{"processor time", timeout, func(s *silent, ctx context.Context) error {
			_, err := s.store.CPU(ctx)
			return err
		}},
		{"walk", timeout, func(s *silent, ctx context.Context) error { return drain(s.store.Walk(ctx, s.ts.posts, "")) }},
		{"define", timeout, func(s *silent, ctx context.Context) error { return s.store.Define(ctx, s.ts.all()) }},
		{"attach", timeout, func(s *silent, ctx context.Context) error { return s.store.Attach(ctx, s.ts.all()) }},
		{"drop", timeout, func(s *silent, ctx context.Context) error { return s.store.Drop(ctx, s.ts.all()) }},
		{"open", timeout, func(s *silent, ctx context.Context) error {
			_, err := mongo.Open(ctx, s.url)
			return err
		}},
		{"commit of a put", unknown, func(s *silent, ctx context.Context) error { return s.commit(ctx, s.ts.insert(s.t, "ann", "2")[:1]) }},
		{"commit of a patch", unknown, func(s *silent, ctx context.Context) error { return s.commit(ctx, s.ts.add(s.t, "ann", "1")) }},
		{"commit of several", timeout, func(s *silent, ctx context.Context) error { return s.commit(ctx, s.ts.insert(s.t, "ann", "2")) }},
		{"commit of a check", timeout, func(s *silent, ctx context.Context) error {
			return s.commit(ctx, []driver.Op{{Do: driver.Check, Table: s.ts.posts, If: driver.Present, Row: driver.Row{Key: keyOf(s.t, s.ts.posts, "ann", "1")}}})
		}},
	}
}

// repoVerbs are some of package repo.
func repoVerbs() []verb {
	unknown, timeout := driver.ErrUnknownOutcome, driver.ErrTimeout
	return []verb{
		{"repo find", timeout, func(s *silent, ctx context.Context) error { return drain(s.notes.Find(ctx, repo.Where("tag", "x"))) }},
		{"repo insert", timeout, func(s *silent, ctx context.Context) error { return s.notes.Insert(ctx, &note{ID: "d", Tag: "x"}) }},
		{"repo patch", unknown, func(s *silent, ctx context.Context) error {
			_, err := s.notes.Patch(ctx, repo.Key{"a"}, repo.Add("n", 1))
			return err
		}},
		{"repo open", timeout, func(s *silent, ctx context.Context) error {
			_, err := repo.Open[note](ctx, repo.NewStore(s.store, nil), noteSchema())
			return err
		}},
	}
}

const (
	silence = 300 * time.Millisecond // until the context ends
	slack   = 500 * time.Millisecond
)

// endsInSilence calls every verb while the network is silent, with a context that ends,
// and sees that the call ends with it, and that nothing of it is left.
func endsInSilence(t *testing.T, end func(parent context.Context) (context.Context, context.CancelFunc), cause error) {
	t.Helper()
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
				if v.kind != driver.ErrUnknownOutcome && errors.Is(err, driver.ErrUnknownOutcome) {
					t.Errorf("the outcome is unknown: %v", err)
				}
				if took < silence-20*time.Millisecond || took > silence+slack {
					t.Errorf("it took %s, want %s", took.Round(time.Millisecond), silence)
				}
				s.proxy.Heal()
				if err := s.store.Define(t.Context(), s.ts.all()); err != nil {
					t.Errorf("when it was over: %v", err)
				}
				s.repo.Close()
				if n := await(s.proxy.Links); n > 0 {
					t.Errorf("%d connections after Close", n)
				}
			})
		}
	})
	if n := await(func() int { return strings.Count(stacks(), "backends/mongo.(*") }); n != 0 {
		t.Errorf("%d goroutines are in a store:\n%s", n, stacks())
	}
}

// Every call ends at its deadline while the server is silent.
func TestDeadlinesInSilence(t *testing.T) {
	endsInSilence(t, func(parent context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(parent, silence)
	}, context.DeadlineExceeded)
}

// Every call ends when it is cancelled while the server is silent.
func TestCancellationsInSilence(t *testing.T) {
	endsInSilence(t, func(parent context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(parent)
		timer := time.AfterFunc(silence, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	}, context.Canceled)
}

// A connection that breaks before a request has left, or was answered.
func TestCutConnections(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault toxic.Fault
		there bool // what was asked for was done
	}{
		{toxic.Fault{Kind: toxic.Drop, Way: toxic.Requests}, false},
		{toxic.Fault{Kind: toxic.Drop, Way: toxic.Answers}, true},
	} {
		s := newSilent(t)
		ops, token := s.ts.insert(t, "ann", "cut")[:1], driver.NewToken()
		s.proxy.Set(tt.fault)
		ended := make(chan error, 1)
		go func() {
			_, err := s.store.Commit(context.WithoutCancel(t.Context()), token, ops)
			ended <- err
		}()
		time.Sleep(100 * time.Millisecond)
		s.proxy.Heal() // it breaks the connections
		if err := <-ended; !errors.Is(err, driver.ErrUnknownOutcome) {
			t.Errorf("%v: %v, want ErrUnknownOutcome", tt.fault, err)
		}
		if n := s.ts.there(t, s.store, s.ts.posts, ops[0].Row.Key); (n == 1) != tt.there {
			t.Errorf("%v: %d records are there, want one: %v", tt.fault, n, tt.there)
		}
		if refusal, err := s.store.Commit(t.Context(), token, ops); refusal != nil || err != nil {
			t.Errorf("%v, sent again: %v, %v", tt.fault, refusal, err)
		}
		s.proxy.Set(toxic.Fault{Kind: toxic.Reset})
		if err := s.commit(t.Context(), s.ts.insert(t, "ann", "several")); !errors.Is(err, driver.ErrUnavailable) {
			t.Errorf("a transaction without a network: %v, want ErrUnavailable", err)
		}
		s.proxy.Heal()
	}
}

// await calls n until it is 0, for three seconds at most.
func await(n func() int) int {
	for begun := time.Now(); n() != 0 && time.Since(begun) < 3*time.Second; {
		time.Sleep(10 * time.Millisecond)
	}
	return n()
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
