package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func collectionRules() []rule {
	builds := func(f driver.Facts) string {
		if tested.KeepsNative(f) {
			return "" // the store builds it, whoever writes meanwhile
		}
		return tested.Both(tested.Alone, tested.ChangesPartition)(f)
	}
	return []rule{
		{name: "open twice", sentence: "Open creates a collection, and opens one that is there as it is.", check: openTwice},
		{name: "open at once", sentence: "Programs may open a new collection at once.", check: openAtOnce},
		{name: "interrupted open", sentence: "A collection whose making was interrupted, wherever, is opened by who declares it alike, and can be dropped and made with another key.", check: interruptedOpen},
		{name: "another key", sentence: "A collection that is stored with another key is ErrSchema.", check: anotherKey},
		{name: "another kind", sentence: "A field that is stored with another kind is ErrSchema.", check: anotherKind},
		{name: "elements of another kind", sentence: "A list is not opened with elements of another kind, whether or not the programs know of an index that has them.", needs: tested.KeepsFar, check: otherElements},
		{name: "field added", sentence: "A field that is new to a collection is added; records from before lack it.", check: fieldAdded},
		{name: "without define", sentence: "WithoutDefine opens what is there and creates nothing.", check: withoutDefine},
		{name: "drop collection", sentence: "DropCollection removes the records, and repositories that are open refuse to write; one that is not there is no error.", check: dropCollection},
		{name: "index in an empty collection", sentence: "A new index is added to a collection without records.", needs: builds, check: indexInEmpty},
		{name: "index on records", sentence: "A new index on a collection with records is ErrSchema.", needs: tested.KeepsNear, check: indexOnRecords},
		{name: "index of another program", sentence: "An index that another program adds to a collection with records is refused, or no write of this one is missing in it.", needs: tested.Both(tested.Others, tested.KeepsNear), check: addedByAnother},
		{name: "another way", sentence: "An index that is kept in one way, as a table or native, with the records or apart from them, is ErrSchema in another one.", needs: hasExchanges, check: anotherWay},
		{name: "lacking index", sentence: "A schema that lacks an index which the store does not keep by itself is ErrSchema; DropIndex removes it, and open repositories refuse to write.", needs: tested.KeepsNear, check: lackingIndex},
		{name: "rebuild with open", sentence: "WithRebuild builds a new index from the records, or one declared otherwise.", needs: builds, check: withRebuild},
		{name: "rebuild refused", sentence: "An index that cannot be built, because it is unique and two records have a value, is ErrExists, and is not used.", needs: builds, check: rebuildRefused},
		{name: "rebuild", sentence: "Rebuild makes an index anew from the records.", needs: tested.Both(tested.Alone, tested.ChangesPartition), check: rebuild},
	}
}

// collection opens a collection by its name.
func openAs[T any](ctx context.Context, e *env, name string, schema repo.Schema, opts ...repo.OpenOption) (*repo.Repo[T], error) {
	schema.Collection = name
	return repo.Open[T](ctx, e.repo, schema, opts...)
}

func openTwice(ctx context.Context, e *env) {
	name := e.freshName()
	for i := range 3 {
		r, err := openAs[item](ctx, e, name, itemSchema())
		e.ok("open", err)
		insertAll(ctx, e, r, e.item(fmt.Sprint(i)))
		equal(e, "the number of records", len(collect(e, "find", r.Find(ctx, repo.Where("shelf", e.name("shelf"))))), i+1)
	}
}

func openAtOnce(ctx context.Context, e *env) {
	name := e.freshName()
	e.parallel(5, func(i int) error {
		schema := itemSchema()
		schema.Collection = name
		r, err := repo.Open[item](ctx, repo.NewStore(e.store, nil), schema)
		if err != nil {
			return err
		}
		it := e.item(fmt.Sprint(i))
		return r.Insert(ctx, &it)
	})
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.ok("open", err)
	equal(e, "the number of records", len(collect(e, "find", r.Find(ctx, repo.Where("shelf", e.name("shelf"))))), 5)
}

