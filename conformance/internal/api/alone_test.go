package api

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// aloneRules are about what package repo does whatever the store: no backend could
// break them, so they say nothing about one.
func aloneRules() []entry {
	return []entry{
		{Name: "typed errors", Sentence: "Every error of a repository is or wraps an *Error with operation and collection.", Check: typedErrors},
		{Name: "keys that are none", Sentence: "A key with too few or too many parts, or one of another kind, is ErrInvalid.", Check: wrongKeys},
		{Name: "redacted", Sentence: "With Redact no key and no value is in the text of an error.", Check: redacted},
		{Name: "traced", Sentence: "The tracer is told once of the end of every operation, with its error.", Check: traced},
		{Name: "patch refused", Sentence: "An edit of the key, of a field twice, of another kind, or none at all, is ErrInvalid.", Check: patchRefused},
		{Name: "update given up", Sentence: "An error of fn ends Update as it is, wrapped, and nothing is written.", Check: updateGivenUp},
		{Name: "update of a key", Sentence: "Update that changes the key is ErrInvalid and writes nothing.", Check: updateKey},
		{Name: "no index", Sentence: "A query that no index answers is ErrInvalid and names the index to add.", Check: noIndex},
		{Name: "invalid queries", Sentence: "An unknown field, a value of another kind, two conditions on a field, or a limit below 0 is ErrInvalid.", Check: invalidQueries},
		{Name: "explain", Sentence: "Explain tells the index, and the round trips that a query then takes.", Needs: tested.KeepsRemote, Check: explain},
		{Name: "other cursors", Sentence: "A cursor of another query is ErrInvalid.", Check: otherCursors},
		{Name: "damaged cursors", Sentence: "A cursor that was cut or changed is ErrCursor, which is ErrInvalid.", Check: damagedCursors},
		{Name: "signed cursors", Sentence: "With a CursorKey only cursors of programs that have the key are taken.", Check: signedCursors},
		{Name: "one partition", Sentence: "A group over two partitions is ErrInvalid and does nothing.", Check: groupOnePartition},
		{Name: "named once", Sentence: "A group that names a record twice is ErrInvalid and does nothing.", Check: groupNamedOnce},
		{Name: "faults of records", Sentence: "A group with a record that cannot be stored is ErrInvalid and does nothing.", Check: groupFaults},
		{Name: "empty group", Sentence: "A group of no writes succeeds.", Check: groupEmpty},
		{Name: "empty sequence", Sentence: "InsertAll of nothing inserts nothing.", Check: bulkEmpty},
		{Name: "every fault", Sentence: "Open reports every fault of a schema at once, as ErrSchema, and makes nothing.", Check: everyFault},
		{Name: "remote index", Sentence: "An index that the commit scope of the store cannot keep in step is refused by Open, and leaves no trace.", Needs: keepsNoRemote, Check: remoteIndex},
		{Name: "beyond the commit scope", Sentence: "A group of several records on a store that changes one at a time is ErrUnsupported and leaves no trace.", Needs: hasBeyondRecord, Check: groupBeyond},
	}
}

// Package repo keeps its own side where no store has a part in it.
func TestRepoAlone(t *testing.T) {
	for _, r := range aloneRules() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			if err := tried(t, r); err != nil {
				t.Errorf("%s\n%v", r.Sentence, err)
			}
		})
	}
}

// tried checks a rule on the memory backend, with the largest commit scope with which it has something
// to say.
func tried(t *testing.T, r entry) error {
	t.Helper()
	for scope := driver.ScopeStore; ; scope-- {
		var store driver.Store = memory.New(&memory.Options{Scope: &scope})
		if r.Name == "remote index" {
			store = localOnly{store}
		}
		s := rule.NewSuite(func(context.Context) (driver.Store, error) { return store, nil }, time.Minute)
		s.Use(store)
		err := in("alone", []entry{r})[0].Run(t.Context(), s)
		if _, ok := errors.AsType[*finding.ErrNotSupported](err); !ok || scope == driver.ScopeRecord {
			return err
		}
	}
}

// A localOnly store keeps indexes with their records only.
type localOnly struct{ driver.Store }

