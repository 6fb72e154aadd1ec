package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func cursorRules() []entry {
	list := []entry{
		{Name: "pages", Sentence: "Pages of any size show what a query finds, in order, forwards and backwards.", Check: pages},
		{Name: "ends", Sentence: "Next is empty on the last page and Prev on the first.", Check: ends},
		{Name: "page size", Sentence: "The query's limit is the size of the page, 50 if it has none.", Check: pageSize},
		{Name: "ties", Sentence: "Records that are equal in the order are each shown once.", Check: pageTies},
		{Name: "inserts and deletes", Sentence: "A cursor stays where it is while records come and go, its own record too.", Check: cursorStays},
		{Name: "paging at once", Sentence: "A record that stays is shown once while others are inserted and deleted at once.", Check: pagingAtOnce},
		{Name: "emptied page", Sentence: "A page whose records were deleted meanwhile still leads back.", Check: emptiedPage},
	}
	for i := range list {
		list[i].Needs = tested.KeepsLocal
	}
	return append(list, entry{Name: "pages of buckets", Sentence: "Pages go through the merged buckets of an index.", Needs: tested.KeepsRemote, Check: bucketPages})
}

// pageTexts returns the texts of a page's messages.
func pageTexts(p repo.Page[message]) []string {
	list := []string{}
	for _, m := range p.Items {
		list = append(list, m.Text)
	}
	return list
}

// page reads a page, which must succeed.
func (e *env) page(ctx context.Context, q repo.Query, cursor string) repo.Page[message] {
	p, err := e.messages(ctx).Page(ctx, q, cursor)
	e.OK("page of "+q.String(), err)
	return p
}

// pageThrough pages from the first page to the last and back, and returns what it saw
// on either way.
func pageThrough(ctx context.Context, e *env, q repo.Query) (there, back []string) {
	there, back = []string{}, []string{}
	p := e.page(ctx, q, "")
	for ; ; p = e.page(ctx, q, p.Next) {
		there = append(there, pageTexts(p)...)
		if p.Next == "" || len(there) > 10_000 {
			break
		}
	}
	for ; ; p = e.page(ctx, q, p.Prev) {
		back = append(pageTexts(p), back...)
		if p.Prev == "" || len(back) > 10_000 {
			return there, back
		}
	}
}

func pages(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 30)
	h := repo.Where("host", e.name("h"))
	for _, q := range []repo.Query{h, h.Order("time"), h.Where("level", "info"), h.Where("level", "warn").Order("time"), h.Range("time", e.when(4), e.when(17)).Order("time"), h.Range("time", e.when(4), nil), h.Where("level", "none")} {
		want := messageTexts(ctx, e, q)
		for _, size := range []int{1, 2, 3, 7, 10, 29, 30, 31} {
			there, back := pageThrough(ctx, e, q.Limit(size))
			rule.Equal(e, fmt.Sprintf("the pages of %d of %s", size, q), there, want)
			rule.Equal(e, fmt.Sprintf("the same backwards, %d of %s", size, q), back, want)
		}
	}
}

func ends(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 4)
	q := repo.Where("host", e.name("h")).Order("time").Limit(2)
	state := func(p repo.Page[message]) string {
		return fmt.Sprint(pageTexts(p), " prev ", p.Prev != "", " next ", p.Next != "")
	}
	first := e.page(ctx, q, "")
	rule.Equal(e, "the first page", state(first), "[h 000 h 001] prev false next true")
	second := e.page(ctx, q, first.Next)
	rule.Equal(e, "the last page, full", state(second), "[h 002 h 003] prev true next false")
	again := e.page(ctx, q, second.Prev)
	rule.Equal(e, "the first page again", state(again), "[h 000 h 001] prev false next true")
	rule.Equal(e, "the last page again", state(e.page(ctx, q, again.Next)), "[h 002 h 003] prev true next false")
	rule.Equal(e, "a page of nothing", state(e.page(ctx, repo.Where("host", e.name("none")), "")), "[] prev false next false")
	rule.Equal(e, "a page of all", state(e.page(ctx, q.Limit(4), "")), "[h 000 h 001 h 002 h 003] prev false next false")
}

func pageSize(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 120)
	h := repo.Where("host", e.name("h"))
	for limit, want := range map[int]int{0: 50, 1: 1, 50: 50, 119: 119, 120: 120, 500: 120} {
		p := e.page(ctx, h.Limit(limit), "")
		rule.Equal(e, fmt.Sprintf("the size of a page with limit %d", limit), len(p.Items), want)
		rule.Equal(e, fmt.Sprintf("whether there is a page after one with limit %d", limit), p.Next != "", want < 120)
	}
}