func anotherKey(ctx context.Context, e *env) {
	name := e.freshName()
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.ok("open", err)
	insertAll(ctx, e, r, e.item("a"))
	for what, schema := range map[string]repo.Schema{
		"the other order":   {Partition: []string{"shelf"}, Sort: []string{"-id"}},
		"no sort":           {Partition: []string{"shelf"}},
		"another partition": {Partition: []string{"id"}, Sort: []string{"shelf"}},
		"one part more":     {Partition: []string{"shelf"}, Sort: []string{"id", "count"}},
	} {
		_, err := openAs[item](ctx, e, name, schema)
		e.is("open with "+what, err, repo.ErrSchema)
	}
	_, err = r.Get(ctx, e.itemKey("a"))
	e.ok("get by the repository that is open", err)
}

func anotherKind(ctx context.Context, e *env) {
	name := e.freshName()
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.ok("open", err)
	insertAll(ctx, e, r, e.item("a"))
	_, err = openAs[struct {
		Shelf string `repo:"shelf"`
		ID    string `repo:"id"`
		Text  int64  `repo:"text"`
	}](ctx, e, name, itemSchema())
	e.is("open with a field of another kind", err, repo.ErrSchema)
	_, err = openAs[struct {
		Shelf string `repo:"shelf"`
		ID    int64  `repo:"id"`
	}](ctx, e, name, itemSchema())
	e.is("open with a key field of another kind", err, repo.ErrSchema)
	got, err := r.Get(ctx, e.itemKey("a"))
	e.that(err == nil && got.Text == "text of a", "the record as it was", "%v %v", got.Text, err)
}

func otherElements(ctx context.Context, e *env) {
	type texts struct {
		ID   string   `repo:"id"`
		Tags []string `repo:"tags"`
	}
	type numbers struct {
		ID   string  `repo:"id"`
		Tags []int64 `repo:"tags"`
	}
	bare := repo.Schema{Partition: []string{"id"}}
	indexed := bare
	indexed.Indexes = []repo.Index{{Partition: []string{"tags[]"}}}
	name := e.freshName()
	_, err := openAs[texts](ctx, e, name, indexed)
	e.ok("open with a list of texts", err)
	_, err = openAs[numbers](ctx, e, name, indexed)
	e.is("open with a list of numbers", err, repo.ErrSchema)
	_, err = openAs[numbers](ctx, e, name, bare)
	e.is("open with a list of numbers, and without the index", err, repo.ErrSchema)
	name = e.freshName()
	r, err := openAs[numbers](ctx, e, name, bare)
	e.ok("open with a list of numbers that no index has", err)
	insertAll(ctx, e, r, numbers{"a", []int64{1}})
	_, err = openAs[texts](ctx, e, name, indexed, repo.WithRebuild())
	e.is("open with an index of texts after that", err, repo.ErrSchema)
	_, err = openAs[texts](ctx, e, name, bare)
	e.is("open with a list of texts after that", err, repo.ErrSchema)
}

func fieldAdded(ctx context.Context, e *env) {
	name := e.freshName()
	older, err := openAs[olderItem](ctx, e, name, itemSchema())
	e.ok("open as the older program", err)
	insertAll(ctx, e, older, olderItem{Shelf: e.name("shelf"), ID: "a", Count: 7})
	newer, err := openAs[item](ctx, e, name, itemSchema())
	e.ok("open with more fields", err)
	got, err := newer.Get(ctx, e.itemKey("a"))
	e.ok("get", err)
	equal(e, "the record from before", fmt.Sprint(got.Count, got.Text, got.List), fmt.Sprint(7, "", []string{}))
	full := fullItem(e, "b")
	insertAll(ctx, e, newer, full)
	old, err := older.Get(ctx, e.itemKey("b"))
	e.ok("get by the older program", err)
	equal(e, "the new record, as the older program sees it", old, olderItem{Shelf: full.Shelf, ID: "b", Count: full.Count})
	old.Count = 8
	e.ok("put by the older program", older.Put(ctx, &olderItem{Shelf: full.Shelf, ID: "c"}))
}

