package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

// A headline is a message without its text.
type headline struct {
	Time  time.Time `repo:"time"`
	Level string    `repo:"level"`
}

func views(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 5)
	view, err := repo.ViewOf[headline](e.messages(ctx))
	e.OK("view", err)
	h, key := repo.Where("host", e.name("h")), repo.Key{e.name("h"), e.when(3), 3}
	want := headline{e.when(3), "error"}
	got, err := view.Get(ctx, key)
	e.OK("get", err)
	rule.Equal(e, "the view by get", got, want)
	many, found, err := view.GetMany(ctx, []repo.Key{{e.name("h"), e.when(9), 9}, key})
	e.OK("get many", err)
	rule.Equal(e, "the views by get many", fmt.Sprint(many, found), fmt.Sprint([]headline{{}, want}, []bool{false, true}))
	rule.Equal(e, "the views by find", collect(e, "find", view.Find(ctx, h.Where("level", "error").Limit(1))), []headline{want})
	one, err := view.One(ctx, h.Where("level", "info").Range("time", nil, e.when(2)))
	e.OK("one", err)
	rule.Equal(e, "the view by one", one, headline{e.when(1), "info"})
	page, err := view.Page(ctx, h.Order("time").Limit(2), "")
	e.OK("page", err)
	rule.Equal(e, "the views by page", page.Items, []headline{{e.when(0), "error"}, {e.when(1), "info"}})
	_, err = view.Get(ctx, repo.Key{e.name("h"), e.when(9), 9})
	e.Is("get of nothing", err, repo.ErrNotFound)
	_, err = repo.ViewOf[struct {
		Time string `repo:"time"`
		Page int    `repo:"page"`
	}](e.messages(ctx))
	e.Is("view with a field of another kind and an unknown one", err, repo.ErrSchema)
	e.That(strings.Contains(err.Error(), "time") && strings.Contains(err.Error(), "page"), "both faults at once", "%v", err)
}

func viewByOthers(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 9)
	type text struct {
		Text string `repo:"text"`
	}
	view, err := repo.ViewOf[text](e.messages(ctx))
	e.OK("view", err)
	q := repo.Where("host", e.name("h")).Where("level", "info").Order("time")
	rule.Equal(e, "what a view finds by a field that it has not", collect(e, "find", view.Find(ctx, q)), []text{{"h 001"}, {"h 004"}, {"h 007"}})
	rule.Equal(e, "the first of them", collect(e, "find", view.Find(ctx, q.Limit(1))), []text{{"h 001"}})
	page, err := view.Page(ctx, q.Limit(2), "")
	e.OK("page", err)
	rule.Equal(e, "a page of them", page.Items, []text{{"h 001"}, {"h 004"}})
}

// tracedStore returns the store of the suite with a tracer that sees how operations end.
func tracedStore(e *env, see func(repo.Event)) *repo.Store {
	begin := func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) { return ctx, see }
	return repo.NewStore(e.Store, &repo.Options{Tracer: repo.Tracer{Begin: begin}})
}

func coveredView(ctx context.Context, e *env) {
	posts := e.posts(ctx)
	insertAll(ctx, e, posts, e.post("a", "IT", 1), e.post("b", "IT", 2))
	view, err := repo.ViewOf[title](posts)
	e.OK("view", err)
	q := repo.Where("category", e.name("IT")).Order("-created")
	plan, err := view.Explain(q)
	e.OK("explain", err)
	rule.Equal(e, "index, covered, depth", fmt.Sprint(plan.Index, " ", plan.Covered, plan.Depth), "by_category_created_desc true 1")
	whole, err := posts.Explain(q)
	e.OK("explain", err)
	wholly := "false 2"
	if tested.KeepsNative(e.Facts) {
		wholly = "true 1" // the store's own index gives whole records
	}
	rule.Equal(e, "covered, depth of whole records", fmt.Sprint(whole.Covered, " ", whole.Depth), wholly)
	got := collect(e, "find", view.Find(ctx, q))
	rule.Equal(e, "the views", got, []title{{e.name("author"), "b", "title of b"}, {e.name("author"), "a", "title of a"}})
}
