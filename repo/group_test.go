package repo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A slower store lets another writer do something before its next commit.
type slower struct {
	driver.Store
	meanwhile func()
}

func (s *slower) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if f := s.meanwhile; f != nil {
		s.meanwhile = nil
		f()
	}
	return s.Store.Commit(ctx, token, ops)
}

func TestGroupMeetsOtherWriters(t *testing.T) {
	ctx, text := t.Context(), func(s string) *string { return &s }
	backend := &slower{Store: memory.New(nil)}
	posts, err := repo.Open[post](ctx, repo.NewStore(backend, nil), blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	write := func(id, slug string) func() {
		return func() {
			if err := posts.Put(ctx, &post{Author: "u", ID: id, Slug: text(slug)}); err != nil {
				t.Error(err)
			}
		}
	}
	write("old", "home")()

	// The value passes on although its owner was changed meanwhile.
	g := posts.Store().Group()
	in := posts.In(g)
	in.Put(&post{Author: "u", ID: "new", Slug: text("home")})
	in.Put(&post{Author: "u", ID: "old", Slug: text("away")})
	backend.meanwhile = write("old", "other")
	if err := g.Commit(ctx); err != nil {
		t.Errorf("a group that passes a value on: %v", err)
	}

	// What is deleted together with another change is gone with that.
	g = posts.Store().Group()
	in = posts.In(g)
	in.Delete(repo.Key{"u", "late"})
	in.Put(&post{Author: "u", ID: "kept"})
	backend.meanwhile = write("late", "late")
	if err := g.Commit(ctx); err != nil {
		t.Errorf("a group that deletes: %v", err)
	}
	if found, err := posts.Exists(ctx, repo.Key{"u", "late"}); found || err != nil {
		t.Errorf("a record that the group deletes is there: %v, %v", found, err)
	}
	g = posts.Store().Group()
	in = posts.In(g)
	in.Delete(repo.Key{"u", "late"})
	in.Delete(repo.Key{"u", "later"})
	if err := g.Commit(ctx); err != nil {
		t.Errorf("a group that deletes nothing: %v", err)
	}

	// Two records that want the same value are told which.
	g = posts.Store().Group()
	in = posts.In(g)
	in.Insert(&post{Author: "u", ID: "1", Slug: text("same")})
	in.Insert(&post{Author: "u", ID: "2", Slug: text("same")})
	err = g.Commit(ctx)
	if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrExists) || e.Index != "by_slug" || e.Key != "u/2" {
		t.Errorf("a group with one value twice: %v, want ErrExists of by_slug and u/2", err)
	}
	checkClean(t, posts)
}

// Of a group that cannot be done a key that is there is told of before a value that is taken,
// however the unique index is kept: by another record, or by one of the group.
func TestKeysAreToldOfFirst(t *testing.T) {
	apart := driver.ScopePartition
	for name, opts := range map[string]memory.Options{"with the record": {}, "native": {Native: true}, "apart": {Scope: &apart}} {
		posts, err := repo.Open[post](t.Context(), repo.NewStore(memory.New(&opts), nil), blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		home, same := "home", "same"
		for _, p := range []post{{Author: "u", ID: "old", Slug: &home}, {Author: "u", ID: "there"}} {
			if err := posts.Insert(t.Context(), &p); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			group      []post
			key, index string
		}{
			{[]post{{ID: "1", Slug: &home}, {ID: "there"}}, "u/there", ""},
			{[]post{{ID: "1", Slug: &same}, {ID: "2", Slug: &same}, {ID: "there"}}, "u/there", ""},
			{[]post{{ID: "there"}, {ID: "1", Slug: &home}}, "u/there", ""},
			{[]post{{ID: "there"}, {ID: "none", Title: "new"}}, "u/there", ""},
			{[]post{{ID: "1"}, {ID: "2", Slug: &home}}, "u/2", "by_slug"},
		} {
			g := posts.Store().Group()
			in := posts.In(g)
			for _, p := range tt.group {
				if p.Author = "u"; p.Title == "new" {
					in.Replace(&p) // there is none
				} else {
					in.Insert(&p)
				}
			}
			err := g.Commit(t.Context())
			e, ok := errors.AsType[*repo.Error](err)
			if !ok || !errors.Is(err, repo.ErrExists) || e.Key != tt.key || e.Index != tt.index {
				t.Errorf("%s: %v, want ErrExists of %s and index %q", name, err, tt.key, tt.index)
			}
		}
		checkClean(t, posts)
	}
}

// A bounded store takes few rows and bytes in a commit.
type bounded struct {
	driver.Store
	commits int // rows of the largest
	number  int
}

func (s *bounded) Facts() driver.Facts {
	f := s.Store.Facts()
	f.MaxOps, f.MaxBytes = 6, 1<<20
	return f
}

func (s *bounded) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	s.commits, s.number = max(s.commits, len(ops)), s.number+1
	return s.Store.Commit(ctx, token, ops)
}

