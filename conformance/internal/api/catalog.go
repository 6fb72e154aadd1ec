package api

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

func collectionRules() []entry {
	return []entry{
		{Name: "open twice", Sentence: "Open creates a collection, and opens one that is there as it is.", Check: openTwice},
		{Name: "open at once", Sentence: "Programs may open a new collection at once.", Check: openAtOnce},
		{Name: "interrupted open", Sentence: "A collection whose making was interrupted, wherever, is opened by who declares it alike, and can be dropped and made with another key.", Check: interruptedOpen},
		{Name: "another key", Sentence: "A collection that is stored with another key is ErrSchema.", Check: anotherKey},
		{Name: "another kind", Sentence: "A field that is stored with another kind is ErrSchema.", Check: anotherKind},
		{Name: "elements of another kind", Sentence: "A list is not opened with elements of another kind, whether or not the programs know of an index that has them.", Needs: tested.KeepsRemote, Check: otherElements},
		{Name: "field added", Sentence: "A field that is new to a collection is added; records from before lack it.", Check: fieldAdded},
		{Name: "without define", Sentence: "WithoutDefine opens what is there and creates nothing.", Check: withoutDefine},
		{Name: "drop collection", Sentence: "DropCollection removes the records, and repositories that are open refuse to write; one that is not there is no error.", Check: dropCollection},
		{Name: "index in an empty collection", Sentence: "A new index is added to a collection without records.", Needs: tested.KeepsLocal, Check: indexInEmpty},
		{Name: "index on records", Sentence: "A new index on a collection with records is ErrSchema.", Needs: tested.KeepsLocal, Check: indexOnRecords},
		{Name: "index of another program", Sentence: "No write of a program is missing in an index that another one adds to a collection with records.", Needs: tested.Both(tested.Others, tested.KeepsLocal), Check: addedByAnother},
		{Name: "another way", Sentence: "An index that is kept in one way, as a table or native, with the records or apart from them, is ErrSchema in another one.", Needs: hasExchanges, Check: anotherWay},
		{Name: "lacking index", Sentence: "A program keeps an index in step that its schema lacks; DropIndex removes it, and programs go on without it.", Needs: tested.KeepsLocal, Check: lackingIndex},
		{Name: "build", Sentence: "WithBuild builds a new index from the records while programs with and without it write; until it is ready, a query by it is ErrNoIndex.", Needs: tested.KeepsLocal, Check: withBuild},
		{Name: "build refused", Sentence: "An index that cannot be built, because it is unique and two records have a value, is ErrExists, and nobody keeps it.", Needs: tested.KeepsLocal, Check: buildRefused},
		{Name: "rebuild", Sentence: "Rebuild makes an index anew from the records.", Needs: tested.Both(tested.Alone, tested.ChangesPartition), Check: rebuild},
	}
}

// builtAs opens a collection by its name, and waits for the indexes that are built for it.
func builtAs[T any](ctx context.Context, e *env, store *repo.Store, name string, schema repo.Schema) *repo.Repo[T] {
	schema.Collection = name
	r, err := repo.Open[T](ctx, store, schema, repo.WithBuild())
	e.OK("open with build", err)
	stored, err := repo.SchemaOf(ctx, store, name)
	e.OK("schema", err)
	for _, x := range stored.Indexes {
		e.OK("ready", r.Ready(ctx, x.Name))
	}
	return r
}

// openAs opens a collection by its name.
func openAs[T any](ctx context.Context, e *env, name string, schema repo.Schema, opts ...repo.OpenOption) (*repo.Repo[T], error) {
	schema.Collection = name
	return repo.Open[T](ctx, e.Repo, schema, opts...)
}

func openTwice(ctx context.Context, e *env) {
	name := e.FreshName()
	for i := range 3 {
		r, err := openAs[item](ctx, e, name, itemSchema())
		e.OK("open", err)
		insertAll(ctx, e, r, e.item(fmt.Sprint(i)))
		rule.Equal(e, "the number of records", len(collect(e, "find", r.Find(ctx, repo.Where("shelf", e.name("shelf"))))), i+1)
	}
}

