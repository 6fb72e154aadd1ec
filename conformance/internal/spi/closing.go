package spi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

// closeRules come last, one after the other: each opens the store for itself,
// when nobody else has it open.
func closeRules() []entry {
	return []entry{
		{Name: "closed", Sentence: "What is called after Close answers ErrClosed.", Check: closed},
		{Name: "twice", Sentence: "Closing twice succeeds.", Check: closeTwice},
		{Name: "under way", Sentence: "Close waits for calls under way.", Check: closeWaits},
		{Name: "loops under way", Sentence: "A loop under way when the store is closed yields all that is there, or ends with ErrClosed.", Check: closeLoops},
		{Name: "kept", Sentence: "What was acknowledged is there when the store is opened again, as far as Facts says.", Needs: tested.SurvivesProcess, Check: kept},
	}
}

func commitTo(ctx context.Context, store driver.Store, t *driver.Table, key driver.Key, text string) error {
	refusal, err := store.Commit(ctx, driver.NewToken(), []driver.Op{put(t, row(key, text))})
	if err == nil && refusal != nil {
		return finding.Wanted("a commit without a condition to be done", "a refusal")
	}
	return err
}

// errOf returns the error of a loop.
func errOf[T any](loop iter.Seq2[T, error]) error {
	for _, err := range loop {
		if err != nil {
			return err
		}
	}
	return nil
}

func closed(ctx context.Context, e *env) {
	store, t := e.Opened(ctx)
	key := e.at(t, "p", "a")
	e.OK("commit", commitTo(ctx, store, t, key, "x"))
	before := store.Range(ctx, span(t, key))
	e.OK("close", store.Close())
	calls := map[string]error{"get": store.Get(ctx, t, []driver.Key{key}, nil, make([]driver.Row, 1)), "commit": commitTo(ctx, store, t, key, "y"),
		"define": store.Define(ctx, []*driver.Table{t}), "attach": store.Attach(ctx, []*driver.Table{t}), "drop": store.Drop(ctx, []*driver.Table{t})}
	_, calls["range"] = table.Rows(ctx, store, span(t, key))
	calls["walk"] = errOf(store.Walk(ctx, t, ""))
	calls["a loop over a range from before"] = errOf(before)
	if c, ok := store.(driver.Counter); ok {
		_, calls["count"] = c.Count(ctx, span(t, key))
	}
	if s, ok := store.(driver.Sizer); ok {
		_, calls["size"] = s.Size(ctx, t)
	}
	e.Reopened(ctx, t, nil)
	for what, err := range calls {
		e.Is(what+" after Close", err, driver.ErrClosed)
	}
}

func closeTwice(ctx context.Context, e *env) {
	store, t := e.Opened(ctx)
	var errs []error
	for range 3 {
		errs = append(errs, store.Close())
	}
	e.Reopened(ctx, t, nil)
	e.OK("closing three times", errors.Join(errs...))
}

// Grace is how much later than Close a call may be seen to return that returned
// before it: goroutines run when they are let to.
const Grace = 2 * time.Second

func closeWaits(ctx context.Context, e *env) {
	store, t := e.Opened(ctx)
	const writers = 8
	var wg sync.WaitGroup
	last := make([]time.Time, writers)
	errs := make([]error, writers)
	acked := make([]int, writers)
	started := make(chan struct{}, writers)
	for w := range writers {
		wg.Go(func() {
			for n := 0; errs[w] == nil; n++ {
				errs[w] = commitTo(ctx, store, t, e.at(t, fmt.Sprint(w), fmt.Sprintf("%06d", n)), "x")
				if errs[w] == nil {
					last[w], acked[w] = time.Now(), n+1
				}
				if n == 3 || n < 3 && errs[w] != nil {
					started <- struct{}{}
				}
			}
		})
	}
	for range writers {
		<-started
	}
	err := store.Close()
	over := time.Now()
	wg.Wait()
	lost := ""
	e.Reopened(ctx, t, func(store driver.Store) {
		if tested.SurvivesProcess(e.Facts) == "" {
			lost = lostRows(ctx, e, store, t, acked)
		}
	})
	e.OK("close", err)
	for w := range writers {
		e.Is("a commit after Close", errs[w], driver.ErrClosed)
		e.That(last[w].Before(over.Add(Grace)), "no commit to be done after Close has returned", "one %s later", last[w].Sub(over))
	}
	rule.Equal(e, "the acknowledged rows that are not there", lost, "")
}

// lostRows returns which acknowledged rows of writers are not there.
func lostRows(ctx context.Context, e *env, store driver.Store, t *driver.Table, acked []int) string {
	e.OK("attach", store.Attach(ctx, []*driver.Table{t}))
	for w, n := range acked {
		rows, err := table.Rows(ctx, store, span(t, e.at(t, fmt.Sprint(w), "")))
		e.OK("range", err)
		if len(rows) < n {
			return fmt.Sprintf("writer %d: %d of %d", w, n-len(rows), n)
		}
	}
	return ""
}

func kept(ctx context.Context, e *env) {
	store, t := e.Opened(ctx)
	var want []string
	for i := range 200 {
		r := row(e.at(t, fmt.Sprint("p", i%3), fmt.Sprintf("%03d", i)), fmt.Sprint("text ", i))
		r.Extra, r.Meta, r.Expires, r.Dead = []driver.Pair{{Name: "x", Value: listOf(num(int64(i)))}}, fmt.Sprint(i), int64(i), i%7 == 0
		r.Rev = driver.NewToken()
		refusal, err := store.Commit(ctx, r.Rev, []driver.Op{put(t, r)})
		e.That(err == nil && refusal == nil, "the commit to be done", "%v", err)
		want = append(want, r.Key.Sort+show(&r)+r.Rev.String())
	}
	e.OK("close", store.Close())
	var got []string
	twin := *t
	e.Reopened(ctx, t, func(store driver.Store) {
		e.OK("attach", store.Attach(ctx, []*driver.Table{&twin}))
		for chunk, err := range store.Walk(ctx, &twin, "") {
			e.OK("walk", err)
			for i := range chunk.Rows {
				r := &chunk.Rows[i]
				got = append(got, r.Key.Sort+show(r)+r.Rev.String())
			}
		}
	})
	slices.Sort(want)
	slices.Sort(got)
	rule.Equal(e, "the rows when the store was opened again", got, want)
}