// A group with more rows than the store takes is refused before anything is written, and the
// error says what to do. One record may have any number of rows.
func TestLargeGroup(t *testing.T) {
	s := &bounded{Store: memory.New(nil)}
	type item struct {
		Box  string   `repo:"box"`
		N    int      `repo:"n"`
		Tags []string `repo:"tags"`
	}
	items, err := repo.Open[item](t.Context(), repo.NewStore(s, nil), repo.Schema{Collection: "items", Partition: []string{"box"}, Sort: []string{"n"},
		Indexes: []repo.Index{{Partition: []string{"tags[]"}, Sort: []string{"n"}, Kind: "table"}}})
	if err != nil {
		t.Fatal(err)
	}
	group := func(box string, n int, tags ...string) error {
		g := items.Store().Group()
		in := items.In(g)
		for i := range n {
			in.Insert(&item{box, i, tags})
		}
		return g.Commit(t.Context())
	}
	for _, tt := range []struct {
		box  string
		n    int
		tags []string
		done bool
	}{{"six", 6, nil, true}, {"seven", 7, nil, false}, {"two", 2, []string{"a", "b"}, true}, {"three", 3, []string{"a", "b"}, false},
		{"one", 1, []string{"a", "b", "c", "d", "e", "f", "g", "h"}, true}} {
		err := group(tt.box, tt.n, tt.tags...)
		n, failed := items.Count(t.Context(), repo.Where("box", tt.box))
		if failed != nil {
			t.Fatal(failed)
		}
		if tt.done && (err != nil || n != tt.n) {
			t.Errorf("%s: %d records, %v", tt.box, n, err)
		}
		if !tt.done && (n != 0 || !errors.Is(err, repo.ErrTooLarge) || !strings.Contains(err.Error(), "split the group")) {
			t.Errorf("%s: %d records, %v; want ErrTooLarge that says what to do", tt.box, n, err)
		}
	}
	if s.commits != 9 {
		t.Errorf("a commit of %d rows, want 9", s.commits)
	}
}

