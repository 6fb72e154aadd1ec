package conformance

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func errorRules() []rule {
	return []rule{
		{name: "wrapped", sentence: "An error of a store is one of the sentinels of package driver, wrapped.", check: wrapped},
		{name: "ended contexts", sentence: "Every method returns promptly when its context ends, with the context's error.", check: endedContexts},
		{name: "loop that is cancelled", sentence: "A loop whose context ends in the middle ends with one error, last, with a nil row, unless it has yielded every row; no count is a part of one.", check: cancelledLoop},
		{name: "ended verbs", sentence: "Every verb whose context has ended fails with the context's error and writes nothing.", check: endedVerbs},
		{name: "key limit", sentence: "A key of 1,024 bytes is taken; one of 1,025 is ErrTooLarge, by every verb.", check: keyLimit},
		{name: "record limit", sentence: "A record of almost 1 MiB is kept; one above is ErrTooLarge and changes nothing.", check: recordLimit},
		{name: "text keys", sentence: "Types that marshal to text are keys and fields; integers of any size fit integer fields.", check: textKeys},
	}
}

func wrapped(ctx context.Context, e *env) {
	t := e.tables.sorted
	unknown := e.ownTable(fieldColumns()...)
	key := e.at(t, "p", "a")
	calls := map[string]error{
		"get of an unknown table":      e.store.Get(ctx, unknown, []driver.Key{key}, nil, make([]driver.Row, 1)),
		"get with a mask out of range": e.store.Get(ctx, t, []driver.Key{key}, []int{99}, make([]driver.Row, 1)),
		"attach of an unknown table":   e.store.Attach(ctx, []*driver.Table{unknown}),
	}
	_, calls["range of an unknown table"] = rangeAll(ctx, e.store, span(unknown, key))
	_, calls["commit to an unknown table"] = e.store.Commit(ctx, driver.NewToken(), []driver.Op{put(unknown, row(key, "x"))})
	for _, err := range e.store.Walk(ctx, unknown, "") {
		calls["walk of an unknown table"] = err
	}
	for _, err := range e.store.Walk(ctx, t, "no mark") {
		calls["walk from a bad mark"] = err
	}
	for what, err := range calls {
		e.that(err != nil, what+" to fail", "success")
		e.that(finding.IsSentinel(err), what+" to be a sentinel of package driver", "%v", err)
	}
	e.commit(ctx, put(t, row(key, "x")))
	equal(e, "the row after all that", e.text(ctx, t, key), "x")
}

// prompt is what a busy machine may add to a call that has nothing to do.
const prompt = 5 * time.Second

// promptly ends the rule unless call fails with the error of its context, within some
// seconds.
func promptly(e *env, what string, want error, call func() error) {
	began := time.Now()
	err := call()
	e.is(what+" whose context has ended", err, want)
	e.that(time.Since(began) < prompt, what+" to return within "+prompt.String(), "%s", time.Since(began))
}

func endedContexts(ctx context.Context, e *env) {
	t := e.tables.sorted
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		over := ended(ctx, want)
		promptly(e, "get", want, func() error { return e.store.Get(over, t, []driver.Key{key}, nil, make([]driver.Row, 1)) })
		promptly(e, "range", want, func() error { _, err := rangeAll(over, e.store, span(t, key)); return err })
		promptly(e, "walk", want, func() (err error) {
			for _, err = range e.store.Walk(over, t, "") {
				continue
			}
			return err
		})
		promptly(e, "define", want, func() error { return e.store.Define(over, []*driver.Table{e.ownTable()}) })
		promptly(e, "attach", want, func() error { return e.store.Attach(over, []*driver.Table{t}) })
		promptly(e, "drop", want, func() error { return e.store.Drop(over, []*driver.Table{e.ownTable()}) })
		promptly(e, "commit", want, func() error {
			_, err := e.store.Commit(over, driver.NewToken(), []driver.Op{put(t, row(key, "new"))})
			return err
		})
	}
	equal(e, "the row", e.text(ctx, t, key), "x")
}

