package history_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/history"
)

type page struct {
	Wiki    string         `repo:"wiki"`
	Title   string         `repo:"title"`
	Text    string         `repo:"text"`
	Tags    []string       `repo:"tags"`
	Author  author         `repo:"author"`
	Views   int32          `repo:"views,omitempty"`
	Seen    time.Time      `repo:"seen,nanos"`
	Rest    map[string]any `repo:",extra"`
	Until   time.Time      `repo:",expires"`
	Version repo.Version   `repo:",version"`
}

type author struct {
	Name string            `repo:"name"`
	Home map[string]string `repo:"home"`
}

var (
	pages = repo.Schema{Collection: "pages", Partition: []string{"wiki"}, Sort: []string{"title"}}
	tea   = repo.Key{"en", "Tea"}
)

// partitioned is memory that says of itself what Cassandra and a cluster of Redis say.
func partitioned() driver.Store {
	scope := driver.ScopePartition
	return memory.New(&memory.Options{Scope: &scope, Uncertain: true})
}

func on(t *testing.T, backend driver.Store, keep history.Keep) *history.History[page] {
	t.Helper()
	h, err := history.Open[page](t.Context(), repo.NewStore(backend, nil), pages, keep)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// onBoth runs a test on memory, and on memory that behaves like a cluster.
func onBoth(t *testing.T, test func(t *testing.T, open func(history.Keep) *history.History[page])) {
	for name, backend := range map[string]driver.Store{"memory": memory.New(nil), "partition": partitioned()} {
		t.Run(name, func(t *testing.T) {
			test(t, func(keep history.Keep) *history.History[page] { return on(t, backend, keep) })
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}

func isKind(t *testing.T, err, kind error) {
	t.Helper()
	if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, kind) || e.Op == "" {
		t.Errorf("%v; want %v", err, kind)
	}
}

func text(s string) *page { return &page{Wiki: "en", Title: "Tea", Text: s} }

// told returns the revisions of a record, the newest first, as a text.
func told(t *testing.T, h *history.History[page], key repo.Key) string {
	t.Helper()
	var list []string
	for cursor, more := "", true; more; more = cursor != "" {
		p, err := h.Revisions(t.Context(), key, 3, cursor)
		must(t, err)
		for _, r := range p.Items {
			what := r.Record.Text
			if r.Deleted {
				what = "-"
			}
			if r.Outside {
				what += "?"
			}
			list = append(list, fmt.Sprint(r.Number, r.By, r.Why, ":", what))
		}
		cursor = p.Next
	}
	return strings.Join(list, " ")
}

func want(t *testing.T, h *history.History[page], revisions string) {
	t.Helper()
	if got := told(t, h, tea); got != revisions {
		t.Errorf("the revisions are %q, want %q", got, revisions)
	}
}

// Every write has a revision, with what its writer said of it; a call that writes nothing has none.
func TestWrites(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(history.Keep) *history.History[page]) {
		ctx, h := t.Context(), open(history.Keep{})
		first := text("a")
		must(t, h.Insert(ctx, first, history.By("ann")))
		isKind(t, h.Insert(ctx, text("b")), repo.ErrExists)
		must(t, h.Replace(ctx, text("c"), history.Why("typo")))
		isKind(t, h.Put(ctx, first), repo.ErrConflict)
		isKind(t, h.Replace(ctx, text("d"), history.IfVersion(first.Version)), repo.ErrConflict)
		isKind(t, h.Delete(ctx, tea, history.IfVersion(first.Version)), repo.ErrConflict)
		got, err := h.Update(ctx, tea, func(p *page) error { p.Text += "e"; return nil })
		must(t, err)
		must(t, h.Put(ctx, &got), h.Delete(ctx, tea, history.By("bob")), h.Delete(ctx, tea))
		isKind(t, h.Delete(ctx, tea, history.IfVersion(got.Version)), repo.ErrConflict)
		isKind(t, h.Put(ctx, &got), repo.ErrNotFound)
		isKind(t, h.Replace(ctx, text("f")), repo.ErrNotFound)
		isKind(t, h.Insert(ctx, &got), repo.ErrInvalid) // it has a version
		_, err = h.Update(ctx, tea, func(*page) error { return nil })
		isKind(t, err, repo.ErrNotFound)
		must(t, h.Put(ctx, text("g")), h.Restore(ctx, tea, 3), h.Restore(ctx, tea, 5), h.Restore(ctx, tea, 1))
		want(t, h, "9:a 8:- 7:ce 6:g 5bob:- 4:ce 3:ce 2typo:c 1ann:a")
		now, err := h.Records().Get(ctx, tea)
		must(t, err)
		r, err := h.Revision(ctx, tea, 9)
		must(t, err)
		if now.Text != "a" || r.Of != 1 || r.Record.Text != "a" || !r.Record.Version.IsZero() {
			t.Errorf("the record is %+v, and its revision %+v", now, r)
		}
	})
}

// An error of the function ends an update without a revision, and so does a new key.
func TestUpdateRefused(t *testing.T) {
	ctx, h := t.Context(), on(t, memory.New(nil), history.Keep{})
	must(t, h.Put(ctx, text("a")))
	mine := errors.New("mine")
	_, err := h.Update(ctx, tea, func(*page) error { return mine })
	isKind(t, err, mine)
	_, err = h.Update(ctx, tea, func(p *page) error { p.Title = "Coffee"; return nil })
	isKind(t, err, repo.ErrInvalid)
	want(t, h, "1:a")
}

// A revision has all that the record had, and Diff names what changed, nested values too.
func TestWholeRecord(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(history.Keep) *history.History[page]) {
		ctx, h := t.Context(), open(history.Keep{})
		until := time.Now().Add(time.Hour)
		a := page{"en", "Tea", "a", []string{"x", "y"}, author{"ann", map[string]string{"city": "Rome", "a.b": "1"}}, 7,
			time.Unix(1, 23), map[string]any{"more": int64(1), "deep": map[string]any{"x": true}}, until, repo.Version{}}
		b := page{"en", "Tea", "a", []string{"x"}, author{"ann", map[string]string{"city": "Oslo", "a.b": "1"}}, 0,
			time.Unix(1, 24), map[string]any{"more": int64(2), "deep": map[string]any{"x": true}}, time.Time{}, repo.Version{}}
		must(t, h.Put(ctx, &a))
		a.Version = repo.Version{}
		must(t, h.Put(ctx, &b), h.Delete(ctx, tea))
		r, err := h.Revision(ctx, tea, 1)
		if must(t, err); !reflect.DeepEqual(r.Record, a) {
			t.Errorf("the revision is\n%+v, want\n%+v", r.Record, a)
		}
		list, err := h.Diff(ctx, tea, 1, 2)
		must(t, err)
		got := fmt.Sprint(list)
		for _, one := range []string{"_expires: ", "author.home.city: Rome -> Oslo", "more: 1 -> 2", "seen: 1000000023 -> 1000000024",
			"tags: [x y] -> [x]", "views: 7 -> (none)"} {
			if !strings.Contains(got, one) || len(list) != 6 {
				t.Errorf("the differences are %s; want %s", got, one)
			}
		}
		gone, err := h.Diff(ctx, tea, 2, 3)
		if must(t, err); len(gone) != 6 || gone[0].After != nil || gone[0].Before == nil {
			t.Errorf("a deletion is %v", gone)
		}
		same, err := h.Diff(ctx, tea, 1, 1)
		if must(t, err); len(same) != 0 {
			t.Errorf("a revision differs from itself by %v", same)
		}
		must(t, h.Restore(ctx, tea, 1))
		now, err := h.Records().Get(ctx, tea)
		now.Version = repo.Version{}
		if must(t, err); !reflect.DeepEqual(now, a) {
			t.Errorf("restored is\n%+v, want\n%+v", now, a)
		}
	})
}

