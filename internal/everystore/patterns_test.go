package everystore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/examples/patterns/approximation"
	"github.com/polystore/polystore/examples/patterns/attribute"
	"github.com/polystore/polystore/examples/patterns/counters"
	"github.com/polystore/polystore/examples/patterns/feed"
	"github.com/polystore/polystore/examples/patterns/longtext"
	"github.com/polystore/polystore/examples/patterns/outlier"
	"github.com/polystore/polystore/examples/patterns/polymorphic"
	"github.com/polystore/polystore/examples/patterns/recent"
	"github.com/polystore/polystore/examples/patterns/reservation"
	"github.com/polystore/polystore/examples/patterns/search"
	"github.com/polystore/polystore/examples/patterns/subset"
	"github.com/polystore/polystore/examples/patterns/timebuckets"
	"github.com/polystore/polystore/repo"
)

// good returns a value that a test needs, or stops the test.
func good[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// must stops a test at an error.
func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func TestAttribute(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		products := good(attribute.Open(t.Context(), store))(t)
		for id, has := range map[string]map[string]string{
			"drive": {"size": "2 TB", "bus": "SATA"}, "disk": {"size": "2 TB", "bus": "USB"}, "lamp": {"colour": "red", "a=b": "c"}, "cup": {"a": "b=c"},
		} {
			must(t, products.Put(t.Context(), &attribute.Product{ID: id, Attributes: has}))
		}
		for want, asked := range map[string]map[string]string{
			"[disk drive]": {"size": "2 TB"}, "[disk]": {"size": "2 TB", "bus": "USB"}, "[lamp]": {"a=b": "c"}, "[cup]": {"a": "b=c"}, "[]": {"colour": "blue"},
		} {
			var ids []string
			for p, err := range products.With(t.Context(), asked) {
				must(t, err)
				ids = append(ids, p.ID)
			}
			if slices.Sort(ids); fmt.Sprint(ids) != want {
				t.Errorf("%v: %v, want %s", asked, ids, want)
			}
		}
	})
}

// Several programs let 250 buyers buy one book at once: no buyer is lost, no part is over its size.
func TestOutlier(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		const programs, each = 4, 60
		books := good(outlier.Open(t.Context(), store))(t)
		must(t, books.Add(t.Context(), "b", "Title"))
		var all sync.WaitGroup
		for p := range programs {
			all.Go(func() {
				for n := range each {
					if err := books.Bought(t.Context(), "b", fmt.Sprint(p, " ", n)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		var buyers []string
		extras, parts := int64(0), int64(-1)
		for p, err := range books.Parts(t.Context(), "b") {
			must(t, err)
			extras, parts, buyers = extras+p.Extras, parts+1, append(buyers, p.Buyers...)
			if len(p.Buyers) > outlier.PartSize {
				t.Errorf("part %d has %d buyers", p.Part, len(p.Buyers))
			}
		}
		if slices.Sort(buyers); len(slices.Compact(buyers)) != programs*each || extras != parts || parts != 2 {
			t.Errorf("%d buyers, %d parts, and the book says %d", len(buyers), parts, extras)
		}
	})
}

func TestApproximation(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		const every, programs, views = 10, 3, 47
		for range programs {
			c := good(approximation.Open(t.Context(), store, every))(t)
			for range views {
				must(t, c.View(t.Context(), "home"))
			}
		}
		last := good(approximation.Open(t.Context(), store, every))(t)
		n, err := last.Views(t.Context(), "home")
		if n > programs*views || n <= programs*(views-every) || err != nil {
			t.Errorf("%d views are stored of %d, %v", n, programs*views, err)
		}
		must(t, last.View(t.Context(), "home"), last.View(t.Context(), "rare"), last.Flush(t.Context()))
		more, err1 := last.Views(t.Context(), "home")
		rare, err2 := last.Views(t.Context(), "rare")
		none, err3 := last.Views(t.Context(), "none")
		if must(t, err1, err2, err3); more != n+1 || rare != 1 || none != 0 {
			t.Errorf("%d, %d and %d views after a flush", more, rare, none)
		}
	})
}

// Guests want overlapping stays at once: each night has one guest, and each guest all nights of a stay or none.
func TestReservation(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		rooms := good(reservation.Open(t.Context(), store))(t)
		day := func(n int) time.Time { return time.Date(2026, 12, 20+n, 0, 0, 0, 0, time.UTC) }
		must(t, rooms.Make(t.Context(), "101", day(0), day(12)), rooms.Make(t.Context(), "101", day(5), day(14)))
		var all sync.WaitGroup
		booked := [8]error{}
		for guest := range booked {
			all.Go(func() {
				booked[guest] = rooms.Book(t.Context(), "101", day(guest), day(guest+4), fmt.Sprint("g", guest))
			})
		}
		all.Wait()
		nights := map[string]int{}
		for n, err := range rooms.Nights(t.Context(), "101", day(0), day(14)) {
			must(t, err)
			nights[n.Guest]++
		}
		stays := 0
		for guest, err := range booked {
			switch n := nights[fmt.Sprint("g", guest)]; {
			case err == nil && n == 4:
				stays++
			case err == nil || !errors.Is(err, reservation.ErrTaken) || n > 0:
				t.Errorf("guest %d has %d nights: %v", guest, n, err)
			}
		}
		if stays == 0 || nights[""] != 14-4*stays {
			t.Errorf("%d stays, %v", stays, nights)
		}
		if err := rooms.Book(t.Context(), "101", day(12), day(16), "late"); !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("a night that is not in the grid: %v", err)
		}
	})
}

