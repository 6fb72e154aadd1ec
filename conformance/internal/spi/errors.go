package spi

import (
	"context"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

func errorRules() []entry {
	return []entry{
		{Name: "wrapped", Sentence: "An error of a store is one of the sentinels of package driver, wrapped.", Check: wrapped},
		{Name: "ended contexts", Sentence: "Every method returns promptly when its context ends, with the context's error.", Check: endedContexts},
		{Name: "loop that is cancelled", Sentence: "A loop whose context ends in the middle ends with one error, last, with a nil row, unless it has yielded every row; no count is a part of one.", Check: cancelledLoop},
	}
}

func wrapped(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	unknown := e.ownTable(table.Fields()...)
	key := e.at(t, "p", "a")
	calls := map[string]error{
		"get of an unknown table":      e.Store.Get(ctx, unknown, []driver.Key{key}, nil, make([]driver.Row, 1)),
		"get with a mask out of range": e.Store.Get(ctx, t, []driver.Key{key}, []int{99}, make([]driver.Row, 1)),
		"attach of an unknown table":   e.Store.Attach(ctx, []*driver.Table{unknown}),
	}
	_, calls["range of an unknown table"] = table.Rows(ctx, e.Store, span(unknown, key))
	_, calls["commit to an unknown table"] = e.Store.Commit(ctx, driver.NewToken(), []driver.Op{put(unknown, row(key, "x"))})
	for _, err := range e.Store.Walk(ctx, unknown, "") {
		calls["walk of an unknown table"] = err
	}
	for _, err := range e.Store.Walk(ctx, t, "no mark") {
		calls["walk from a bad mark"] = err
	}
	for what, err := range calls {
		e.That(err != nil, what+" to fail", "success")
		e.That(finding.IsSentinel(err), what+" to be a sentinel of package driver", "%v", err)
	}
	e.commit(ctx, put(t, row(key, "x")))
	rule.Equal(e, "the row after all that", e.text(ctx, t, key), "x")
}

// prompt is what a busy machine may add to a call that has nothing to do.
const prompt = 5 * time.Second

// promptly ends the rule unless call fails with the error of its context, within some
// seconds.
func promptly(e *env, what string, want error, call func() error) {
	began := time.Now()
	err := call()
	e.Is(what+" whose context has ended", err, want)
	e.That(time.Since(began) < prompt, what+" to return within "+prompt.String(), "%s", time.Since(began))
}

func endedContexts(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		over := double.Ended(ctx, want)
		promptly(e, "get", want, func() error { return e.Store.Get(over, t, []driver.Key{key}, nil, make([]driver.Row, 1)) })
		promptly(e, "range", want, func() error { _, err := table.Rows(over, e.Store, span(t, key)); return err })
		promptly(e, "walk", want, func() (err error) {
			for _, err = range e.Store.Walk(over, t, "") {
				continue
			}
			return err
		})
		promptly(e, "define", want, func() error { return e.Store.Define(over, []*driver.Table{e.ownTable()}) })
		promptly(e, "attach", want, func() error { return e.Store.Attach(over, []*driver.Table{t}) })
		promptly(e, "drop", want, func() error { return e.Store.Drop(over, []*driver.Table{e.ownTable()}) })
		promptly(e, "commit", want, func() error {
			_, err := e.Store.Commit(over, driver.NewToken(), []driver.Op{put(t, row(key, "new"))})
			return err
		})
	}
	rule.Equal(e, "the row", e.text(ctx, t, key), "x")
}