func withoutDefine(ctx context.Context, e *env) {
	name := e.freshName()
	for range 2 {
		_, err := openAs[olderItem](ctx, e, name, itemSchema(), repo.WithoutDefine())
		e.is("open of what is not there", err, repo.ErrSchema)
	}
	r, err := openAs[olderItem](ctx, e, name, itemSchema())
	e.ok("open", err)
	insertAll(ctx, e, r, olderItem{Shelf: e.name("shelf"), ID: "a", Count: 7})
	again, err := openAs[olderItem](ctx, e, name, itemSchema(), repo.WithoutDefine())
	e.ok("open of what is there", err)
	got, err := again.Get(ctx, e.itemKey("a"))
	e.that(err == nil && got.Count == 7, "the record", "%+v, %v", got, err)
	e.ok("put", again.Put(ctx, &olderItem{Shelf: e.name("shelf"), ID: "b"}))
	_, err = openAs[item](ctx, e, name, itemSchema(), repo.WithoutDefine())
	e.is("open with fields that are not there", err, repo.ErrSchema)
}

func dropCollection(ctx context.Context, e *env) {
	name := e.freshName()
	e.ok("drop of what is not there", repo.DropCollection(ctx, e.repo, name))
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.ok("open", err)
	insertAll(ctx, e, r, e.item("a"))
	e.ok("drop", repo.DropCollection(ctx, e.repo, name))
	again := e.item("b")
	e.that(r.Insert(ctx, &again) != nil, "a repository that is open to refuse to write", "success")
	_, err = openAs[item](ctx, e, name, itemSchema(), repo.WithoutDefine())
	e.is("open of what was dropped", err, repo.ErrSchema)
	r, err = openAs[item](ctx, e, name, repo.Schema{Partition: []string{"id"}, Sort: []string{"shelf"}})
	e.ok("open with another key", err)
	ok, err := r.Exists(ctx, repo.Key{"a", e.name("shelf")})
	e.that(err == nil && !ok, "no record", "%v %v", ok, err)
	insertAll(ctx, e, r, e.item("a"))
}

// withIndexes returns the schema of messages with other indexes.
func withIndexes(indexes ...repo.Index) repo.Schema {
	s := messageSchema()
	s.Indexes = indexes
	return s
}

func byLevel() repo.Index { return messageSchema().Indexes[0] }

func byText() repo.Index {
	return repo.Index{Partition: []string{"host"}, Sort: []string{"text"}, Covers: []string{"level"}}
}

func indexInEmpty(ctx context.Context, e *env) {
	name := e.freshName()
	_, err := openAs[message](ctx, e, name, withIndexes())
	e.ok("open without an index", err)
	r, err := openAs[message](ctx, e, name, withIndexes(byLevel()))
	e.ok("open with an index on an empty collection", err)
	insertAll(ctx, e, r, message{Host: e.name("h"), Level: "info", Text: "x"})
	equal(e, "what the index finds", find(ctx, e, r, repo.Where("host", e.name("h")).Where("level", "info"), textOfMessage), []string{"x"})
	clean(ctx, e, r)
}

func indexOnRecords(ctx context.Context, e *env) {
	name := e.freshName()
	r, err := openAs[message](ctx, e, name, withIndexes(byLevel()))
	e.ok("open", err)
	insertAll(ctx, e, r, message{Host: e.name("h"), Level: "info", Text: "x"})
	_, err = openAs[message](ctx, e, name, withIndexes(byLevel(), byText()))
	e.is("open with another index", err, repo.ErrSchema)
	e.that(strings.Contains(err.Error(), "by_host_text"), "an error that names the index", "%v", err)
	other := byLevel()
	other.Sort = []string{"level"}
	other.Name = "by_host_level_time_desc"
	_, err = openAs[message](ctx, e, name, withIndexes(other))
	e.is("open with the index declared otherwise", err, repo.ErrSchema)
	insertAll(ctx, e, r, message{Host: e.name("h"), Level: "info", ID: 1, Text: "y"})
	equal(e, "what the repository that is open finds", find(ctx, e, r, repo.Where("host", e.name("h")).Where("level", "info"), textOfMessage), []string{"x", "y"})
}