// Records that are maps have histories as others have.
func TestMaps(t *testing.T) {
	ctx, store := t.Context(), repo.NewStore(memory.New(nil), nil)
	h, err := history.Open[map[string]any](ctx, store, repo.Schema{Collection: "things", Partition: []string{"id"},
		Fields: map[string]string{"id": "int", "name": "string"}}, history.Keep{})
	must(t, err)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	thing := map[string]any{"id": int64(1), "name": "a", "more": []any{int64(1)}, "_expires": until}
	first := maps.Clone(thing)
	must(t, h.Put(ctx, &thing), h.Delete(ctx, repo.Key{1}))
	isKind(t, h.Put(ctx, &thing), repo.ErrNotFound) // it has a version
	r, err := h.Revision(ctx, repo.Key{1}, 1)
	if must(t, err); !reflect.DeepEqual(r.Record, first) {
		t.Errorf("the revision is %v, want %v", r.Record, first)
	}
	must(t, h.Restore(ctx, repo.Key{1}, 1))
	got, err := h.Update(ctx, repo.Key{1}, func(m *map[string]any) error { (*m)["name"] = "b"; return nil })
	if must(t, err); got["name"] != "b" || got["_expires"] != until {
		t.Errorf("the record is %v", got)
	}
}

// A type that derives fields, with fields of an embedded struct, and one that hides another.
type derived struct {
	page
	Text  int64  `repo:"text"`
	Lower string `repo:"lower"`
}

func (d *derived) Derive() error { d.Lower = strings.ToLower(d.Title); return nil }

func TestDerivedAndEmbedded(t *testing.T) {
	ctx := t.Context()
	h, err := history.Open[derived](ctx, repo.NewStore(memory.New(nil), nil), pages, history.Keep{})
	must(t, err)
	d := derived{*text("hidden"), 5, ""}
	must(t, h.Put(ctx, &d))
	r, err := h.Revision(ctx, tea, 1)
	if must(t, err); r.Record.Text != 5 || r.Record.Lower != "tea" || r.Record.page.Text != "" {
		t.Errorf("the revision is %+v", r.Record)
	}
}

