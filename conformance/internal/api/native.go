package api

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// nativeRules are about indexes that the store keeps by itself.
func nativeRules() []entry {
	return []entry{
		{Name: "native verify", After: "native unique", Sentence: "Verify counts the records that a native index does not find.", Needs: tested.HasEveryNative, Check: nativeVerify},
		{Name: "local native queries", Sentence: "Queries by a local native index are answered as by a table: pages, counts and keys, in both directions.", Needs: tested.HasNative, Check: localQueries},
		{Name: "local native on records", Sentence: "A native index that is added to a collection finds the records that there were.", Needs: tested.HasNative, Check: localOnRecords},
	}
}

// A blind store overlooks the first record of each run of a native index, and all in a walk.
type blind struct{ driver.Store }

func (b *blind) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	if t.Native {
		return func(func(driver.Chunk, error) bool) {}
	}
	return b.Store.Walk(ctx, t, mark)
}

func (b *blind) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	rows := b.Store.Range(ctx, span)
	if !span.Table.Native {
		return rows
	}
	return func(yield func(*driver.Row, error) bool) {
		first := true
		for row, err := range rows {
			if (!first || err != nil) && !yield(row, err) {
				return
			}
			first = false
		}
	}
}

func nativeVerify(ctx context.Context, e *env) {
	schema := messageSchema()
	schema.Collection = e.FreshName()
	for i := range schema.Indexes {
		schema.Indexes[i].Kind = "native"
	}
	r, err := repo.Open[message](ctx, repo.NewStore(e.Store, nil), schema)
	e.OK("open", err)
	for i := range 5 {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i), Level: "info", Text: fmt.Sprint(i)})
	}
	clean(ctx, e, r)
	half, err := repo.Open[message](ctx, repo.NewStore(&blind{e.Store}, nil), schema)
	e.OK("open", err)
	reports, err := half.Verify(ctx)
	e.OK("verify", err)
	rule.Equal(e, "records, rows, missing", fmt.Sprint(reports[0].Records, reports[0].Rows, reports[0].Missing), "5 0 5")
	e.OK("rebuild", r.Rebuild(ctx, reports[0].Index))
	clean(ctx, e, r)
}

// localSchema returns the schema of messages with a native index by their level.
func localSchema() repo.Schema {
	return withIndexes(repo.Index{Name: "by_level", Kind: "native", Partition: []string{"host", "level"}, Sort: []string{"-time"}})
}

func localQueries(ctx context.Context, e *env) {
	schema := localSchema()
	schema.Collection = e.FreshName()
	r, err := repo.Open[message](ctx, e.Repo, schema)
	e.OK("open", err)
	for i := range 12 { // two in a second
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i / 2), ID: int64(i), Level: []string{"error", "info", "error"}[i%3], Text: fmt.Sprint(i)})
	}
	newest := []string{"11", "8", "9", "6", "5", "2", "3", "0"}
	q := repo.Where("host", e.name("h")).Where("level", "error")
	plan, err := r.Explain(q)
	e.OK("explain", err)
	rule.Equal(e, "index, covered, depth", fmt.Sprint(plan.Index, " ", plan.Covered, plan.Depth), "by_level true 1")
	for _, order := range []string{"-time", "time"} {
		want := slices.Clone(newest)
		if order == "time" {
			slices.Reverse(want)
		}
		rule.Equal(e, "the errors in the order of "+order, find(ctx, e, r, q.Order(order), textOfMessage), want)
		rule.Equal(e, "the first three", find(ctx, e, r, q.Order(order).Limit(3), textOfMessage), want[:3])
		rule.Equal(e, "the errors by pages", textsByPages(ctx, e, r, q.Order(order).Limit(3)), want)
	}
	some := q.Range("time", e.when(1), e.when(5))
	rule.Equal(e, "the errors of four seconds", find(ctx, e, r, some, textOfMessage), newest[1:7])
	n, err := r.Count(ctx, some)
	e.OK("count", err)
	rule.Equal(e, "the count of those", n, 6)
	rule.Equal(e, "the keys of all", len(collect(e, "keys", r.Keys(ctx, q))), len(newest))
	_, err = r.Patch(ctx, repo.Key{e.name("h"), e.when(5), 11}, repo.Set("level", "info"))
	e.OK("patch", err)
	e.OK("delete", r.Delete(ctx, repo.Key{e.name("h"), e.when(4), 8}))
	rule.Equal(e, "the errors after one was changed and one deleted", find(ctx, e, r, q, textOfMessage), newest[2:])
	clean(ctx, e, r)
}

// textsByPages returns the texts of messages by pages.
func textsByPages(ctx context.Context, e *env, r *repo.Repo[message], q repo.Query) []string {
	var list []string
	for cursor := ""; ; {
		page, err := r.Page(ctx, q, cursor)
		e.OK("page", err)
		for _, m := range page.Items {
			list = append(list, m.Text)
		}
		if cursor = page.Next; cursor == "" {
			return list
		}
	}
}

func localOnRecords(ctx context.Context, e *env) {
	name := e.FreshName()
	before, err := openAs[message](ctx, e, name, withIndexes())
	e.OK("open", err)
	for i := range 12 {
		insertAll(ctx, e, before, message{Host: e.name("h"), Time: e.when(i), Level: []string{"error", "info"}[i%2], Text: fmt.Sprint(i)})
	}
	_, err = openAs[message](ctx, e, name, localSchema())
	e.Is("open with a new index", err, repo.ErrSchema)
	r := builtAs[message](ctx, e, e.Repo, name, localSchema())
	q := repo.Where("host", e.name("h")).Where("level", "error")
	rule.Equal(e, "the errors from before", find(ctx, e, r, q, textOfMessage), []string{"10", "8", "6", "4", "2", "0"})
	insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(20), Level: "error", Text: "20"})
	rule.Equal(e, "the newest error", find(ctx, e, r, q.Limit(1), textOfMessage), []string{"20"})
	clean(ctx, e, r)
	e.OK("rebuild", r.Rebuild(ctx, "by_level"))
	rule.Equal(e, "the oldest error after a rebuild", find(ctx, e, r, q.Order("time").Limit(1), textOfMessage), []string{"0"})
	e.OK("drop index", repo.DropIndex(ctx, e.Repo, name, "by_level"))
	r, err = openAs[message](ctx, e, name, withIndexes())
	e.OK("open without the index", err)
	_, err = repo.Collect(r.Find(ctx, q))
	e.That(err != nil, "no index to answer", "success")
}
