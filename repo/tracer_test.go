package repo_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A telling store is one that tells what it sends: a request for each call.
type telling struct{ driver.Store }

func (s telling) Facts() driver.Facts {
	f := s.Store.Facts()
	f.Tallies, f.Namespace = true, "blog"
	return f
}

func (s telling) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	sent := driver.TallyOf(ctx).Begin(ctx, len(keys))
	err := s.Store.Get(ctx, t, keys, mask, rows)
	sent.End(1, len(keys), err)
	return err
}

func (s telling) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	driver.TallyOf(ctx).Begin(ctx, 1).End(1, 1, nil)
	return s.Store.Range(ctx, span)
}

func (s telling) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	driver.TallyOf(ctx).Begin(ctx, 1).End(1, 1, nil)
	return s.Store.Walk(ctx, t, mark)
}

func (s telling) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	sent := driver.TallyOf(ctx).Begin(ctx, 1)
	refusal, err := s.Store.Commit(ctx, token, ops)
	sent.End(1, 1, err)
	return refusal, err
}

// spans are what a tracer was told, as a tree of indented lines, and by events.
type spans struct {
	mu     sync.Mutex
	lines  []string
	ends   []repo.Event
	open   int
	attrs  []string
	misuse string // the tracer's function that panics
}

type depthKey struct{}

func (s *spans) tracer() repo.Tracer {
	return repo.Tracer{Begin: s.begin, Request: s.request}
}

func (s *spans) begin(ctx context.Context, e repo.Event) (context.Context, func(repo.Event)) {
	depth, _ := ctx.Value(depthKey{}).(int)
	s.told("begin", depth, e.Op+" "+e.Collection, e)
	return context.WithValue(ctx, depthKey{}, depth+1), func(e repo.Event) {
		s.ended("end", e)
	}
}

func (s *spans) request(ctx context.Context, e repo.Event) func(repo.Event) {
	depth, _ := ctx.Value(depthKey{}).(int)
	s.told("request", depth, fmt.Sprint("request of ", e.Op, " ", e.Batch), e)
	return func(e repo.Event) { s.ended("answer", e) }
}

func (s *spans) told(what string, depth int, line string, e repo.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misuse == what {
		panic(what)
	}
	s.open++
	s.lines = append(s.lines, strings.Repeat("  ", depth)+line)
	s.note(e)
}

func (s *spans) ended(what string, e repo.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.misuse == what {
		panic(what)
	}
	s.open--
	if what == "end" {
		s.ends = append(s.ends, e)
	}
	s.note(e)
}

func (s *spans) note(e repo.Event) {
	for name, value := range e.Attributes() {
		s.attrs = append(s.attrs, fmt.Sprint(name, "=", value))
	}
}

// last returns the end of the operation that ended last, and fails if another is open.
func (s *spans) last(t *testing.T) repo.Event {
	t.Helper()
	if s.open != 0 || len(s.ends) == 0 {
		t.Fatalf("%d spans are open, %d operations have ended", s.open, len(s.ends))
	}
	return s.ends[len(s.ends)-1]
}

func openTraced(t *testing.T, s *spans) *repo.Repo[post] {
	t.Helper()
	store := repo.NewStore(telling{memory.New(nil)}, &repo.Options{Tracer: s.tracer()})
	t.Cleanup(func() { store.Close() })
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	return posts
}