func TestCounters(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		now := time.Now()
		c := good(counters.Open(t.Context(), store, 7*24*time.Hour))(t)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				for range 4 {
					if err := errors.Join(c.Count(t.Context(), "home", now, "views", 1), c.Count(t.Context(), "home", now, "likes", 2)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		must(t, c.Count(t.Context(), "home", now.Add(-24*time.Hour), "views", 3), c.Count(t.Context(), "home", now.Add(-10*24*time.Hour), "views", 1))
		var got []int64
		for day, err := range c.Days(t.Context(), "home") {
			must(t, err)
			got = append(got, day.Views, day.Likes)
		}
		if fmt.Sprint(got) != "[20 40 3 0]" {
			t.Errorf("views and likes by day are %v", got)
		}
	})
}

func TestRecent(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		lists := good(recent.Open(t.Context(), store, 3))(t)
		var pushed []string
		for n := range 5 {
			pushed = good(lists.Push(t.Context(), "ann", fmt.Sprint(n)))(t)
		}
		got := good(lists.Recent(t.Context(), "ann"))(t)
		none := good(lists.Recent(t.Context(), "bob"))(t)
		if fmt.Sprint(pushed, got, none) != "[4 3 2] [4 3 2] []" {
			t.Errorf("%v was returned, %v and %v are there", pushed, got, none)
		}
	})
}

func TestSearch(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		pages := good(search.Open(t.Context(), store))(t)
		for url, text := range map[string]string{
			"a/1": "Redis keeps words in memory", "a/2": "words and keys", "b/1": "keys in Redis redis REDIS", "b/2": "memory", "c/1": "nothing of that",
		} {
			must(t, pages.Put(t.Context(), &search.Page{URL: url, Site: url[:1], Text: text}))
		}
		best := good(pages.Best(t.Context(), 3, "redis", "Words", "memory"))(t)
		hits := ""
		for _, hit := range best {
			hits += fmt.Sprintf("%s %d ", hit.Record.URL, hit.Count)
		}
		if hits != "a/1 3 a/2 1 b/1 1 " {
			t.Errorf("the best are %s", hits)
		}
		sites := good(pages.Sites(t.Context(), "Keys"))(t)
		if fmt.Sprint(sites) != "map[a:1 b:1]" {
			t.Errorf("sites are %v", sites)
		}
		if sites = good(pages.Sites(t.Context(), "Keys", "Redis"))(t); fmt.Sprint(sites) != "map[b:1]" {
			t.Errorf("sites with both are %v", sites)
		}
		if none := good(pages.Best(t.Context(), 3, "absent"))(t); len(none) > 0 {
			t.Errorf("%v have a word that none has", none)
		}
	})
}