// A group with more bytes than the store takes is refused before anything is written, those of
// indexes included. One record may have any number, and InsertAll finds out by itself.
func TestLargeGroupOfBytes(t *testing.T) {
	s := &bounded{Store: memory.New(nil)}
	type item struct {
		Box  string `repo:"box"`
		N    int    `repo:"n"`
		Text string `repo:"text"`
	}
	open := func(name string, x ...repo.Index) *repo.Repo[item] {
		items, err := repo.Open[item](t.Context(), repo.NewStore(s, nil), repo.Schema{Collection: name, Partition: []string{"box"}, Sort: []string{"n"}, Indexes: x})
		if err != nil {
			t.Fatal(err)
		}
		return items
	}
	plain, covered := open("plain"), open("covered", repo.Index{Partition: []string{"box"}, Sort: []string{"-n"}, Covers: []string{"text"}, Kind: "table"})
	text := func(size int) string { return strings.Repeat("x", size) }
	for _, tt := range []struct {
		items *repo.Repo[item]
		sizes []int
		done  bool
	}{
		{plain, []int{500_000, 500_000}, true}, {plain, []int{600_000, 500_000}, false}, {covered, []int{250_000, 250_000}, true},
		{covered, []int{300_000, 250_000}, false}, {covered, []int{1_000_000}, true},
	} {
		g, box := tt.items.Store().Group(), fmt.Sprint(tt.sizes)
		in := tt.items.In(g)
		for i, size := range tt.sizes {
			in.Insert(&item{box, i, text(size)})
		}
		err := g.Commit(t.Context())
		n, failed := tt.items.Count(t.Context(), repo.Where("box", box))
		if failed != nil {
			t.Fatal(failed)
		}
		if tt.done && (err != nil || n != len(tt.sizes)) {
			t.Errorf("%v: %d records, %v", tt.sizes, n, err)
		}
		if !tt.done && (n != 0 || !errors.Is(err, repo.ErrTooLarge) || !strings.Contains(err.Error(), "split the group")) {
			t.Errorf("%v: %d records, %v; want ErrTooLarge that says what to do", tt.sizes, n, err)
		}
	}
	s.number = 0
	n, err := plain.InsertAll(t.Context(), func(yield func(item, error) bool) {
		for i := 0; i < 6 && yield(item{"all", i, text(400_000)}, nil); i++ {
		}
	})
	if n != 6 || err != nil || s.number != 3 {
		t.Errorf("%d inserted by %d commits, %v; want 6 by 3", n, s.number, err)
	}
}

// A boundless store takes groups of any size.
type boundless struct{ driver.Store }

func (s boundless) Facts() driver.Facts {
	f := s.Store.Facts()
	f.MaxOps, f.MaxBytes = 0, 0
	return f
}

// A dying context ends when it has been looked at some times.
type dying struct {
	context.Context
	looks int
}

func (d *dying) Err() error {
	if d.looks--; d.looks < 0 {
		return context.Canceled
	}
	return nil
}

// twiceNamed returns a group of n deletes, and one more of the last record: it is refused when all
// keys have been compared.
func twiceNamed(items *repo.Repo[post], n int) *repo.Group {
	g := items.Store().Group()
	in := items.In(g)
	for i := range n {
		in.Delete(repo.Key{"u", fmt.Sprint(i)})
	}
	in.Delete(repo.Key{"u", fmt.Sprint(n - 1)})
	return g
}

// A group whose context ends while its keys are compared says so.
func TestGroupEnded(t *testing.T) {
	items, err := repo.Open[post](t.Context(), repo.NewStore(boundless{memory.New(nil)}, nil), blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	if err := twiceNamed(items, 5000).Commit(t.Context()); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("a record named twice: %v, want ErrInvalid", err)
	}
	for looks := range 3 {
		if err := twiceNamed(items, 5000).Commit(&dying{t.Context(), looks}); !errors.Is(err, repo.ErrTimeout) {
			t.Errorf("a context that ends after %d looks: %v, want ErrTimeout", looks, err)
		}
	}
}

// To compare the keys of one group of many records takes no longer than those of many groups of a few.
func TestGroupComparesInLinearTime(t *testing.T) {
	items, err := repo.Open[post](t.Context(), repo.NewStore(boundless{memory.New(nil)}, nil), blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	compare := func(groups, n int) (took time.Duration) {
		for range groups {
			g := twiceNamed(items, n)
			begun := time.Now()
			_ = g.Commit(t.Context())
			took += time.Since(begun)
		}
		return took
	}
	many, one := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 5 {
		many, one = min(many, compare(40, 1000)), min(one, compare(1, 40_000))
	}
	t.Logf("40 groups of 1,000 keys %v, one of 40,000 %v", many, one)
	if one > 10*many {
		t.Errorf("40 groups of 1,000 keys take %v, and one of 40,000 takes %v", many, one)
	}
}

// A noting store notes the ops of the last commit, and lets others write after a Get.
type noting struct {
	driver.Store
	last  []driver.Op
	after func()
}

func (s *noting) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	err := s.Store.Get(ctx, t, keys, mask, rows)
	if f := s.after; f != nil {
		s.after = nil
		f()
	}
	return err
}

