package api

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// sent compares what operations cost with what Cost says, for fewer and for more records
// than a first page has.
func sent(ctx context.Context, e *env) {
	fillMessages(ctx, e, "few", 3)
	fillMessages(ctx, e, "many", 150)
	var last repo.Event
	schema := messageSchema()
	schema.Collection = e.ID + "_" + schema.Collection
	messages, err := repo.Open[message](ctx, tracedStore(e, func(ev repo.Event) { last = ev }), schema)
	e.OK("open", err)
	for host, n := range map[string]int{"few": 3, "many": 150} {
		q := repo.Where("host", e.name(host))
		plan, err := messages.Explain(q)
		e.OK("explain", err)
		rule.Equal(e, "what finds "+q.String(), len(collect(e, "find", messages.Find(ctx, q))), n)
		depth, requests := plan.Cost(n)
		rule.Equal(e, fmt.Sprintf("depth and requests of a query that finds %d records", n), fmt.Sprint(last.Depth, last.Requests), fmt.Sprint(depth, requests))
	}
	_, err = messages.Get(ctx, repo.Key{e.name("few"), e.when(0), 0})
	e.OK("get", err)
	rule.Equal(e, "depth and requests of a Get", fmt.Sprint(last.Depth, last.Requests), "1 1")
	err = messages.Insert(ctx, &message{Host: e.name("few"), Time: e.when(9), ID: 9})
	e.OK("insert", err)
	e.That(last.Depth >= 1 && last.Requests >= last.Depth, "at least one trip of an insert, and no fewer requests than trips", "%d deep, %d requests", last.Depth, last.Requests)
}

// requestsTold compares what operations cost with the requests of which a tracer is told.
func requestsTold(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 5)
	var last repo.Event
	var begun, ended, requests atomic.Int64
	tracer := repo.Tracer{
		Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
			begun.Store(0)
			ended.Store(0)
			requests.Store(0)
			return ctx, func(ev repo.Event) { last = ev }
		},
		Request: func(context.Context, repo.Event) func(repo.Event) {
			begun.Add(1)
			return func(ev repo.Event) { ended.Add(1); requests.Add(int64(ev.Requests)) }
		},
	}
	schema := messageSchema()
	schema.Collection = e.ID + "_" + schema.Collection
	messages, err := repo.Open[message](ctx, repo.NewStore(e.Store, &repo.Options{Tracer: tracer}), schema)
	e.OK("open", err)
	told := func(what string) {
		sum := 0
		if e.Facts.Tallies {
			sum = last.Requests
		}
		got := fmt.Sprint(begun.Load()-ended.Load(), requests.Load())
		rule.Equal(e, what+": requests that have not ended, and what the others sent", got, fmt.Sprint(0, sum))
	}
	key := repo.Key{e.name("h"), e.when(0), 0}
	_, err = messages.Get(ctx, key)
	e.OK("get", err)
	told("get")
	_, _, err = messages.GetMany(ctx, []repo.Key{key, {e.name("h"), e.when(1), 1}, {e.name("none"), e.when(0), 0}})
	e.OK("get many", err)
	told("get many")
	rule.Equal(e, "messages", len(collect(e, "find", messages.Find(ctx, repo.Where("host", e.name("h"))))), 5)
	told("find")
	_, err = messages.Update(ctx, key, func(m *message) error { m.Text += "x"; return nil })
	e.OK("update", err)
	told("update")
}