// A reader sees the posts of those whom they follow, the newest first, whether they were copied or not.
func TestFeed(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx := t.Context()
		feeds := good(feed.Open(ctx, store, 2))(t)
		for _, user := range []string{"u1", "u2", "u3"} {
			must(t, feeds.Follow(ctx, user, "star"))
		}
		must(t, feeds.Follow(ctx, "u1", "ann"), feeds.Follow(ctx, "u2", "ann"))
		at := func(n int) time.Time { return time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC) }
		for n, author := range []string{"ann", "star", "ann", "star", "bob"} {
			must(t, feeds.Post(ctx, feed.Post{Author: author, At: at(n), Text: fmt.Sprint(n)}))
		}
		must(t, feeds.Follow(ctx, "u4", "ann"), feeds.Post(ctx, feed.Post{Author: "ann", At: at(5), Text: "5"})) // one more than are copied to
		for user, want := range map[string]string{"u1": "53210", "u2": "53210", "u3": "31", "u4": "520", "u5": ""} {
			if got := texts(ctx, t, feeds, user, 10); got != want {
				t.Errorf("%s reads %s, want %s", user, got, want)
			}
		}
		if got := texts(ctx, t, feeds, "u1", 2); got != "53 21 0" {
			t.Errorf("the pages are %s", got)
		}
		first := good(feeds.Page(ctx, "u1", 2, feed.Post{}))(t)
		must(t, feeds.Post(ctx, feed.Post{Author: "star", At: at(6), Text: "6"}), feeds.Unfollow(ctx, "u1", "ann"), feeds.Unfollow(ctx, "u2", "star"))
		if page := good(feeds.Page(ctx, "u1", 2, first[1]))(t); len(page) != 1 || page[0].Text != "1" {
			t.Errorf("after ann was unfollowed the next page is %v", page)
		}
		must(t, feeds.Post(ctx, feed.Post{Author: "ann", At: at(7), Text: "7"}))
		for user, want := range map[string]string{"u1": "631", "u2": "7520", "u3": "631"} {
			if got := texts(ctx, t, feeds, user, 10); got != want {
				t.Errorf("%s reads %s, want %s", user, got, want)
			}
		}
	})
}

// texts returns the pages of a feed.
func texts(ctx context.Context, t *testing.T, feeds *feed.Feeds, user string, limit int) (pages string) {
	t.Helper()
	var last feed.Post
	for {
		page := good(feeds.Page(ctx, user, limit, last))(t)
		for _, p := range page {
			pages, last = pages+p.Text, p
		}
		if len(page) < limit {
			return pages
		}
		pages += " "
	}
}

// A text with more words than a record has rows is found by words of all its parts, until it is written anew.
func TestLongText(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx, texts := t.Context(), good(longtext.Open(t.Context(), store))(t)
		long := "It"
		for n := range 700 {
			long += fmt.Sprint(" word", n)
		}
		if err := texts.Put(ctx, &longtext.Part{Doc: "whole", Text: long}); !errors.Is(err, repo.ErrTooLarge) {
			t.Errorf("the text as one record: %v, want ErrTooLarge", err)
		}
		want := func(docs string, words ...string) {
			t.Helper()
			if got := fmt.Sprint(good(texts.With(ctx, words...))(t)); got != docs {
				t.Errorf("%v are in %s, want %s", words, got, docs)
			}
		}
		must(t, texts.Write(ctx, "long", long), texts.Write(ctx, "short", "It has word1 and word699"), texts.Write(ctx, "empty", ""))
		want("[long short]", "it", "Word1", "word699")
		want("[long]", "word0", "word400", "word698")
		want("[]", "word0", "and")
		must(t, texts.Write(ctx, "long", "It is short by now"))
		want("[short]", "word699")
		want("[long]", "it", "now")
		if parts := good(repo.Collect(texts.Find(ctx, repo.Where("doc", "long"))))(t); len(parts) != 1 {
			t.Errorf("%d parts, want 1", len(parts))
		}
	})
}