// addedByAnother has a program that was opened before another one adds indexes, and writes on.
// What looks like two programs are two stores on one: neither knows what the other one did.
func addedByAnother(ctx context.Context, e *env) {
	name, added := e.freshName(), []repo.Index(nil)
	before, err := openAs[message](ctx, e, name, withIndexes())
	e.ok("open", err)
	records := 0
	write := func() {
		insertAll(ctx, e, before, message{Host: e.name("h"), Time: e.when(records), Level: e.name("level"), Text: e.name(fmt.Sprint(records))})
		records++
	}
	write()
	other := repo.NewStore(e.store, nil)
	for _, x := range []repo.Index{byText(), {Partition: []string{"level"}, Sort: []string{"time"}}, {Partition: []string{"text"}, Unique: true}} {
		schema := withIndexes(append(added[:len(added):len(added)], x)...)
		schema.Collection = name
		after, err := repo.Open[message](ctx, other, schema, repo.WithRebuild())
		write()
		if err != nil {
			e.is("open by another program with index "+x.String(), err, repo.ErrUnsupported)
			continue
		}
		added = schema.Indexes
		clean(ctx, e, after)
	}
	schema := withIndexes(added...)
	schema.Collection = name
	after, err := repo.Open[message](ctx, other, schema)
	e.ok("open with the indexes that were added", err)
	equal(e, "the number of records", len(collect(e, "find", after.Find(ctx, repo.Where("host", e.name("h"))))), records)
	clean(ctx, e, after)
}

func lackingIndex(ctx context.Context, e *env) {
	name := e.freshName()
	r, err := openAs[message](ctx, e, name, withIndexes(byLevel(), byText()))
	e.ok("open", err)
	m := message{Host: e.name("h"), Level: "info", Text: "x"}
	insertAll(ctx, e, r, m)
	_, err = openAs[message](ctx, e, name, withIndexes(byLevel()))
	if tested.KeepsNative(e.facts) { // the index cannot be left behind
		e.ok("open with a schema that lacks an index which the store keeps", err)
	} else {
		e.is("open with a schema that lacks an index", err, repo.ErrSchema)
	}
	e.is("drop of an index that is not there", repo.DropIndex(ctx, e.repo, name, "by_nothing"), repo.ErrNotFound)
	e.ok("drop index", repo.DropIndex(ctx, e.repo, name, "by_host_text"))
	e.is("put by a repository that still has the index", r.Put(ctx, &m), repo.ErrSchema)
	r, err = openAs[message](ctx, e, name, withIndexes(byLevel()))
	e.ok("open without the index", err)
	m.Level = "warn"
	e.ok("put", r.Put(ctx, &m))
	equal(e, "what the index that is left finds", find(ctx, e, r, repo.Where("host", e.name("h")).Where("level", "warn"), textOfMessage), []string{"x"})
	clean(ctx, e, r)
}

