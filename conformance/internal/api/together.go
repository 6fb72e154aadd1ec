package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
)

func togetherRules() []entry {
	return []entry{
		{Name: "collections that lie together", Sentence: "A group of collections of which one lies with the other is done whole, or not at all, and each keeps its own records.", Check: collectionsTogether},
		{Name: "drop of what lies together", Sentence: "A collection with which another lies is not dropped before that one, and the other's drop leaves its records.", Check: dropTogether},
		{Name: "partition of what lies together", Sentence: "ReadPartition reads the live records that several collections have in one partition, and no others.", Check: readsPartition},
		{Name: "unique value of what lies together", Sentence: "A group is refused for a unique value of its second collection that another record has, and takes one that is free again.", Needs: tested.Both(tested.KeepsRemote, tested.ChangesPartition), Check: uniqueTogether},
		{Name: "upkeep of what lies together", Sentence: "Maintain of one collection leaves the records and indexes of those that lie with it.", Check: maintainTogether},
	}
}

// A line of an item lies with it. Its text is of another kind than an item's, and its count the same.
type itemLine struct {
	Shelf string `repo:"shelf"`
	Of    string `repo:"of"`
	N     int64  `repo:"n"`
	Text  int64  `repo:"text"`
	Count int64  `repo:"count"`
	Mark  string `repo:"mark"`
}

// lineIndexes has one of the store's own, by a field whose name items have, too.
func lineIndexes(e *env) []repo.Index {
	list := []repo.Index{{Partition: []string{"shelf"}, Sort: []string{"mark"}}}
	if e.Facts.Native.Has {
		list = append(list, repo.Index{Name: "by_text", Partition: []string{"shelf", "text"}, Kind: "native"})
	}
	return list
}

func lineSchema(e *env, with string) repo.Schema {
	return repo.Schema{With: with, Partition: []string{"shelf"}, Sort: []string{"of", "n"}, Indexes: lineIndexes(e)}
}

// A joint is two collections that lie together.
type joint struct {
	items *repo.Repo[item]
	lines *repo.Repo[itemLine]
}

// openJoint opens two new ones.
func openJoint(ctx context.Context, e *env) (p joint, items, lines string) {
	items, lines = e.FreshName(), e.FreshName()
	var err error
	p.items, err = openAs[item](ctx, e, items, itemSchema())
	e.OK("open of the first", err)
	p.lines, err = openAs[itemLine](ctx, e, lines, lineSchema(e, items))
	e.OK("open of the one that lies with it", err)
	return p, items, lines
}

func newItemLine(e *env, n int64) *itemLine {
	return &itemLine{Shelf: e.name("shelf"), Of: "a", N: n, Text: 100 + n, Count: n, Mark: fmt.Sprint("m", 9-n)}
}

// holds compares what the two have.
func (p *joint) holds(ctx context.Context, e *env, items, lines string) {
	var have, of string
	for _, it := range collect(e, "find items", p.items.Find(ctx, repo.Where("shelf", e.name("shelf")))) {
		have += fmt.Sprint(it.ID, it.Count, it.Text, " ")
	}
	for _, l := range collect(e, "find lines", p.lines.Find(ctx, repo.Where("shelf", e.name("shelf")).Order("-mark"))) {
		of += fmt.Sprint(l.N, "=", l.Text, " ")
		if e.Facts.Native.Has {
			same := collect(e, "find by text", p.lines.Find(ctx, repo.Where("shelf", e.name("shelf")).Where("text", l.Text)))
			e.That(len(same) == 1 && same[0].N == l.N, "the line of a text", "%v", same)
		}
	}
	rule.Equal(e, "the items", have, items)
	rule.Equal(e, "the lines", of, lines)
	n, err := p.items.Count(ctx, repo.Where("shelf", e.name("shelf")))
	e.OK("count", err)
	walked := 0
	for chunk, err := range p.lines.Walk(ctx, "") {
		e.OK("walk", err)
		walked += len(chunk.Items)
	}
	rule.Equal(e, "how many items are counted", n, strings.Count(have, " "))
	rule.Equal(e, "how many lines are walked over", walked, strings.Count(of, " "))
	clean(ctx, e, p.lines)
}

func collectionsTogether(ctx context.Context, e *env) {
	p, _, _ := openJoint(ctx, e)
	group := func(change func(items repo.Writes[item], lines repo.Writes[itemLine])) error {
		g := e.Repo.Group()
		change(p.items.In(g), p.lines.In(g))
		return g.Commit(ctx)
	}
	a, b := e.item("a"), e.item("b")
	a.Text, b.Text = "", ""
	insert := func(items repo.Writes[item], lines repo.Writes[itemLine]) {
		items.Insert(&a)
		lines.Insert(newItemLine(e, 1))
		lines.Insert(newItemLine(e, 2))
	}
	if tested.ChangesPartition(e.Facts) != "" {
		e.Is("group", group(insert), repo.ErrUnsupported)
		return
	}
	e.OK("group", group(insert))
	p.holds(ctx, e, "a0 ", "1=101 2=102 ")
	e.Is("group of which a line is there", group(func(items repo.Writes[item], lines repo.Writes[itemLine]) {
		items.Insert(&b)
		items.Update(e.itemKey("a"), plusOne)
		lines.Insert(newItemLine(e, 2))
	}), repo.ErrExists)
	p.holds(ctx, e, "a0 ", "1=101 2=102 ")
	e.OK("group with a check", group(func(items repo.Writes[item], lines repo.Writes[itemLine]) {
		items.Check(e.itemKey("a"))
		items.Check(e.itemKey("b"), repo.IfAbsent())
		lines.Delete(repo.Key{e.name("shelf"), "a", int64(1)})
		lines.Patch(repo.Key{e.name("shelf"), "a", int64(2)}, repo.Add("text", 5), repo.Set("mark", "x"))
		lines.Insert(newItemLine(e, 3))
	}))
	p.holds(ctx, e, "a0 ", "2=107 3=103 ")
	e.Is("group whose check fails", group(func(items repo.Writes[item], lines repo.Writes[itemLine]) {
		lines.Insert(newItemLine(e, 4))
		items.Check(e.itemKey("b"))
	}), repo.ErrNotFound)
	p.holds(ctx, e, "a0 ", "2=107 3=103 ")
}