func (s localOnly) Facts() driver.Facts {
	f := s.Store.Facts()
	f.Remote, f.Native = driver.Ability{Reason: "not here"}, driver.Ability{Reason: "not here"}
	return f
}

func typedErrors(ctx context.Context, e *env) {
	items, key := e.items(ctx), e.itemKey("none")
	it := e.item("none")
	calls := map[string]error{"replace": items.Replace(ctx, &it), "insert": items.Insert(ctx, nil)}
	_, calls["get"] = items.Get(ctx, key)
	_, calls["update"] = items.Update(ctx, key, func(*item) error { return nil })
	_, calls["patch"] = items.Patch(ctx, key, repo.Add("count", 1))
	calls["delete"] = items.Delete(ctx, key, repo.IfVersion(repo.Version{1}))
	_, calls["one"] = items.One(ctx, repo.Where("shelf", e.name("none")))
	_, calls["find"] = repo.Collect(items.Find(ctx, repo.Where("text", "x")))
	_, calls["count"] = items.Count(ctx, repo.Where("text", "x"))
	_, calls["page"] = items.Page(ctx, repo.Where("shelf", "x"), "no cursor")
	_, calls["explain"] = items.Explain(repo.Where("text", "x"))
	for op, err := range calls {
		facts, ok := errors.AsType[*repo.Error](err)
		e.That(ok, op+" to fail with a *repo.Error", "%v", err)
		rule.Equal(e, "operation and collection", facts.Op+" "+facts.Collection, op+" "+e.ID+"_items")
		e.That(finding.IsSentinel(err), op+" to fail with a sentinel", "%v", err)
		e.That(strings.HasPrefix(err.Error(), "repo "+op+" "), "a text that begins with the operation", "%v", err)
	}
	e.insertItem(ctx, it)
}

func wrongKeys(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("a"))
	shelf := e.name("shelf")
	for _, key := range []repo.Key{nil, {}, {shelf}, {shelf, "a", "b"}, {shelf, 1}, {shelf, nil}, {shelf, []byte("a")}, {shelf, "\xff"}, {shelf, []string{"a"}}, {shelf, make(chan int)}} {
		_, err := e.items(ctx).Get(ctx, key)
		e.Is(fmt.Sprintf("get of the key %v", key), err, repo.ErrInvalid)
		_, err = e.items(ctx).Exists(ctx, key)
		e.Is(fmt.Sprintf("exists of the key %v", key), err, repo.ErrInvalid)
		e.Is(fmt.Sprintf("delete of the key %v", key), e.items(ctx).Delete(ctx, key), repo.ErrInvalid)
		_, err = e.items(ctx).Patch(ctx, key, repo.Add("count", 1))
		e.Is(fmt.Sprintf("patch of the key %v", key), err, repo.ErrInvalid)
	}
	rule.Equal(e, "the record under the right key", e.getItem(ctx, "a").Text, "text of a")
}

func redacted(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("secret"))
	schema := itemSchema()
	schema.Collection = e.ID + "_items"
	items, err := repo.Open[item](ctx, repo.NewStore(e.Store, &repo.Options{Redact: true}), schema)
	e.OK("open", err)
	it := e.item("secret")
	calls := map[string]error{"insert": items.Insert(ctx, &it)}
	_, calls["get"] = items.Get(ctx, e.itemKey("secret none"))
	_, calls["update"] = items.Update(ctx, e.itemKey("secret none"), func(*item) error { return nil })
	_, calls["one"] = items.One(ctx, repo.Where("shelf", "secret"))
	_, calls["find"] = repo.Collect(items.Find(ctx, repo.Where("text", "secret")))
	_, calls["key"] = items.Get(ctx, repo.Key{"secret", 7})
	it.Text = "secret \xff"
	calls["text"] = items.Put(ctx, &it)
	calls["version"] = items.Delete(ctx, e.itemKey("secret"), repo.IfVersion(repo.Version{1}))
	for verb, err := range calls {
		e.That(err != nil, verb+" to fail", "success")
		e.That(!strings.Contains(err.Error(), "secret") && !strings.Contains(err.Error(), e.Tag), "no key or value in the error of "+verb, "%v", err)
	}
}