func (s *noting) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	s.last = slices.Clone(ops)
	return s.Store.Commit(ctx, token, ops)
}

// A group that has nothing to change sees that this is so of all its records at one moment: they
// were not read at one.
func TestGroupOfNothing(t *testing.T) {
	s := &noting{Store: memory.New(nil)}
	posts, err := repo.Open[post](t.Context(), repo.NewStore(s, nil), blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	remove := func() error {
		g := posts.Store().Group()
		in := posts.In(g)
		in.Delete(repo.Key{"u", "a"})
		in.Delete(repo.Key{"u", "b"})
		return g.Commit(t.Context())
	}
	if err := remove(); err != nil || len(s.last) != 2 || s.last[0].Do != driver.Check || s.last[1].Do != driver.Check {
		t.Errorf("%v, ops %v; want two checks", err, s.last)
	}
	s.after = func() {
		if err := posts.Insert(t.Context(), &post{Author: "u", ID: "b"}); err != nil {
			t.Error(err)
		}
	}
	err = remove()
	if found, err := posts.Exists(t.Context(), repo.Key{"u", "b"}); found || err != nil {
		t.Errorf("what was written after the group had read is there: %v, %v", found, err)
	}
	if err != nil {
		t.Error(err)
	}
	checkClean(t, posts)
}

// Many records that were deleted a moment ago are inserted in one group.
func TestGroupOntoTombstones(t *testing.T) {
	posts, err := repo.Open[post](t.Context(), repo.NewStore(memory.New(&memory.Options{Uncertain: true}), nil), blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	const n = 200
	for round := range 2 {
		g, gone := posts.Store().Group(), posts.Store().Group()
		in, goneIn := posts.In(g), posts.In(gone)
		for i := range n {
			in.Insert(&post{Author: "u", ID: fmt.Sprint(i)})
			goneIn.Delete(repo.Key{"u", fmt.Sprint(i)})
		}
		if err := g.Commit(t.Context()); err != nil {
			t.Fatalf("insert, round %d: %v", round, err)
		}
		if err := gone.Commit(t.Context()); err != nil {
			t.Fatalf("delete, round %d: %v", round, err)
		}
	}
}

// A group has one Commit, whatever became of it.
func TestGroupHasOneCommit(t *testing.T) {
	ctx := t.Context()
	posts, err := repo.Open[post](ctx, newStore(t, nil), blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	for name, first := range map[string]func(repo.Writes[post]){
		"of nothing": func(repo.Writes[post]) {},
		"done":       func(in repo.Writes[post]) { in.Insert(&post{Author: "u", ID: "1"}) },
		"refused":    func(in repo.Writes[post]) { in.Replace(&post{Author: "u", ID: "none"}) },
		"wrong":      func(in repo.Writes[post]) { in.Put(nil) },
	} {
		g := posts.Store().Group()
		in := posts.In(g)
		first(in)
		before := g.Commit(ctx)
		in.Put(&post{Author: "u", ID: "late"})
		err := g.Commit(ctx)
		if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrInvalid) || !strings.Contains(e.Error(), "make a new group") {
			t.Errorf("a second commit of a group %s, %v: %v, want ErrInvalid that says to make a new group", name, before, err)
		}
	}
	if there, err := posts.Exists(ctx, repo.Key{"u", "late"}); there || err != nil {
		t.Errorf("what a second commit was to write is there: %v, %v", there, err)
	}
	checkClean(t, posts)
}
