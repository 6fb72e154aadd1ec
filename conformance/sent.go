package conformance

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/repo"
)

// sent compares what operations cost with what Cost says, for fewer and for more records
// than a first page has.
func sent(ctx context.Context, e *env) {
	e.fillMessages(ctx, "few", 3)
	e.fillMessages(ctx, "many", 150)
	var last repo.Event
	schema := messageSchema()
	schema.Collection = e.suite.id + "_" + schema.Collection
	messages, err := repo.Open[message](ctx, e.traced(func(ev repo.Event) { last = ev }), schema)
	e.ok("open", err)
	for host, n := range map[string]int{"few": 3, "many": 150} {
		q := repo.Where("host", e.name(host))
		plan, err := messages.Explain(q)
		e.ok("explain", err)
		equal(e, "what finds "+q.String(), len(collect(e, "find", messages.Find(ctx, q))), n)
		depth, requests := plan.Cost(n)
		equal(e, fmt.Sprintf("depth and requests of a query that finds %d records", n), fmt.Sprint(last.Depth, last.Requests), fmt.Sprint(depth, requests))
	}
	_, err = messages.Get(ctx, repo.Key{e.name("few"), e.when(0), 0})
	e.ok("get", err)
	equal(e, "depth and requests of a Get", fmt.Sprint(last.Depth, last.Requests), "1 1")
	err = messages.Insert(ctx, &message{Host: e.name("few"), Time: e.when(9), ID: 9})
	e.ok("insert", err)
	e.that(last.Depth >= 1 && last.Requests >= last.Depth, "at least one trip of an insert, and no fewer requests than trips", "%d deep, %d requests", last.Depth, last.Requests)
}