func traced(ctx context.Context, e *env) {
	e.items(ctx)
	var events []repo.Event
	schema := itemSchema()
	schema.Collection = e.ID + "_items"
	items, err := repo.Open[item](ctx, tracedStore(e, func(ev repo.Event) { events = append(events, ev) }), schema)
	e.OK("open", err)
	events = nil
	it := e.item("a")
	e.OK("insert", items.Insert(ctx, &it))
	taken := e.item("a")
	e.Is("insert of a taken key", items.Insert(ctx, &taken), repo.ErrExists)
	_, err = items.Get(ctx, e.itemKey("a"))
	e.OK("get", err)
	_, _, err = items.GetMany(ctx, []repo.Key{e.itemKey("a"), e.itemKey("b"), e.itemKey("c")})
	e.OK("get many", err)
	collect(e, "find", items.Find(ctx, repo.Where("shelf", e.name("shelf"))))
	var got []string
	for _, ev := range events {
		got = append(got, fmt.Sprint(ev.Op, " ", ev.Depth, " ", ev.Requests, " ", errors.Is(ev.Err, repo.ErrExists), " ", ev.Collection == schema.Collection))
	}
	rule.Equal(e, "the events: operation, depth, requests, exists", got, []string{"insert 1 1 false true", "insert 1 1 true true", "get 1 1 false true", "get many 1 3 false true", "find 1 1 false true"})
}

func noIndex(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 3)
	h := repo.Where("host", e.name("h"))
	for _, tt := range []struct {
		q     repo.Query
		names string
	}{
		{repo.Where("level", "error"), `"level"`},
		{h.Where("text", "x"), `"text"`},
		{h.Order("text"), `"text"`},
		{h.Order("-time", "-id"), `"-time", "-id"`},
		{repo.Where("time", e.when(1)), `"time"`},
		{repo.All().Order("time"), "Buckets"},
		{repo.All(), "Walk"},
	} {
		_, err := repo.Collect(e.messages(ctx).Find(ctx, tt.q))
		e.Is("find of "+tt.q.String(), err, repo.ErrInvalid)
		e.That(strings.Contains(err.Error(), tt.names), "an error that names "+tt.names, "%v", err)
		_, err = e.messages(ctx).Count(ctx, tt.q)
		e.Is("count of "+tt.q.String(), err, repo.ErrInvalid)
	}
	rule.Equal(e, "the messages by a query that has an index", len(messageTexts(ctx, e, h)), 3)
}

func invalidQueries(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 3)
	h := repo.Where("host", e.name("h"))
	for what, q := range map[string]repo.Query{
		"an unknown field":        repo.Where("nothing", 1),
		"an unknown order":        h.Order("nothing"),
		"a value of another kind": h.Where("level", 7),
		"a range of another kind": h.Range("time", 1.5, nil),
		"invalid text":            repo.Where("host", "\xff"),
		"two conditions":          h.Where("host", e.name("h")),
		"a limit below 0":         h.Limit(-1),
		"a prefix of a number":    h.Where("time", e.when(0)).Prefix("id", "1"),
		"elements of no list":     repo.Where("host[]", "x"),
		"nothing":                 repo.Where("host", nil),
	} {
		_, err := repo.Collect(e.messages(ctx).Find(ctx, q))
		e.Is("find with "+what, err, repo.ErrInvalid)
		_, err = e.messages(ctx).Page(ctx, q, "")
		e.Is("page with "+what, err, repo.ErrInvalid)
	}
	rule.Equal(e, "the messages by a valid query", len(messageTexts(ctx, e, h)), 3)
}

