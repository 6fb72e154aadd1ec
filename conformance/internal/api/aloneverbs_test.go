package api

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func patchRefused(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	for what, edits := range map[string][]repo.Edit{
		"no edits":                nil,
		"a key field":             {repo.Set("id", "b")},
		"a field twice":           {repo.Set("text", "x"), repo.Unset("text")},
		"text in an integer":      {repo.Set("count", "x")},
		"add to text":             {repo.Add("text", 1)},
		"a fraction to a number":  {repo.Add("count", 0.5)},
		"a part of a text":        {repo.Set("text.x", "x")},
		"an element of another":   {repo.Push("list", 0, 1)},
		"a part and all":          {repo.Set("part.name", "x"), repo.Unset("part")},
		"invalid text":            {repo.Set("text", "\xff")},
		"NaN":                     {repo.Set("ratio", math.NaN())},
		"NUL in the key of a map": {repo.Set("props", map[string]any{"\x00": 1})},
	} {
		_, err := e.items(ctx).Patch(ctx, e.itemKey("a"), edits...)
		e.Is("patch with "+what, err, repo.ErrInvalid)
	}
	rule.Equal(e, "the record", e.getItem(ctx, "a"), want)
}

func updateGivenUp(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	mine := errors.New("mine")
	_, err := e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error { it.Text = "changed"; return mine })
	e.Is("update whose fn fails", err, mine)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), want)
}

func updateKey(ctx context.Context, e *env) {
	want := e.insertItem(ctx, fullItem(e, "a"))
	_, err := e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error { it.ID = "b"; return nil })
	e.Is("update of the key", err, repo.ErrInvalid)
	_, err = e.items(ctx).Update(ctx, e.itemKey("a"), func(it *item) error { it.Shelf += "2"; return nil })
	e.Is("update of the partition", err, repo.ErrInvalid)
	rule.Equal(e, "the record", e.getItem(ctx, "a"), want)
	missingItem(ctx, e, "b")
}

func groupOnePartition(ctx context.Context, e *env) {
	a, b := e.item("a"), e.item("b")
	b.Shelf = e.name("other")
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	in.Insert(&a)
	in.Insert(&b)
	e.Is("group over two partitions", g.Commit(ctx), repo.ErrInvalid)
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{})
	g = e.items(ctx).Store().Group()
	in = e.items(ctx).In(g)
	in.Insert(&a)
	e.OK("group in one partition", g.Commit(ctx))
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=0"})
}

func groupNamedOnce(ctx context.Context, e *env) {
	a, again, b := e.item("a"), e.item("a"), e.item("b")
	for _, second := range []func(in repo.Writes[item]){
		func(in repo.Writes[item]) { in.Put(&again) },
		func(in repo.Writes[item]) { in.Delete(e.itemKey("a")) },
	} {
		g := e.items(ctx).Store().Group()
		in := e.items(ctx).In(g)
		in.Insert(&a)
		in.Insert(&b)
		second(in)
		e.Is("group that names a record twice", g.Commit(ctx), repo.ErrInvalid)
		rule.Equal(e, "the records", shelfIDs(ctx, e), []string{})
	}
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	in.Insert(&a)
	in.Insert(&b)
	e.OK("group that names each once", g.Commit(ctx))
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=0", "b=0"})
}

func groupFaults(ctx context.Context, e *env) {
	a, bad := e.item("a"), e.item("b")
	bad.Text = "\xff"
	for _, add := range []func(in repo.Writes[item]){
		func(in repo.Writes[item]) { in.Insert(&bad) },
		func(in repo.Writes[item]) { in.Put(nil) },
		func(in repo.Writes[item]) { in.Delete(repo.Key{"one part"}) },
	} {
		g := e.items(ctx).Store().Group()
		in := e.items(ctx).In(g)
		in.Insert(&a)
		add(in)
		e.Is("group with a record that cannot be stored", g.Commit(ctx), repo.ErrInvalid)
		rule.Equal(e, "the records", shelfIDs(ctx, e), []string{})
	}
	e.insertItem(ctx, a)
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=0"})
}

