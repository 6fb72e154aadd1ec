package frame

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// A fake is a backend that notes what reaches it.
type fake struct {
	frame   *Frame[string]
	there   bool // the tables
	reached []string
}

func (b *fake) note(what string) { b.reached = append(b.reached, what) }

func (b *fake) Tables(context.Context, string, []*driver.Table) (Tables[string], error) {
	b.note("tables")
	return b, nil
}

func (b *fake) Absent(t *driver.Table) error {
	if b.there {
		return nil
	}
	return who.NoTable("attach", t)
}

func (b *fake) Declare(context.Context, []*driver.Table) error {
	b.note("declare")
	b.there = true
	return nil
}

func (b *fake) View(t *driver.Table) *string { return &t.Name }

func (b *fake) Drop(context.Context, []*driver.Table) error {
	b.note("drop")
	return nil
}

func (b *fake) Get(context.Context, *string, []driver.Key, []int, []driver.Row) error {
	b.note("get")
	return nil
}

func (b *fake) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		b.frame.Pages(ctx, span, func(_ context.Context, _ *string, p *Pager) error {
			b.note("page")
			p.Rows = append(p.Rows, driver.Row{})
			return nil
		}, yield)
	}
}

func (b *fake) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return b.frame.Chunks(ctx, t, mark, func(_ context.Context, _ *string, mark string) (driver.Chunk, error) {
		b.note("chunk")
		return driver.Chunk{Rows: make([]driver.Row, 1), Mark: mark + "x"}, nil
	})
}

func (b *fake) Commit(context.Context, driver.Token, []driver.Op, []*string) (*driver.Refusal, error) {
	b.note("commit")
	return nil, nil
}

func (b *fake) Close() error {
	b.note("close")
	return nil
}

var (
	column = driver.Column{Name: "k", Kind: driver.String}
	posts  = &driver.Table{Name: "posts", Partition: []driver.Column{column}, Fields: []driver.Column{column}}
	index  = &driver.Table{Name: "posts.by", Class: driver.Rows, Partition: []driver.Column{column}, Home: posts, Native: true}
	other  = &driver.Table{Name: "other", Partition: []driver.Column{column}}
)

func open(t *testing.T, scope driver.Scope) (*Store[string], *fake) {
	t.Helper()
	b := &fake{frame: New[string](who, driver.Facts{Scope: scope})}
	s := b.frame.Store(b)
	if err := s.Define(t.Context(), []*driver.Table{posts, other}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"tables", "tables", "declare", "tables"}; !slices.Equal(b.reached, want) {
		t.Fatalf("define does %q, want %q", b.reached, want)
	}
	b.reached = nil
	return s, b
}

func put(t *driver.Table, partition string) driver.Op {
	return driver.Op{Do: driver.Put, Table: t, Row: driver.Row{Key: driver.Key{Partition: partition}}}
}

