package api

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

func errorRules() []entry {
	return []entry{
		{Name: "ended verbs", Sentence: "Every verb whose context has ended fails with the context's error and writes nothing.", Check: endedVerbs},
		{Name: "key limit", Sentence: "A key of 1,024 bytes is taken; one of 1,025 is ErrTooLarge, by every verb.", Check: keyLimit},
		{Name: "record limit", Sentence: "A record of almost 1 MiB is kept; one above is ErrTooLarge and changes nothing.", Check: recordLimit},
		{Name: "text keys", Sentence: "Types that marshal to text are keys and fields; integers of any size fit integer fields.", Check: textKeys},
	}
}

func endedVerbs(ctx context.Context, e *env) {
	items, want := e.items(ctx), e.insertItem(ctx, e.item("a"))
	over, key := double.Ended(ctx, context.Canceled), e.itemKey("a")
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
		e.Is(verb+" whose context has ended", err, context.Canceled)
		e.That(!errors.Is(err, repo.ErrNotFound) && !errors.Is(err, repo.ErrConflict), "no other condition", "%v", err)
	}
	rule.Equal(e, "the record", e.getItem(ctx, "a"), want)
	missingItem(ctx, e, "b")
}

func keyLimit(ctx context.Context, e *env) {
	shelf := e.name("shelf")
	rest := 1024 - len(shelf) - 2 // two parts end with a character each
	for _, c := range []string{"x", "é"} {
		id := strings.Repeat(c, rest/len(c)) + strings.Repeat("y", rest%len(c))
		e.insertItem(ctx, e.item(id))
		rule.Equal(e, "the record under the longest key", e.getItem(ctx, id).ID, id)
		long := e.item(id + "z")
		tooLong(ctx, e, long)
		_, err := e.items(ctx).Get(ctx, e.itemKey(long.ID))
		e.Is("get of a key that is too long", err, repo.ErrTooLarge)
		e.Is("delete of a key that is too long", e.items(ctx).Delete(ctx, e.itemKey(long.ID)), repo.ErrTooLarge)
	}
	e.Is("insert of a key that grows too long by its escapes", e.items(ctx).Insert(ctx, &item{Shelf: shelf, ID: strings.Repeat("#", rest/3+1)}), repo.ErrTooLarge)
}

// tooLong sees that no verb takes a record with a key that is too long.
func tooLong(ctx context.Context, e *env, it item) {
	items := e.items(ctx)
	for verb, err := range map[string]error{"insert": items.Insert(ctx, &it), "put": items.Put(ctx, &it), "replace": items.Replace(ctx, &it)} {
		e.Is(verb+" of a key that is too long", err, repo.ErrTooLarge)
	}
}

func recordLimit(ctx context.Context, e *env) {
	it := e.item("a")
	it.Data = make([]byte, 1<<20-2048)
	for i := range it.Data {
		it.Data[i] = byte(i * 31)
	}
	want := e.insertItem(ctx, it)
	rule.Equal(e, "the large record", e.getItem(ctx, "a").Data, want.Data)
	it = want
	it.Data = append(it.Data, make([]byte, 4096)...)
	refusedWrites(ctx, e, "a record over 1 MiB", it, repo.ErrTooLarge)
	_, err := e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error { it.Text = strings.Repeat("x", 4096); return nil })
	e.Is("update to over 1 MiB", err, repo.ErrTooLarge)
	rule.Equal(e, "the version", e.getItem(ctx, "a").Version, want.Version)
}

func textKeys(ctx context.Context, e *env) {
	addr := netip.MustParseAddr("127.66.66.66")
	it := e.item(addr.String())
	it.Address = addr
	e.insertItem(ctx, it)
	got, err := e.items(ctx).Get(ctx, repo.Key{it.Shelf, addr})
	e.OK("get by a type that marshals to text", err)
	rule.Equal(e, "the field of that type", got.Address, addr)
	list := []thing{{"id": e.name("1"), "n": int8(-5)}, {"id": e.name("2"), "n": uint16(65535)}, {"id": e.name("3"), "score": 7}}
	for i, want := range []any{int64(-5), int64(65535), float64(7)} {
		e.OK("insert", e.things(ctx).Insert(ctx, &list[i]))
		read, err := e.things(ctx).Get(ctx, repo.Key{list[i]["id"]})
		e.OK("get", err)
		rule.Equal(e, "a number of another size", []any{read["n"], read["score"]}[i/2], want)
	}
}