// Requests nest below operations, and these below the caller's own spans.
func TestSpansNest(t *testing.T) {
	var s spans
	posts := openTraced(t, &s)
	fillBlog(t, posts)
	s.lines = nil
	mine := context.WithValue(t.Context(), depthKey{}, 2)
	for _, err := range posts.Find(mine, repo.Where("author", "user:1000").Order("-created").Limit(2)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := posts.Exists(mine, repo.Key{"none", "0"}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"    find posts",
		"      request of find 1",
		"      request of find 2",
		"    exists posts",
		"      request of exists 1",
		"    exists posts",
		"      request of exists 1",
	}
	if diff := cmp.Diff(want, s.lines); diff != "" {
		t.Error(diff)
	}
	e := s.last(t)
	if got := fmt.Sprint(e.Op, " ", e.Store, " ", e.Namespace, " ", e.Index, " ", e.Depth, e.Requests, e.Records); got != "find memory blog by_author_created_desc 2 3 2" {
		t.Errorf("the loop ended as %s", got)
	}
}

// Each way out of a loop ends its operation, once.
func TestLoopsEnd(t *testing.T) {
	var s spans
	posts := openTraced(t, &s)
	fillBlog(t, posts)
	q := repo.Where("author", "user:1000")
	loops := map[string]func(body func() bool){
		"find": func(body func() bool) { posts.Find(t.Context(), q)(func(post, error) bool { return body() }) },
		"keys": func(body func() bool) { posts.Keys(t.Context(), q)(func(repo.Key, error) bool { return body() }) },
		"scan": func(body func() bool) { posts.Scan(t.Context(), q)(func(post, error) bool { return body() }) },
		"walk": func(body func() bool) {
			posts.Walk(t.Context(), "")(func(repo.Chunk[post], error) bool { return body() })
		},
	}
	for op, loop := range loops {
		for way, tt := range map[string]struct {
			body func() bool
			kind string
		}{
			"to the end": {func() bool { return true }, ""},
			"break":      {func() bool { return false }, ""},
			"panic":      {func() bool { panic("of the body") }, "panic"},
			"goexit":     {func() bool { runtime.Goexit(); return true }, "panic"},
		} {
			s.ends = nil
			var all sync.WaitGroup
			all.Go(func() {
				defer func() { _ = recover() }()
				loop(tt.body)
			})
			all.Wait()
			if e := s.last(t); e.Op != op || e.Kind() != tt.kind || len(s.ends) != 1 || e.Took <= 0 || e.Records == 0 {
				t.Errorf("%s, %s: ended as %+v", op, way, s.ends)
			}
		}
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = posts.Update(t.Context(), repo.Key{"user:1000", "P0001"}, func(*post) error { panic("of fn") })
	}()
	if e := s.last(t); e.Kind() != "panic" {
		t.Errorf("an Update whose function panics ended as %+v", e)
	}
}

// A tracer that panics loses what it traces, and nothing else.
func TestTracersMayPanic(t *testing.T) {
	for _, misuse := range []string{"begin", "end", "request", "answer"} {
		s := spans{}
		posts := openTraced(t, &s)
		s.misuse = misuse
		if err := posts.Insert(t.Context(), &post{Author: "a", ID: "1"}); err != nil {
			t.Errorf("%s panics: insert: %v", misuse, err)
		}
		if got, err := posts.Get(t.Context(), repo.Key{"a", "1"}); err != nil || got.ID != "1" {
			t.Errorf("%s panics: get: %v, %v", misuse, got, err)
		}
		if got := ids(t, posts, repo.Where("author", "a")); !slices.Equal(got, []string{"1"}) {
			t.Errorf("%s panics: find: %v", misuse, got)
		}
		if misuse == "begin" && len(s.ends) > 1 { // that of Open
			t.Errorf("%v ended, which had not begun", s.ends)
		}
	}
}

// A tracer may want nothing: neither functions nor contexts, and one may have no context to give.
func TestTracersMayBeNil(t *testing.T) {
	quiet := repo.Tracer{
		Begin:   func(context.Context, repo.Event) (context.Context, func(repo.Event)) { return nil, nil },
		Request: func(context.Context, repo.Event) func(repo.Event) { return nil },
	}
	var s spans
	for _, tracer := range []repo.Tracer{quiet, {Begin: quiet.Begin}, {Request: quiet.Request}, {Begin: s.begin}, {Request: s.request}} {
		store := repo.NewStore(telling{memory.New(nil)}, &repo.Options{Tracer: tracer})
		posts, err := repo.Open[post](t.Context(), store, blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		if err := posts.Insert(t.Context(), &post{Author: "a", ID: "1"}); err != nil {
			t.Error(err)
		}
		var none context.Context
		if err := posts.Insert(none, &post{Author: "a", ID: "2"}); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("without a context: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	if e := s.last(t); e.Kind() != "invalid" {
		t.Errorf("what has no context ended as %+v", e)
	}
}

// What operations tell at their end, and by what kind.
func TestEvents(t *testing.T) {
	var s spans
	posts := openTraced(t, &s)
	fillBlog(t, posts)
	ctx, gone := t.Context(), func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}()
	key := repo.Key{"user:1000", "P0001"}
	for _, tt := range []struct {
		do   func() error
		want string // op, kind, batch, conflicts, retries, records
	}{
		{func() error { return second(posts.Get(ctx, key)) }, "get,,0 0 0 1"},
		{func() error { return second(posts.Get(ctx, repo.Key{"none", "0"})) }, "get,not_found,0 0 0 0"},
		{func() error { return posts.Insert(ctx, &post{Author: "user:1000", ID: "P0001"}) }, "insert,exists,0 1 0 0"},
		{func() error { return second(posts.Page(ctx, repo.Where("category", "IT"), "")) }, "page,,0 0 0 2"},
		{func() error { return second(posts.Page(ctx, repo.Where("category", "IT"), "x")) }, "page,bad_cursor,0 0 0 0"},
		{func() error { return second(posts.One(ctx, repo.Where("title", "x"))) }, "one,no_index,0 0 0 0"},
		{func() error { return second(posts.Count(gone, repo.Where("category", "IT"))) }, "count,canceled,0 0 0 0"},
		{func() error {
			_, _, err := posts.GetMany(ctx, []repo.Key{key, {"none", "0"}, {"user:1000", "P0002"}})
			return err
		}, "get many,,3 0 0 2"},
		{func() error {
			g := posts.Store().Group()
			in := posts.In(g)
			in.Insert(&post{Author: "user:1000", ID: "P0008"})
			in.Delete(repo.Key{"user:1000", "P0008x"})
			return g.Commit(ctx)
		}, "commit,,2 0 0 0"},
		{func() error {
			once := sync.OnceFunc(func() { setTitle(t, posts, key, "faster") })
			return second(posts.Update(ctx, key, func(p *post) error { once(); p.Title = "slower"; return nil }))
		}, "update,,0 1 1 0"},
		{func() error {
			return second(posts.Update(ctx, key, func(*post) error { return errors.New("no") }))
		}, "update,_OTHER,0 0 0 0"},
		{func() error { return repo.DropCollection(ctx, posts.Store(), "posts") }, "drop,,0 0 0 0"},
	} {
		_ = tt.do()
		e := s.last(t)
		if got := fmt.Sprintf("%s,%s,%d %d %d %d", e.Op, e.Kind(), e.Batch, e.Conflicts, e.Retries, e.Records); got != tt.want || e.Collection != "posts" {
			t.Errorf("%s on %q, want %s", got, e.Collection, tt.want)
		}
	}
}

func setTitle(t *testing.T, posts *repo.Repo[post], key repo.Key, title string) {
	t.Helper()
	if _, err := posts.Patch(t.Context(), key, repo.Set("title", title)); err != nil {
		t.Error(err)
	}
}

// Attributes have neither keys nor values, whatever fails; the error of an event has.
func TestAttributesTellNothing(t *testing.T) {
	var s spans
	posts := openTraced(t, &s)
	const secret = "sesame"
	taken := secret
	p := post{Author: secret, ID: secret, Category: secret, Title: secret, Slug: &taken, Tags: []string{secret}}
	ctx, key := t.Context(), repo.Key{secret, secret}
	_ = posts.Insert(ctx, &p)
	_ = posts.Insert(ctx, &post{Author: secret, ID: secret})
	_ = posts.Insert(ctx, &post{Author: "b", ID: "b", Slug: &taken})
	_ = posts.Replace(ctx, &post{Author: secret, ID: secret, Version: repo.Version{1}})
	_ = second(posts.Get(ctx, key))
	_ = second(posts.Get(ctx, repo.Key{secret, secret, secret}))
	_ = second(posts.Update(ctx, key, func(*post) error { return errors.New(secret) }))
	_ = second(posts.Patch(ctx, key, repo.Set(secret, secret)))
	_ = second(repo.Collect(posts.Find(ctx, repo.Where("category", secret))))
	_ = second(repo.Collect(posts.Scan(ctx, repo.Where("title", secret))))
	_ = second(posts.Page(ctx, repo.Where("slug", secret), secret))
	_ = second(posts.InsertAll(ctx, func(yield func(post, error) bool) { yield(p, nil) }))
	for _, a := range s.attrs {
		if strings.Contains(a, secret) {
			t.Errorf("the attribute %s", a)
		}
	}
	if told := fmt.Sprint(s.ends); !strings.Contains(told, secret) || len(s.attrs) < 50 {
		t.Errorf("nothing was told that is secret: %s", told)
	}
}

// The error of a request has the text of a client or server, which Redact leaves out.
func TestRequestErrorsAreRedacted(t *testing.T) {
	for _, redact := range []bool{false, true} {
		var got error
		tracer := repo.Tracer{Request: func(context.Context, repo.Event) func(repo.Event) {
			return func(e repo.Event) { got = stdcmp.Or(got, e.Err) }
		}}
		store := repo.NewStore(failing{memory.New(nil)}, &repo.Options{Tracer: tracer, Redact: redact})
		posts, err := repo.Open[post](t.Context(), store, blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = posts.Exists(t.Context(), repo.Key{"sesame", "1"})
		if !errors.Is(got, driver.ErrUnavailable) || strings.Contains(got.Error(), "sesame") == redact {
			t.Errorf("redacted %v: %v", redact, got)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A failing store fails to get posts, by a request whose error names their author.
type failing struct{ driver.Store }

func (s failing) Facts() driver.Facts { return telling(s).Facts() }

func (s failing) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if t.Name != "posts" {
		return s.Store.Get(ctx, t, keys, mask, rows)
	}
	err := fmt.Errorf("server: no %s: %w", keys[0].Partition, driver.ErrUnavailable)
	driver.TallyOf(ctx).Begin(ctx, 1).End(1, 1, err)
	return driver.Hide(err, "failed")
}