func openAtOnce(ctx context.Context, e *env) {
	name := e.FreshName()
	e.Parallel(5, func(i int) error {
		schema := itemSchema()
		schema.Collection = name
		r, err := repo.Open[item](ctx, repo.NewStore(e.Store, nil), schema)
		if err != nil {
			return err
		}
		it := e.item(fmt.Sprint(i))
		return r.Insert(ctx, &it)
	})
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.OK("open", err)
	rule.Equal(e, "the number of records", len(collect(e, "find", r.Find(ctx, repo.Where("shelf", e.name("shelf"))))), 5)
}

func anotherKey(ctx context.Context, e *env) {
	name := e.FreshName()
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.OK("open", err)
	insertAll(ctx, e, r, e.item("a"))
	for what, schema := range map[string]repo.Schema{
		"the other order":   {Partition: []string{"shelf"}, Sort: []string{"-id"}},
		"no sort":           {Partition: []string{"shelf"}},
		"another partition": {Partition: []string{"id"}, Sort: []string{"shelf"}},
		"one part more":     {Partition: []string{"shelf"}, Sort: []string{"id", "count"}},
	} {
		_, err := openAs[item](ctx, e, name, schema)
		e.Is("open with "+what, err, repo.ErrSchema)
	}
	_, err = r.Get(ctx, e.itemKey("a"))
	e.OK("get by the repository that is open", err)
}

func anotherKind(ctx context.Context, e *env) {
	name := e.FreshName()
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.OK("open", err)
	insertAll(ctx, e, r, e.item("a"))
	_, err = openAs[struct {
		Shelf string `repo:"shelf"`
		ID    string `repo:"id"`
		Text  int64  `repo:"text"`
	}](ctx, e, name, itemSchema())
	e.Is("open with a field of another kind", err, repo.ErrSchema)
	_, err = openAs[struct {
		Shelf string `repo:"shelf"`
		ID    int64  `repo:"id"`
	}](ctx, e, name, itemSchema())
	e.Is("open with a key field of another kind", err, repo.ErrSchema)
	got, err := r.Get(ctx, e.itemKey("a"))
	e.That(err == nil && got.Text == "text of a", "the record as it was", "%v %v", got.Text, err)
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
	name := e.FreshName()
	_, err := openAs[texts](ctx, e, name, indexed)
	e.OK("open with a list of texts", err)
	_, err = openAs[numbers](ctx, e, name, indexed)
	e.Is("open with a list of numbers", err, repo.ErrSchema)
	_, err = openAs[numbers](ctx, e, name, bare)
	e.Is("open with a list of numbers, and without the index", err, repo.ErrSchema)
	name = e.FreshName()
	r, err := openAs[numbers](ctx, e, name, bare)
	e.OK("open with a list of numbers that no index has", err)
	insertAll(ctx, e, r, numbers{"a", []int64{1}})
	_, err = openAs[texts](ctx, e, name, indexed, repo.WithBuild())
	e.Is("open with an index of texts after that", err, repo.ErrSchema)
	_, err = openAs[texts](ctx, e, name, bare)
	e.Is("open with a list of texts after that", err, repo.ErrSchema)
}

func fieldAdded(ctx context.Context, e *env) {
	name := e.FreshName()
	older, err := openAs[olderItem](ctx, e, name, itemSchema())
	e.OK("open as the older program", err)
	insertAll(ctx, e, older, olderItem{Shelf: e.name("shelf"), ID: "a", Count: 7})
	newer, err := openAs[item](ctx, e, name, itemSchema())
	e.OK("open with more fields", err)
	got, err := newer.Get(ctx, e.itemKey("a"))
	e.OK("get", err)
	rule.Equal(e, "the record from before", fmt.Sprint(got.Count, got.Text, got.List), fmt.Sprint(7, "", []string{}))
	full := fullItem(e, "b")
	insertAll(ctx, e, newer, full)
	old, err := older.Get(ctx, e.itemKey("b"))
	e.OK("get by the older program", err)
	rule.Equal(e, "the new record, as the older program sees it", old, olderItem{Shelf: full.Shelf, ID: "b", Count: full.Count})
	old.Count = 8
	e.OK("put by the older program", older.Put(ctx, &olderItem{Shelf: full.Shelf, ID: "c"}))
}