func pageTies(ctx context.Context, e *env) {
	var want []string
	for i := range 20 {
		m := message{Host: e.name("h"), Time: e.when(i / 8), ID: int64(i), Level: "error", Text: fmt.Sprintf("%02d", i)}
		insertAll(ctx, e, e.messages(ctx), m)
	}
	for _, block := range [][2]int{{16, 20}, {8, 16}, {0, 8}} {
		for i := block[0]; i < block[1]; i++ {
			want = append(want, fmt.Sprintf("%02d", i))
		}
	}
	for _, q := range []repo.Query{repo.Where("host", e.name("h")), repo.Where("host", e.name("h")).Where("level", "error").Order("-time")} {
		for _, size := range []int{1, 3, 5} {
			there, back := pageThrough(ctx, e, q.Limit(size))
			rule.Equal(e, fmt.Sprintf("the pages of %d of %s", size, q), there, want)
			rule.Equal(e, fmt.Sprintf("the same backwards, %d of %s", size, q), back, want)
		}
	}
}

func cursorStays(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 12)
	messages := e.messages(ctx)
	del := func(i int) { e.OK("delete", messages.Delete(ctx, repo.Key{e.name("h"), e.when(i), i})) }
	add := func(i int, half bool) {
		at := e.when(i)
		if half {
			at = at.Add(e.when(1).Sub(e.when(0)) / 2)
		}
		insertAll(ctx, e, messages, message{Host: e.name("h"), Time: at, ID: int64(i), Level: "error", Text: fmt.Sprint("new ", i)})
	}
	q := repo.Where("host", e.name("h")).Order("time").Limit(4)
	first := e.page(ctx, q, "")
	del(3)       // the cursor's own record
	del(4)       // the first behind it
	add(1, true) // before it
	add(5, true) // behind it
	second := e.page(ctx, q, first.Next)
	rule.Equal(e, "the second page", pageTexts(second), []string{"h 005", "new 5", "h 006", "h 007"})
	del(5)
	del(7)
	add(2, true)
	rule.Equal(e, "the page before it", pageTexts(e.page(ctx, q, second.Prev)), []string{"h 001", "new 1", "h 002", "new 2"})
}

func pagingAtOnce(ctx context.Context, e *env) {
	stay := fillMessages(ctx, e, "h", 60)
	q := repo.Where("host", e.name("h")).Order("time").Limit(7)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 120 {
			key := repo.Key{e.name("h"), e.when(n * 37 % 60).Add(1e6), 1000 + n%5}
			m := message{Host: e.name("h"), Time: e.when(n * 37 % 60).Add(1e6), ID: int64(1000 + n%5), Level: "goes", Text: "goes"}
			if e.messages(ctx).Put(ctx, &m) != nil || n%2 == 0 && e.messages(ctx).Delete(ctx, key) != nil {
				return
			}
		}
	}()
	defer func() { <-done }()
	for range 6 {
		there, back := pageThrough(ctx, e, q)
		gone := func(text string) bool { return text == "goes" }
		rule.Equal(e, "the records that stay, page by page", slices.DeleteFunc(there, gone), stay)
		rule.Equal(e, "the same backwards", slices.DeleteFunc(back, gone), stay)
	}
}

func emptiedPage(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 4)
	q := repo.Where("host", e.name("h")).Order("time").Limit(2)
	first := e.page(ctx, q, "")
	for i := 2; i < 4; i++ {
		e.OK("delete", e.messages(ctx).Delete(ctx, repo.Key{e.name("h"), e.when(i), i}))
	}
	empty := e.page(ctx, q, first.Next)
	rule.Equal(e, "the page whose records are gone", pageTexts(empty), []string{})
	e.That(empty.Prev != "", "a cursor to the page before it", "none")
	rule.Equal(e, "the page before it", pageTexts(e.page(ctx, q, empty.Prev)), pageTexts(first))
}

func bucketPages(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	var want []string
	for i := range 17 {
		p := e.post(fmt.Sprintf("%02d", i), "IT", i/3) // ties
		p.Author = e.name(fmt.Sprint(i % 5))
		insertAll(ctx, e, posts, p)
	}
	want = e.ids(ctx, e.created())
	e.That(len(want) == 17, "17 posts", "%d", len(want))
	var there, back []string
	cursor := ""
	for {
		p, err := posts.Page(ctx, e.created().Limit(4), cursor)
		e.OK("page", err)
		for _, it := range p.Items {
			there = append(there, it.ID)
		}
		if cursor = p.Next; cursor == "" || len(there) > 100 {
			cursor = p.Prev
			back = slices.Clone(there[len(there)-len(p.Items):])
			break
		}
	}
	for cursor != "" && len(back) < 100 {
		p, err := posts.Page(ctx, e.created().Limit(4), cursor)
		e.OK("page", err)
		for i := range p.Items {
			back = slices.Insert(back, i, p.Items[i].ID)
		}
		cursor = p.Prev
	}
	rule.Equal(e, "the pages", there, want)
	rule.Equal(e, "the pages backwards", back, want)
}
