package api

import (
	"context"

	"github.com/polystore/polystore/repo"
)

// closeRules come last: each opens the store for itself, when nobody else has it open.
func closeRules() []entry {
	return []entry{
		{Name: "closed repository", Sentence: "Operations of a repository that begin after Close fail with ErrClosed.", Check: closedRepo},
	}
}

func closedRepo(ctx context.Context, e *env) {
	store, t := e.Opened(ctx)
	s := repo.NewStore(store, nil)
	schema := itemSchema()
	schema.Collection = e.FreshName()
	items, err := repo.Open[item](ctx, s, schema)
	e.OK("open", err)
	it := e.item("a")
	e.OK("insert", items.Insert(ctx, &it))
	e.OK("drop", repo.DropCollection(ctx, s, schema.Collection))
	e.OK("close", s.Close())
	_, getErr := items.Get(ctx, e.itemKey("a"))
	_, findErr := repo.Collect(items.Find(ctx, repo.Where("shelf", it.Shelf)))
	_, openErr := repo.Open[item](ctx, s, schema)
	e.Reopened(ctx, t, nil)
	for what, err := range map[string]error{"get": getErr, "find": findErr, "open": openErr} {
		e.Is(what+" after Close", err, repo.ErrClosed)
	}
}