// The record of a product has the newest reviews of those that are there, however many come at once.
func TestSubset(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		const users, each = 3, 4
		ctx, shop := t.Context(), good(subset.Open(t.Context(), store))(t)
		must(t, shop.Products.Insert(ctx, &subset.Product{ID: "p"}))
		var all sync.WaitGroup
		for user := range users {
			all.Go(func() {
				for n := range each {
					if err := shop.Review(ctx, subset.Review{Product: "p", At: time.UnixMilli(int64(n)).UTC(), User: fmt.Sprint(user), Text: "good"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		last := subset.Review{Product: "p", At: time.UnixMilli(each).UTC(), User: "0", Text: "the last"}
		must(t, shop.Review(ctx, last))
		if err := shop.Review(ctx, last); !errors.Is(err, repo.ErrExists) {
			t.Errorf("the same review again: %v", err)
		}
		p := good(shop.Products.Get(ctx, repo.Key{"p"}))(t)
		reviews := good(repo.Collect(shop.Reviews(ctx, "p")))(t)
		if p.Count != users*each+1 || len(reviews) != users*each+1 || len(p.Reviews) != subset.Newest || p.Reviews[0] != last || reviews[0] != last {
			t.Errorf("%d reviews, and the product has %+v", len(reviews), p)
		}
	})
}

// Events of several types lie together; one that is not known breaks no read, and is kept.
func TestTimeBuckets(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx, events := t.Context(), good(timebuckets.Open(t.Context(), store))(t)
		at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
		for _, minute := range []int{0, 59, 60, 61, 300, 119, 120} {
			must(t, events.Put(ctx, &timebuckets.Event{ID: fmt.Sprint(minute), At: at(minute)}))
		}
		for want, r := range map[string][2]int{"120 119 61 60 59 ": {59, 121}, "300 ": {121, 500}, "0 ": {-100, 1}, "": {5, 5}} {
			got := ""
			for e, err := range events.Between(ctx, at(r[0]), at(r[1])) {
				must(t, err)
				got += e.ID + " "
			}
			if got != want {
				t.Errorf("from %d to %d: %s, want %s", r[0], r[1], got, want)
			}
		}
		moved := timebuckets.Event{ID: "300", At: at(59)}
		must(t, events.Put(ctx, &moved))
		for e, err := range events.Between(ctx, at(240), at(500)) {
			t.Errorf("an event that was moved to another hour is where it was: %v, %v", e, err)
		}
		_, err := repo.Collect(events.Between(ctx, at(0), at(60*1001)))
		if !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("1,001 hours: %v", err)
		}
	})
}

func TestPolymorphic(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx, events := t.Context(), good(polymorphic.Open(t.Context(), store))(t)
		head := func(id string) polymorphic.Head { return polymorphic.Head{Account: "ann", ID: id} }
		newer := &polymorphic.Other{Head: head("3"), Fields: map[string]any{"to": "bob"}}
		newer.Type = "transfer"
		for _, e := range []polymorphic.Event{&polymorphic.Deposit{Head: head("1"), Cents: 250}, &polymorphic.Note{Head: head("2"), Text: "hello"}, newer} {
			must(t, events.Insert(ctx, &e))
		}
		list := good(repo.Collect(events.Find(ctx, repo.Where("account", "ann"))))(t)
		if len(list) != 3 || list[0].(*polymorphic.Deposit).Cents != 250 || list[1].(*polymorphic.Note).Text != "hello" {
			t.Fatalf("got %+v", list)
		}
		must(t, events.Replace(ctx, &list[2]))
		again, ok := good(events.Get(ctx, repo.Key{"ann", "3"}))(t).(*polymorphic.Other)
		if !ok || again.Type != "transfer" || again.Fields["to"] != "bob" {
			t.Errorf("the event of a type that is not known is %+v", again)
		}
		notes := good(repo.Collect(events.Find(ctx, repo.Where("account", "ann").Where("type", "note"))))(t)
		if len(notes) != 1 || notes[0].Of().ID != "2" {
			t.Errorf("the notes are %+v", notes)
		}
	})
}