func withRebuild(ctx context.Context, e *env) {
	name := e.freshName()
	r, err := openAs[message](ctx, e, name, withIndexes())
	e.ok("open", err)
	var want []string
	for i := range 300 {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i), ID: 1, Level: "info", Text: fmt.Sprintf("%03d", i)})
		want = append(want, fmt.Sprintf("%03d", i))
	}
	m := message{Host: e.name("h"), Time: e.when(999), Text: "999"}
	r2, err := openAs[message](ctx, e, name, withIndexes(byText()), repo.WithRebuild())
	e.ok("open with rebuild", err)
	equal(e, "what the new index finds", find(ctx, e, r2, repo.Where("host", e.name("h")).Order("text"), textOfMessage), want)
	if !tested.KeepsNative(e.facts) {
		e.is("insert by a repository without the index", r.Insert(ctx, &m), repo.ErrSchema)
	}
	insertAll(ctx, e, r2, m)
	other := byText()
	other.Sort, other.Name = []string{"-text"}, "by_host_text"
	r3, err := openAs[message](ctx, e, name, withIndexes(other), repo.WithRebuild())
	e.ok("open with rebuild of an index declared otherwise", err)
	equal(e, "what it finds first", find(ctx, e, r3, repo.Where("host", e.name("h")).Order("-text").Limit(2), textOfMessage), []string{"999", "299"})
	clean(ctx, e, r3)
}

func rebuildRefused(ctx context.Context, e *env) {
	name := e.freshName()
	unique := repo.Index{Partition: []string{"host"}, Sort: []string{"text"}, Unique: true}
	r, err := openAs[message](ctx, e, name, withIndexes())
	e.ok("open", err)
	for i := range 2 {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i), Text: "same"})
	}
	_, err = openAs[message](ctx, e, name, withIndexes(unique), repo.WithRebuild())
	e.is("open with a unique index on records that have the same value", err, repo.ErrExists)
	_, err = openAs[message](ctx, e, name, withIndexes(unique))
	e.is("open with the index that was not built", err, repo.ErrSchema)
	e.ok("drop index", repo.DropIndex(ctx, e.repo, name, "by_host_text"))
	r, err = openAs[message](ctx, e, name, withIndexes())
	e.ok("open without it", err)
	e.ok("delete", r.Delete(ctx, repo.Key{e.name("h"), e.when(1), 0}))
	r, err = openAs[message](ctx, e, name, withIndexes(unique), repo.WithRebuild())
	e.ok("open with the index when the values differ", err)
	clean(ctx, e, r)
	m := message{Host: e.name("h"), Time: e.when(5), Text: "same"}
	e.is("insert of a value that is taken", r.Insert(ctx, &m), repo.ErrExists)
}

func rebuild(ctx context.Context, e *env) {
	known := &tap{Store: e.store, tables: map[string]*driver.Table{}}
	schema := inTables(messageSchema())
	schema.Collection = e.freshName()
	r, err := repo.Open[message](ctx, repo.NewStore(known, nil), schema)
	e.ok("open", err)
	var want []string
	for i := range 40 {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i), Level: "info", Text: fmt.Sprint(i)})
		want = append([]string{fmt.Sprint(i)}, want...)
	}
	e.is("rebuild of an index that is not there", r.Rebuild(ctx, "by_nothing"), repo.ErrNotFound)
	const index = "by_host_level_time_desc"
	known.empty(ctx, e, schema.Collection+"."+index)
	e.ok("rebuild", r.Rebuild(ctx, index))
	clean(ctx, e, r)
	all := repo.Where("host", e.name("h")).Where("level", "info")
	equal(e, "the newest by the index", find(ctx, e, r, all, textOfMessage), want)
	insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(99), Level: "info", Text: "99"})
	clean(ctx, e, r)
}

// A tap is a store that keeps the tables which it was told of.
type tap struct {
	driver.Store
	tables map[string]*driver.Table
}

func (t *tap) Define(ctx context.Context, tables []*driver.Table) error {
	for _, table := range tables {
		t.tables[table.Name] = table
	}
	return t.Store.Define(ctx, tables)
}

// empty takes all rows from a table, as no program but a rule does.
func (t *tap) empty(ctx context.Context, e *env, name string) {
	table := t.tables[name]
	e.that(table != nil, "a table "+name+" to be defined", "none")
	for chunk, err := range t.Walk(ctx, table, "") {
		e.ok("walk", err)
		for i := range chunk.Rows {
			e.commit(ctx, driver.Op{Do: driver.Delete, Table: table, Row: driver.Row{Key: chunk.Rows[i].Key}})
		}
	}
}