func withoutDefine(ctx context.Context, e *env) {
	name := e.FreshName()
	for range 2 {
		_, err := openAs[olderItem](ctx, e, name, itemSchema(), repo.WithoutDefine())
		e.Is("open of what is not there", err, repo.ErrSchema)
	}
	r, err := openAs[olderItem](ctx, e, name, itemSchema())
	e.OK("open", err)
	insertAll(ctx, e, r, olderItem{Shelf: e.name("shelf"), ID: "a", Count: 7})
	again, err := openAs[olderItem](ctx, e, name, itemSchema(), repo.WithoutDefine())
	e.OK("open of what is there", err)
	got, err := again.Get(ctx, e.itemKey("a"))
	e.That(err == nil && got.Count == 7, "the record", "%+v, %v", got, err)
	e.OK("put", again.Put(ctx, &olderItem{Shelf: e.name("shelf"), ID: "b"}))
	_, err = openAs[item](ctx, e, name, itemSchema(), repo.WithoutDefine())
	e.Is("open with fields that are not there", err, repo.ErrSchema)
}

func dropCollection(ctx context.Context, e *env) {
	name := e.FreshName()
	e.OK("drop of what is not there", repo.DropCollection(ctx, e.Repo, name))
	r, err := openAs[item](ctx, e, name, itemSchema())
	e.OK("open", err)
	insertAll(ctx, e, r, e.item("a"))
	e.OK("drop", repo.DropCollection(ctx, e.Repo, name))
	again := e.item("b")
	e.That(r.Insert(ctx, &again) != nil, "a repository that is open to refuse to write", "success")
	_, err = openAs[item](ctx, e, name, itemSchema(), repo.WithoutDefine())
	e.Is("open of what was dropped", err, repo.ErrSchema)
	r, err = openAs[item](ctx, e, name, repo.Schema{Partition: []string{"id"}, Sort: []string{"shelf"}})
	e.OK("open with another key", err)
	ok, err := r.Exists(ctx, repo.Key{"a", e.name("shelf")})
	e.That(err == nil && !ok, "no record", "%v %v", ok, err)
	insertAll(ctx, e, r, e.item("a"))
}

func rebuild(ctx context.Context, e *env) {
	known := &tap{Store: e.Store, tables: map[string]*driver.Table{}}
	schema := inTables(messageSchema())
	schema.Collection = e.FreshName()
	r, err := repo.Open[message](ctx, repo.NewStore(known, nil), schema)
	e.OK("open", err)
	var want []string
	for i := range 40 {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i), Level: "info", Text: fmt.Sprint(i)})
		want = append([]string{fmt.Sprint(i)}, want...)
	}
	e.Is("rebuild of an index that is not there", r.Rebuild(ctx, "by_nothing"), repo.ErrNotFound)
	const index = "by_host_level_time_desc"
	known.empty(ctx, e, schema.Collection+"."+index)
	e.OK("rebuild", r.Rebuild(ctx, index))
	clean(ctx, e, r)
	all := repo.Where("host", e.name("h")).Where("level", "info")
	rule.Equal(e, "the newest by the index", find(ctx, e, r, all, textOfMessage), want)
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
	e.That(table != nil, "a table "+name+" to be defined", "none")
	for chunk, err := range t.Walk(ctx, table, "") {
		e.OK("walk", err)
		for i := range chunk.Rows {
			row := driver.Op{Do: driver.Delete, Table: table, Row: driver.Row{Key: chunk.Rows[i].Key}}
			refusal, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{row})
			e.That(err == nil && refusal == nil, "a row to be taken away", "%v, refusal %v", err, refusal != nil)
		}
	}
}