// What the plain repository did is found by the next write, and by Adopt.
func TestOutside(t *testing.T) {
	onBoth(t, func(t *testing.T, open func(history.Keep) *history.History[page]) {
		ctx, h := t.Context(), open(history.Keep{})
		plain := h.Records()
		must(t, plain.Put(ctx, text("before")))
		want(t, h, "")
		_, err := h.AsOf(ctx, tea, time.Now())
		isKind(t, err, repo.ErrNotFound)
		isKind(t, h.Insert(ctx, text("x")), repo.ErrExists)
		must(t, h.Put(ctx, text("a"), history.By("ann")))
		want(t, h, "2ann:a 1:before?")
		must(t, plain.Put(ctx, text("b")), plain.Put(ctx, text("c")))
		_, err = h.Update(ctx, tea, func(p *page) error { p.Text += "d"; return nil })
		must(t, err)
		must(t, plain.Delete(ctx, tea))
		isKind(t, h.Replace(ctx, text("x")), repo.ErrNotFound)
		must(t, h.Put(ctx, text("e")), plain.Put(ctx, text("f")), h.Delete(ctx, tea))
		must(t, plain.Put(ctx, text("g")), h.Restore(ctx, tea, 2))
		want(t, h, "10:a 9:g? 8:- 7:f? 6:e 5:-? 4:cd 3:c? 2ann:a 1:before?")
		must(t, h.Adopt(ctx, tea))
		must(t, plain.Put(ctx, text("h")), h.Adopt(ctx, tea, history.Why("found")), h.Adopt(ctx, tea))
		must(t, plain.Delete(ctx, tea), h.Adopt(ctx, tea), h.Adopt(ctx, tea), h.Adopt(ctx, repo.Key{"en", "none"}))
		must(t, h.Put(ctx, text("i")))
		if got := told(t, h, tea); !strings.HasPrefix(got, "13:i 12:-? 11found:h? 10:a ") {
			t.Errorf("after Adopt the revisions are %q", got)
		}
	})
}

// The revision as of a time is the one before it, also where the first are no longer kept.
func TestAsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, h := t.Context(), on(t, memory.New(nil), history.Keep{Revisions: 13})
		began := time.Now()
		for i := range 20 {
			must(t, h.Put(ctx, text(fmt.Sprint(i+1))))
			time.Sleep(time.Minute)
		}
		must(t, h.Delete(ctx, tea))
		for i := range 22 {
			at := began.Add(time.Duration(i)*time.Minute - time.Millisecond)
			r, err := h.AsOf(ctx, tea, at)
			if i < 9 { // 21 revisions, of which 13 are kept: from 9 on
				isKind(t, err, repo.ErrNotFound)
				continue
			}
			if must(t, err); r.Number != int64(i) || r.At.After(at) {
				t.Errorf("as of minute %d it is revision %d of %v", i, r.Number, r.At)
			}
		}
		r, err := h.AsOf(ctx, tea, time.Now())
		if must(t, err); !r.Deleted || r.Number != 21 {
			t.Errorf("now it is %+v", r)
		}
	})
}

// A shorter page is one of a program that lacks fields, which it has among undeclared ones.
type shorterPage struct {
	Wiki  string         `repo:"wiki"`
	Title string         `repo:"title"`
	Text  string         `repo:"text"`
	Rest  map[string]any `repo:",extra"`
}

// Revisions of a program that lacks fields have those that others declared, and Restore brings them back.
func TestFieldsOfOthers(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	all, err := repo.Open[page](t.Context(), store, pages)
	if err != nil {
		t.Fatal(err)
	}
	if err := all.Put(t.Context(), &page{Wiki: "en", Title: "Tea", Text: "one", Tags: []string{"x"}, Views: 7, Rest: map[string]any{"more": "m"}}); err != nil {
		t.Fatal(err)
	}
	h, err := history.Open[shorterPage](t.Context(), store, pages, history.Keep{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Update(t.Context(), tea, func(p *shorterPage) error { p.Text = "two"; return nil }); err != nil {
		t.Fatal(err)
	}
	first, err := h.Revision(t.Context(), tea, 1)
	if rest := first.Record.Rest; err != nil || rest["more"] != "m" || rest["views"] != int64(7) || !reflect.DeepEqual(rest["tags"], []any{"x"}) || rest["history_number"] != nil {
		t.Errorf("the first revision: %+v, %v", first, err)
	}
	if err := h.Restore(t.Context(), tea, 1); err != nil {
		t.Fatal(err)
	}
	if p, err := all.Get(t.Context(), tea); err != nil || p.Text != "one" || p.Views != 7 || !reflect.DeepEqual(p.Tags, []string{"x"}) || p.Rest["more"] != "m" {
		t.Errorf("restored: %+v, %v", p, err)
	}
}