// A tag of an item lies with it, and no other tag has its code, wherever it lies.
type itemTag struct {
	Shelf string `repo:"shelf"`
	Of    string `repo:"of"`
	Code  string `repo:"code"`
}

func uniqueTogether(ctx context.Context, e *env) {
	items := e.FreshName()
	first, err := openAs[item](ctx, e, items, itemSchema())
	e.OK("open of the first", err)
	tags, err := openAs[itemTag](ctx, e, e.FreshName(), repo.Schema{
		With: items, Partition: []string{"shelf"}, Sort: []string{"of"}, Indexes: []repo.Index{{Partition: []string{"code"}, Unique: true}},
	})
	e.OK("open of the one that lies with it", err)
	group := func(shelf string) error {
		it := e.item("a")
		it.Shelf = e.name(shelf)
		g := e.Repo.Group()
		first.In(g).Put(&it)
		tags.In(g).Put(&itemTag{Shelf: e.name(shelf), Of: "a", Code: e.name("code")})
		return g.Commit(ctx)
	}
	e.OK("group with a new value", group("one"))
	e.Is("group with the value of another", group("two"), repo.ErrExists)
	there, err := first.Exists(ctx, repo.Key{e.name("two"), "a"})
	e.That(err == nil && !there, "nothing of the group", "%v, %v", there, err)
	e.OK("delete of the tag that has it", tags.Delete(ctx, repo.Key{e.name("one"), "a"}))
	e.OK("group with a value that is free again", group("two"))
	one, err := tags.One(ctx, repo.Where("code", e.name("code")))
	e.That(err == nil && one.Shelf == e.name("two"), "the tag that has the value", "%+v, %v", one, err)
	clean(ctx, e, tags)
}

func dropTogether(ctx context.Context, e *env) {
	p, items, lines := openJoint(ctx, e)
	a := e.item("a")
	a.Text = ""
	insertAll(ctx, e, p.items, a)
	insertAll(ctx, e, p.lines, *newItemLine(e, 1))
	e.Is("drop of the first", repo.DropCollection(ctx, e.Repo, items), repo.ErrInvalid)
	p.holds(ctx, e, "a0 ", "1=101 ")
	e.OK("drop of the one that lies with it", repo.DropCollection(ctx, e.Repo, lines))
	again, err := openAs[itemLine](ctx, e, lines, lineSchema(e, items))
	e.OK("open once more", err)
	p.lines = again
	p.holds(ctx, e, "a0 ", "")
	e.OK("drop of the second", repo.DropCollection(ctx, e.Repo, lines))
	e.OK("drop of the first", repo.DropCollection(ctx, e.Repo, items))
}

func maintainTogether(ctx context.Context, e *env) {
	p, items, lines := openJoint(ctx, e)
	later := repo.NewStore(e.Store, &repo.Options{Now: func() time.Time { return time.Now().Add(longAfter) }})
	oldItems, err := openOn[item](ctx, later, items, itemSchema())
	e.OK("open by a later clock", err)
	oldLines, err := openOn[itemLine](ctx, later, lines, lineSchema(e, items))
	e.OK("open by a later clock", err)
	a, b := e.item("a"), e.item("b")
	a.Text, b.Text = "", ""
	insertAll(ctx, e, p.items, a, b)
	insertAll(ctx, e, p.lines, *newItemLine(e, 1), *newItemLine(e, 2))
	e.OK("delete of an item", p.items.Delete(ctx, e.itemKey("b")))
	e.OK("delete of a line", p.lines.Delete(ctx, repo.Key{e.name("shelf"), "a", int64(2)}))
	for range 2 {
		_, err := oldItems.Maintain(ctx)
		e.OK("maintain items", err)
		p.holds(ctx, e, "a0 ", "1=101 ")
		_, err = oldLines.Maintain(ctx)
		e.OK("maintain lines", err)
		p.holds(ctx, e, "a0 ", "1=101 ")
	}
}

// longAfter is how much later everything that was deleted is old.
const longAfter = 30 * 24 * time.Hour

func openOn[T any](ctx context.Context, s *repo.Store, name string, schema repo.Schema) (*repo.Repo[T], error) {
	schema.Collection = name
	return repo.Open[T](ctx, s, schema, repo.WithoutDefine())
}