func groupEmpty(ctx context.Context, e *env) {
	e.insertItem(ctx, e.item("a"))
	e.OK("group of no writes", e.items(ctx).Store().Group().Commit(ctx))
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	in.Delete(e.itemKey("none"))
	e.OK("group that deletes a record that is not there", g.Commit(ctx))
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=0"})
}

func bulkEmpty(ctx context.Context, e *env) {
	n, err := e.items(ctx).InsertAll(ctx, double.Sequence[item](nil, nil))
	e.That(n == 0 && err == nil, "0 records and no error", "%d, %v", n, err)
	rule.Equal(e, "how many there are", onShelves(ctx, e), 0)
	n, err = e.items(ctx).InsertAll(ctx, double.Sequence(itemList(e, 1), nil))
	e.That(n == 1 && err == nil, "1 record and no error", "%d, %v", n, err)
	rule.Equal(e, "how many there are", onShelves(ctx, e), 1)
}

func everyFault(ctx context.Context, e *env) {
	name := e.FreshName()
	bad := repo.Schema{Partition: []string{"nowhere"}, Sort: []string{"list"}, Indexes: []repo.Index{
		{Partition: []string{"missing"}}, {Sort: []string{"count"}}, {Partition: []string{"text[]"}}, {Partition: []string{"shelf"}, Covers: []string{"nothing"}}, {Name: "Upper", Partition: []string{"shelf"}},
	}}
	_, err := openAs[item](ctx, e, name, bad)
	e.Is("open with a schema full of faults", err, repo.ErrSchema)
	for _, word := range []string{"nowhere", "list", "missing", "Buckets", "text[]", "nothing", "Upper"} {
		e.That(strings.Contains(err.Error(), word) || word == "text[]" && strings.Contains(err.Error(), "[]"), "an error that names "+word, "%v", err)
	}
	_, err = openAs[item](ctx, e, name, itemSchema(), repo.WithoutDefine())
	e.Is("open of the collection that was not created", err, repo.ErrSchema)
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.OK("open with a good schema", err)
	insertAll(ctx, e, r, e.item("a"))
}

func keepsNoRemote(f driver.Facts) string {
	if tested.KeepsRemote(f) == "" {
		return f.Name + " keeps indexes in any partition"
	}
	return ""
}

func remoteIndex(ctx context.Context, e *env) {
	name := e.FreshName()
	_, err := openAs[message](ctx, e, name, withIndexes(repo.Index{Partition: []string{"level"}, Sort: []string{"-time"}}))
	e.That(errors.Is(err, repo.ErrSchema) || errors.Is(err, repo.ErrUnsupported), "open with an index in another partition to be refused", "%s", rule.OutcomeText(err))
	_, err = openAs[message](ctx, e, name, withIndexes(), repo.WithoutDefine())
	e.Is("open of the collection that was not created", err, repo.ErrSchema)
	r, err := openAs[message](ctx, e, name, withIndexes())
	e.OK("open without it", err)
	insertAll(ctx, e, r, message{Host: e.name("h"), Text: "x"})
}

func hasBeyondRecord(f driver.Facts) string {
	if f.Scope > driver.ScopeRecord {
		return f.Name + " changes several records of a partition together"
	}
	return ""
}

func groupBeyond(ctx context.Context, e *env) {
	a, b := e.item("a"), e.item("b")
	g := e.items(ctx).Store().Group()
	in := e.items(ctx).In(g)
	in.Insert(&a)
	in.Insert(&b)
	e.Is("group of two records", g.Commit(ctx), repo.ErrUnsupported)
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{})
	g = e.items(ctx).Store().Group()
	in = e.items(ctx).In(g)
	in.Insert(&a)
	e.OK("group of one record", g.Commit(ctx))
	rule.Equal(e, "the records", shelfIDs(ctx, e), []string{"a=0"})
}
