package api

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// openSkewed opens a collection through a store that leaves some ops out.
func openSkewed(ctx context.Context, e *env, name string, keep func(op *driver.Op) bool) *repo.Repo[message] {
	schema := inTables(messageSchema())
	schema.Collection = name
	r, err := repo.Open[message](ctx, repo.NewStore(&double.Filtered{Store: e.Store, Keep: keep}, nil), schema)
	e.OK("open", err)
	return r
}

func verifyFinds(ctx context.Context, e *env) {
	name := e.FreshName()
	good := openSkewed(ctx, e, name, func(*driver.Op) bool { return true })
	noRows := openSkewed(ctx, e, name, func(op *driver.Op) bool { return op.Table.Class == driver.Records || op.Do == driver.Delete })
	noDeletes := openSkewed(ctx, e, name, func(op *driver.Op) bool { return op.Table.Class == driver.Records || op.Do != driver.Delete })
	for i := range 30 {
		insertAll(ctx, e, good, message{Host: e.name("h"), Time: e.when(i), Level: "info", Text: fmt.Sprint(i)})
	}
	clean(ctx, e, good)
	insertAll(ctx, e, noRows, message{Host: e.name("h"), Time: e.when(50), Level: "info"}, message{Host: e.name("h"), Time: e.when(51), Level: "info"})
	for i := range 3 {
		e.OK("delete", noDeletes.Delete(ctx, repo.Key{e.name("h"), e.when(i), 0}))
	}
	_, err := noDeletes.Patch(ctx, repo.Key{e.name("h"), e.when(9), 0}, repo.Set("level", "warn"))
	e.OK("patch", err)
	reports, err := good.Verify(ctx)
	e.OK("verify", err)
	r := reports[0]
	rule.Equal(e, "records, rows, missing, stale", fmt.Sprint(r.Records, " ", r.Rows, " ", r.Missing, " ", r.Stale), "29 31 2 4")
	e.That(!r.Clean() && len(r.Samples) > 0, "a report that is not clean, with samples", "%+v", r)
}