func explain(ctx context.Context, e *env) {
	e.posts(ctx)
	var last repo.Event
	schema := postSchema()
	schema.Collection = e.ID + "_posts"
	posts, err := repo.Open[post](ctx, tracedStore(e, func(ev repo.Event) { last = ev }), schema)
	e.OK("open", err)
	for i := range 3 {
		insertAll(ctx, e, posts, e.post(fmt.Sprint(i), "IT", i).with(e.name(fmt.Sprint("s", i)), e.name("t")))
	}
	for index, q := range map[string]repo.Query{
		"": repo.Where("author", e.name("author")).Limit(9), "by_author_created_desc": repo.Where("author", e.name("author")).Order("-created").Limit(9),
		"by_tags_created_desc": repo.Where("tags[]", e.name("t")).Limit(9), "by_created": e.created().Limit(9),
	} {
		plan, err := posts.Explain(q)
		e.OK("explain", err)
		rule.Equal(e, "the index for "+q.String(), plan.Index, index)
		rule.Equal(e, "what finds "+q.String(), len(collect(e, "find", posts.Find(ctx, q))), 3)
		depth, requests := plan.Cost(3)
		rule.Equal(e, "the cost of "+q.String()+": depth, requests, operation", fmt.Sprint(last.Depth, last.Requests, last.Op), fmt.Sprint(depth, requests, "find"))
	}
	_, err = posts.Explain(repo.Where("title", "x"))
	e.Is("explain without an index", err, repo.ErrInvalid)
}

func otherCursors(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 6)
	fillMessages(ctx, e, "g", 6)
	h := repo.Where("host", e.name("h"))
	cursor := e.page(ctx, h.Limit(2), "").Next
	for _, q := range []repo.Query{repo.Where("host", e.name("g")), h.Order("time"), h.Where("level", "error"), h.Range("time", e.when(1), nil), h.Range("time", nil, e.when(5))} {
		_, err := e.messages(ctx).Page(ctx, q.Limit(2), cursor)
		e.Is("page of "+q.String()+" with the cursor of another query", err, repo.ErrInvalid)
	}
	rule.Equal(e, "the second page, of another size", pageTexts(e.page(ctx, h.Limit(3), cursor)), []string{"h 003", "h 002", "h 001"})
}

func damagedCursors(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 6)
	q := repo.Where("host", e.name("h")).Limit(2)
	good := e.page(ctx, q, "").Next
	e.That(len(good) > 10, "a cursor", "%q", good)
	var bad []string
	for i := range good {
		bad = append(bad, good[:i])
		c := byte('A')
		if good[i] == c {
			c = 'B'
		}
		bad = append(bad, good[:i]+string(c)+good[i+1:])
	}
	bad = append(bad[1:], good+"A", good+good, " "+good, good+"=", good+"\n", good[:9]+"\r\n"+good[9:], "-", "\x00", "\xff", "nonsense", strings.Repeat("A", 100_000), base64.RawURLEncoding.EncodeToString(make([]byte, 60)))
	for _, cursor := range bad {
		_, err := e.messages(ctx).Page(ctx, q, cursor)
		e.Is("page with the cursor "+rule.Brief(cursor), err, repo.ErrCursor)
		e.Is("page with the cursor "+rule.Brief(cursor), err, repo.ErrInvalid)
	}
	rule.Equal(e, "the page of the cursor itself", pageTexts(e.page(ctx, q, good)), []string{"h 003", "h 002"})
}

func signedCursors(ctx context.Context, e *env) {
	fillMessages(ctx, e, "h", 6)
	q := repo.Where("host", e.name("h")).Limit(2)
	schema := messageSchema()
	schema.Collection = e.ID + "_messages"
	page := func(key, cursor string) (repo.Page[message], error) {
		r, err := repo.Open[message](ctx, repo.NewStore(e.Store, &repo.Options{CursorKey: []byte(key)}), schema)
		e.OK("open", err)
		return r.Page(ctx, q, cursor)
	}
	first, err := page("secret", "")
	e.OK("page", err)
	e.That(len(first.Next) > 10, "a cursor", "%q", first.Next)
	second, err := page("secret", first.Next)
	e.OK("page with the cursor of a program that has the key", err)
	rule.Equal(e, "the second page", pageTexts(second), []string{"h 003", "h 002"})
	for _, cursor := range []string{e.page(ctx, q, "").Next, first.Next[:len(first.Next)-2]} {
		_, err = page("secret", cursor)
		e.Is("page with a cursor that was not signed", err, repo.ErrInvalid)
	}
	_, err = page("other", first.Next)
	e.Is("page with a cursor signed with another key", err, repo.ErrInvalid)
	_, err = page("", first.Next)
	e.Is("page of a program without the key", err, repo.ErrInvalid)
}
