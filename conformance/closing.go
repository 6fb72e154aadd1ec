package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// closeRules come last, one after the other: each opens the store for itself,
// when nobody else has it open.
func closeRules() []rule {
	return []rule{
		{name: "closed", sentence: "What is called after Close answers ErrClosed.", check: closed},
		{name: "twice", sentence: "Closing twice succeeds.", check: closeTwice},
		{name: "under way", sentence: "Close waits for calls under way.", check: closeWaits},
		{name: "loops under way", sentence: "A loop under way when the store is closed yields all that is there, or ends with ErrClosed.", check: closeLoops},
		{name: "kept", sentence: "What was acknowledged is there when the store is opened again, as far as Facts says.", needs: survivesProcess, check: kept},
		{name: "closed repository", sentence: "Operations of a repository that begin after Close fail with ErrClosed.", check: closedRepo},
	}
}

func survivesProcess(f driver.Facts) string {
	if f.Durability < driver.Delayed { // what is delayed is not lost by Close
		return strings.Join(nonEmpty("what "+f.Name+" acknowledges need not outlive its process", f.Setting), ": ")
	}
	return ""
}

// leavesTables reports whether the tables of a store are there when a process has died that
// had it open.
func leavesTables(f driver.Facts) bool { return !f.OneProcess || survivesProcess(f) == "" }

// opened opens the store for the rule and defines a table.
func (e *env) opened(ctx context.Context) (driver.Store, *driver.Table) {
	store, err := e.open(ctx)
	e.ok("open", err)
	t := *e.tables.sorted
	t.Name = fmt.Sprintf("%s.t%d", e.id, e.number())
	if err := store.Define(ctx, []*driver.Table{&t}); err != nil {
		store.Close()
		e.ok("define", err)
	}
	return store, &t
}

// reopened opens the store again, lets fn look at it, and drops the table.
func (e *env) reopened(ctx context.Context, t *driver.Table, fn func(store driver.Store)) {
	store, err := e.open(ctx)
	e.ok("open again", err)
	defer store.Close()
	defer func() { _ = store.Drop(ctx, []*driver.Table{t}) }()
	if fn != nil {
		fn(store)
	}
}

func commitTo(ctx context.Context, store driver.Store, t *driver.Table, key driver.Key, text string) error {
	refusal, err := store.Commit(ctx, driver.NewToken(), []driver.Op{put(t, row(key, text))})
	if err == nil && refusal != nil {
		return finding.Wanted("a commit without a condition to be done", "a refusal")
	}
	return err
}

func closed(ctx context.Context, e *env) {
	store, t := e.opened(ctx)
	key := e.at(t, "p", "a")
	e.ok("commit", commitTo(ctx, store, t, key, "x"))
	before := store.Range(ctx, span(t, key))
	e.ok("close", store.Close())
	calls := map[string]error{"get": store.Get(ctx, t, []driver.Key{key}, nil, make([]driver.Row, 1)), "commit": commitTo(ctx, store, t, key, "y"),
		"define": store.Define(ctx, []*driver.Table{t}), "attach": store.Attach(ctx, []*driver.Table{t}), "drop": store.Drop(ctx, []*driver.Table{t})}
	_, calls["range"] = rangeAll(ctx, store, span(t, key))
	_, calls["walk"] = repo.Collect(store.Walk(ctx, t, ""))
	_, calls["a loop over a range from before"] = repo.Collect(before)
	if c, ok := store.(driver.Counter); ok {
		_, calls["count"] = c.Count(ctx, span(t, key))
	}
	if s, ok := store.(driver.Sizer); ok {
		_, calls["size"] = s.Size(ctx, t)
	}
	e.reopened(ctx, t, nil)
	for what, err := range calls {
		e.is(what+" after Close", err, driver.ErrClosed)
	}
}

func closeTwice(ctx context.Context, e *env) {
	store, t := e.opened(ctx)
	var errs []error
	for range 3 {
		errs = append(errs, store.Close())
	}
	e.reopened(ctx, t, nil)
	e.ok("closing three times", errors.Join(errs...))
}

// grace is how much later than Close a call may be seen to return that returned
// before it: goroutines run when they are let to.
const grace = 2 * time.Second

func closeWaits(ctx context.Context, e *env) {
	store, t := e.opened(ctx)
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
	e.reopened(ctx, t, func(store driver.Store) {
		if survivesProcess(e.facts) == "" {
			lost = lostRows(ctx, e, store, t, acked)
		}
	})
	e.ok("close", err)
	for w := range writers {
		e.is("a commit after Close", errs[w], driver.ErrClosed)
		e.that(last[w].Before(over.Add(grace)), "no commit to be done after Close has returned", "one %s later", last[w].Sub(over))
	}
	equal(e, "the acknowledged rows that are not there", lost, "")
}

// lostRows returns which acknowledged rows of writers are not there.
func lostRows(ctx context.Context, e *env, store driver.Store, t *driver.Table, acked []int) string {
	e.ok("attach", store.Attach(ctx, []*driver.Table{t}))
	for w, n := range acked {
		rows, err := rangeAll(ctx, store, span(t, e.at(t, fmt.Sprint(w), "")))
		e.ok("range", err)
		if len(rows) < n {
			return fmt.Sprintf("writer %d: %d of %d", w, n-len(rows), n)
		}
	}
	return ""
}

func kept(ctx context.Context, e *env) {
	store, t := e.opened(ctx)
	var want []string
	for i := range 200 {
		r := row(e.at(t, fmt.Sprint("p", i%3), fmt.Sprintf("%03d", i)), fmt.Sprint("text ", i))
		r.Extra, r.Note, r.Expires, r.Dead = []driver.Pair{{Name: "x", Value: listOf(num(int64(i)))}}, fmt.Sprint(i), int64(i), i%7 == 0
		r.Rev = driver.NewToken()
		refusal, err := store.Commit(ctx, r.Rev, []driver.Op{put(t, r)})
		e.that(err == nil && refusal == nil, "the commit to be done", "%v", err)
		want = append(want, r.Key.Sort+show(&r)+r.Rev.String())
	}
	e.ok("close", store.Close())
	var got []string
	twin := *t
	e.reopened(ctx, t, func(store driver.Store) {
		e.ok("attach", store.Attach(ctx, []*driver.Table{&twin}))
		for chunk, err := range store.Walk(ctx, &twin, "") {
			e.ok("walk", err)
			for i := range chunk.Rows {
				r := &chunk.Rows[i]
				got = append(got, r.Key.Sort+show(r)+r.Rev.String())
			}
		}
	})
	slices.Sort(want)
	slices.Sort(got)
	equal(e, "the rows when the store was opened again", got, want)
}

func closedRepo(ctx context.Context, e *env) {
	store, t := e.opened(ctx)
	s := repo.NewStore(store, nil)
	schema := itemSchema()
	schema.Collection = e.freshName()
	items, err := repo.Open[item](ctx, s, schema)
	e.ok("open", err)
	it := e.item("a")
	e.ok("insert", items.Insert(ctx, &it))
	e.ok("drop", repo.DropCollection(ctx, s, schema.Collection))
	e.ok("close", s.Close())
	_, getErr := items.Get(ctx, e.itemKey("a"))
	_, findErr := repo.Collect(items.Find(ctx, repo.Where("shelf", it.Shelf)))
	_, openErr := repo.Open[item](ctx, s, schema)
	e.reopened(ctx, t, nil)
	for what, err := range map[string]error{"get": getErr, "find": findErr, "open": openErr} {
		e.is(what+" after Close", err, repo.ErrClosed)
	}
}