func endedVerbs(ctx context.Context, e *env) {
	items, want := e.items(ctx), e.insertItem(ctx, e.item("a"))
	over, key := ended(ctx, context.Canceled), e.itemKey("a")
	it, fresh := want, e.item("b")
	q := repo.Where("shelf", want.Shelf)
	group := items.Store().Group()
	groupIn := items.In(group)
	groupIn.Put(&it)
	calls := map[string]error{"insert": items.Insert(over, &fresh), "replace": items.Replace(over, &it), "put": items.Put(over, &it), "delete": items.Delete(over, key), "group": group.Commit(over)}
	_, calls["get"] = items.Get(over, key)
	_, calls["exists"] = items.Exists(over, key)
	_, _, calls["get many"] = items.GetMany(over, []repo.Key{key})
	_, calls["one"] = items.One(over, q)
	_, calls["update"] = items.Update(over, key, func(it *item) error { it.Count++; return nil })
	_, calls["patch"] = items.Patch(over, key, repo.Add("count", 1))
	_, calls["find"] = repo.Collect(items.Find(over, q))
	_, calls["keys"] = repo.Collect(items.Keys(over, q))
	_, calls["scan"] = repo.Collect(items.Scan(over, q))
	_, calls["walk"] = repo.Collect(items.Walk(over, ""))
	_, calls["page"] = items.Page(over, q, "")
	_, calls["count"] = items.Count(over, q)
	_, calls["insert all"] = items.InsertAll(over, double.Sequence([]item{fresh}, nil))
	for verb, err := range calls {
		e.is(verb+" whose context has ended", err, context.Canceled)
		e.that(!errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrConflict), "no other condition", "%v", err)
	}
	equal(e, "the record", e.getItem(ctx, "a"), want)
	missingItem(ctx, e, "b")
}

func keyLimit(ctx context.Context, e *env) {
	shelf := e.name("shelf")
	rest := 1024 - len(shelf) - 2 // two parts end with a character each
	for _, c := range []string{"x", "é"} {
		id := strings.Repeat(c, rest/len(c)) + strings.Repeat("y", rest%len(c))
		e.insertItem(ctx, e.item(id))
		equal(e, "the record under the longest key", e.getItem(ctx, id).ID, id)
		long := e.item(id + "z")
		tooLong(ctx, e, long)
		_, err := e.items(ctx).Get(ctx, e.itemKey(long.ID))
		e.is("get of a key that is too long", err, repo.ErrTooLarge)
		e.is("delete of a key that is too long", e.items(ctx).Delete(ctx, e.itemKey(long.ID)), repo.ErrTooLarge)
	}
	e.is("insert of a key that grows too long by its escapes", e.items(ctx).Insert(ctx, &item{Shelf: shelf, ID: strings.Repeat("#", rest/3+1)}), repo.ErrTooLarge)
}

// tooLong sees that no verb takes a record with a key that is too long.
func tooLong(ctx context.Context, e *env, it item) {
	items := e.items(ctx)
	for verb, err := range map[string]error{"insert": items.Insert(ctx, &it), "put": items.Put(ctx, &it), "replace": items.Replace(ctx, &it)} {
		e.is(verb+" of a key that is too long", err, repo.ErrTooLarge)
	}
}

func recordLimit(ctx context.Context, e *env) {
	it := e.item("a")
	it.Data = make([]byte, 1<<20-2048)
	for i := range it.Data {
		it.Data[i] = byte(i * 31)
	}
	want := e.insertItem(ctx, it)
	equal(e, "the large record", e.getItem(ctx, "a").Data, want.Data)
	it = want
	it.Data = append(it.Data, make([]byte, 4096)...)
	refusedWrites(ctx, e, "a record over 1 MiB", it, repo.ErrTooLarge)
	_, err := e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error { it.Text = strings.Repeat("x", 4096); return nil })
	e.is("update to over 1 MiB", err, repo.ErrTooLarge)
	equal(e, "the version", e.getItem(ctx, "a").Version, want.Version)
}

func textKeys(ctx context.Context, e *env) {
	addr := netip.MustParseAddr("127.66.66.66")
	it := e.item(addr.String())
	it.Address = addr
	e.insertItem(ctx, it)
	got, err := e.items(ctx).Get(ctx, repo.Key{it.Shelf, addr})
	e.ok("get by a type that marshals to text", err)
	equal(e, "the field of that type", got.Address, addr)
	list := []thing{{"id": e.name("1"), "n": int8(-5)}, {"id": e.name("2"), "n": uint16(65535)}, {"id": e.name("3"), "score": 7}}
	for i, want := range []any{int64(-5), int64(65535), float64(7)} {
		e.ok("insert", e.things(ctx).Insert(ctx, &list[i]))
		read, err := e.things(ctx).Get(ctx, repo.Key{list[i]["id"]})
		e.ok("get", err)
		equal(e, "a number of another size", []any{read["n"], read["score"]}[i/2], want)
	}
}