// What is invalid does not reach a backend.
func TestInvalidCalls(t *testing.T) {
	s, b := open(t, driver.ScopePartition)
	ctx, token := t.Context(), driver.NewToken()
	over, cancel := context.WithCancel(ctx)
	cancel()
	var nobody context.Context
	rows := make([]driver.Row, 1)
	commit := func(ctx context.Context, token driver.Token, ops ...driver.Op) error {
		_, err := s.Commit(ctx, token, ops)
		return err
	}
	for what, tt := range map[string]struct{ err, want error }{
		"no context":       {commit(nobody, token, put(posts, "a#")), driver.ErrInvalid},
		"a context over":   {commit(over, token, put(posts, "a#")), driver.ErrTimeout},
		"no token":         {commit(ctx, driver.Token{}, put(posts, "a#")), driver.ErrInvalid},
		"a key twice":      {commit(ctx, token, put(posts, "a#"), put(posts, "a#")), driver.ErrInvalid},
		"two partitions":   {commit(ctx, token, put(posts, "a#"), put(posts, "b#")), driver.ErrInvalid},
		"two tables":       {commit(ctx, token, put(posts, "a#"), put(other, "a#")), driver.ErrInvalid},
		"a bad op":         {commit(ctx, token, driver.Op{Do: 99, Table: posts}), driver.ErrInvalid},
		"an unknown table": {commit(ctx, token, put(&driver.Table{Name: "posts"}, "a#")), driver.ErrInvalid},
		"no table":         {s.Get(ctx, nil, make([]driver.Key, 1), nil, rows), driver.ErrInvalid},
		"a native index":   {s.Get(ctx, index, make([]driver.Key, 1), nil, rows), driver.ErrInvalid},
		"a mask":           {s.Get(ctx, posts, make([]driver.Key, 1), []int{1}, rows), driver.ErrInvalid},
		"fewer rows":       {s.Get(ctx, posts, make([]driver.Key, 2), nil, rows), driver.ErrInvalid},
		"no native ones":   {s.Define(ctx, []*driver.Table{index}), driver.ErrUnsupported},
		"no partition":     {s.Define(ctx, []*driver.Table{{Name: "x"}}), driver.ErrInvalid},
		"another place":    {b.frame.Erase(ctx, "the name", "mine", func(context.Context) error { return nil }), driver.ErrInvalid},
	} {
		if !errors.Is(tt.err, tt.want) || !strings.HasPrefix(tt.err.Error(), "store: ") {
			t.Errorf("%s: %v, want %v of the store", what, tt.err, tt.want)
		}
	}
	if err := commit(ctx, token); err != nil || len(b.reached) > 0 {
		t.Errorf("a commit of nothing: %v; the backend was asked to %q", err, b.reached)
	}
	if err := commit(ctx, token, put(posts, "a#")); err != nil || !slices.Equal(b.reached, []string{"commit"}) {
		t.Errorf("a good commit: %v; the backend was asked to %q", err, b.reached)
	}
}

// Loops end with ErrClosed when the store is closed in the middle, and what was dropped is unknown.
func TestCallsAfterTheEnd(t *testing.T) {
	s, b := open(t, driver.ScopeStore)
	ctx := t.Context()
	n, last := 0, error(nil)
	for _, err := range s.Range(ctx, driver.Span{Table: posts}) {
		if last = err; err == nil && n == 0 {
			err = s.Close()
		}
		if n++; err != nil || n > 2 {
			break
		}
	}
	if n != 2 || !errors.Is(last, driver.ErrClosed) {
		t.Errorf("a range ends after %d steps with %v, want ErrClosed", n, last)
	}
	for _, err := range s.Walk(ctx, posts, "") {
		last = err
	}
	_, count := Read(ctx, b.frame, posts, nil, func(*string) (int, error) { return 1, nil })
	for what, err := range map[string]error{"walk": last, "count": count, "drop": s.Drop(ctx, []*driver.Table{posts}), "close": s.Close()} {
		if errors.Is(err, driver.ErrClosed) != (what != "close") {
			t.Errorf("%s of a closed store: %v", what, err)
		}
	}
	if want := []string{"page", "close"}; !slices.Equal(b.reached, want) {
		t.Errorf("the backend was asked to %q, want %q", b.reached, want)
	}
	s, _ = open(t, driver.ScopeStore)
	if err := s.Drop(ctx, []*driver.Table{{Name: "posts"}}); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Walk(ctx, posts, "") {
		if !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("a walk of a table that was dropped: %v, want ErrInvalid", err)
		}
		break
	}
}

// The frame costs no memory, but for what a pool forgets where it holds the keys of a large commit.
func TestAllocations(t *testing.T) {
	s, b := open(t, driver.ScopeStore)
	ctx, token := t.Context(), driver.NewToken()
	keys, rows, mask := make([]driver.Key, 1), make([]driver.Row, 1), []int{0}
	few, many := []driver.Op{put(posts, "a#"), put(other, "a#")}, []driver.Op(nil)
	for i := range 40 {
		many = append(many, put(posts, strings.Repeat("a", i)+"#"))
	}
	b.reached = make([]string, 0, 10_000)
	for what, call := range map[string]struct {
		most float64
		do   func()
	}{
		"a get":                      {0, func() { _ = s.Get(ctx, posts, keys, mask, rows) }},
		"a commit":                   {0, func() { _, _ = s.Commit(ctx, token, few) }},
		"a large commit, of 40 rows": {10, func() { _, _ = s.Commit(ctx, token, many) }},
	} {
		if n := testing.AllocsPerRun(200, call.do); n > call.most {
			t.Errorf("%s makes %v allocations, want %v at most", what, n, call.most)
		}
	}
}
