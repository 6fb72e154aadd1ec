package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

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
	name := e.FreshName()
	_, err := openAs[message](ctx, e, name, withIndexes())
	e.OK("open without an index", err)
	r := builtAs[message](ctx, e, e.Repo, name, withIndexes(byLevel()))
	insertAll(ctx, e, r, message{Host: e.name("h"), Level: "info", Text: "x"})
	rule.Equal(e, "what the index finds", find(ctx, e, r, repo.Where("host", e.name("h")).Where("level", "info"), textOfMessage), []string{"x"})
	clean(ctx, e, r)
}

func indexOnRecords(ctx context.Context, e *env) {
	name := e.FreshName()
	r, err := openAs[message](ctx, e, name, withIndexes(byLevel()))
	e.OK("open", err)
	insertAll(ctx, e, r, message{Host: e.name("h"), Level: "info", Text: "x"})
	_, err = openAs[message](ctx, e, name, withIndexes(byLevel(), byText()))
	e.Is("open with another index", err, repo.ErrSchema)
	e.That(strings.Contains(err.Error(), "by_host_text"), "an error that names the index", "%v", err)
	other := byLevel()
	other.Sort = []string{"level"}
	other.Name = "by_host_level_time_desc"
	_, err = openAs[message](ctx, e, name, withIndexes(other))
	e.Is("open with the index declared otherwise", err, repo.ErrSchema)
	insertAll(ctx, e, r, message{Host: e.name("h"), Level: "info", ID: 1, Text: "y"})
	rule.Equal(e, "what the repository that is open finds", find(ctx, e, r, repo.Where("host", e.name("h")).Where("level", "info"), textOfMessage), []string{"x", "y"})
}

// addedByAnother has a program that was opened before another one adds indexes, and writes on.
// What looks like two programs are two stores on one: neither knows what the other one did.
func addedByAnother(ctx context.Context, e *env) {
	name, added := e.FreshName(), []repo.Index(nil)
	before, err := openAs[message](ctx, e, name, withIndexes())
	e.OK("open", err)
	records := 0
	write := func() {
		insertAll(ctx, e, before, message{Host: e.name("h"), Time: e.when(records), Level: e.name("level"), Text: e.name(fmt.Sprint(records))})
		records++
	}
	write()
	other := repo.NewStore(e.Store, nil)
	for _, x := range []repo.Index{byText(), {Partition: []string{"host"}, Sort: []string{"text", "level"}, Unique: true}} {
		added = append(added, x)
		after := builtAs[message](ctx, e, other, name, withIndexes(added...))
		write()
		clean(ctx, e, after)
	}
	schema := withIndexes(added...)
	schema.Collection = name
	after, err := repo.Open[message](ctx, other, schema)
	e.OK("open with the indexes that were added", err)
	rule.Equal(e, "the number of records", len(collect(e, "find", after.Find(ctx, repo.Where("host", e.name("h"))))), records)
	clean(ctx, e, after)
}

func lackingIndex(ctx context.Context, e *env) {
	name := e.FreshName()
	r, err := openAs[message](ctx, e, name, withIndexes(byLevel(), byText()))
	e.OK("open", err)
	m := message{Host: e.name("h"), Level: "info", Text: "x"}
	insertAll(ctx, e, r, m)
	other, err := openAs[message](ctx, e, name, withIndexes(byLevel()))
	e.OK("open with a schema that lacks an index", err)
	m.Text = "y"
	e.OK("put by the program that lacks the index", other.Put(ctx, &m))
	rule.Equal(e, "what the index has then", find(ctx, e, r, repo.Where("host", e.name("h")).Order("text"), textOfMessage), []string{"y"})
	m.Text = "x"
	e.OK("put", other.Put(ctx, &m))
	e.Is("drop of an index that is not there", repo.DropIndex(ctx, e.Repo, name, "by_nothing"), repo.ErrNotFound)
	e.OK("drop index", repo.DropIndex(ctx, e.Repo, name, "by_host_text"))
	e.OK("put by a repository that still has the index", r.Put(ctx, &m))
	e.OK("put by one that kept it in step", other.Put(ctx, &m))
	_, err = repo.Collect(r.Find(ctx, repo.Where("host", e.name("h")).Order("text")))
	e.Is("find by the index that was dropped", err, repo.ErrNoIndex)
	r, err = openAs[message](ctx, e, name, withIndexes(byLevel()))
	e.OK("open without the index", err)
	m.Level = "warn"
	e.OK("put", r.Put(ctx, &m))
	rule.Equal(e, "what the index that is left finds", find(ctx, e, r, repo.Where("host", e.name("h")).Where("level", "warn"), textOfMessage), []string{"x"})
	clean(ctx, e, r)
}

func withBuild(ctx context.Context, e *env) {
	name := e.FreshName()
	r, err := openAs[message](ctx, e, name, withIndexes())
	e.OK("open", err)
	var want []string
	for i := range 300 {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i), ID: 1, Level: "info", Text: fmt.Sprintf("%03d", i)})
		want = append(want, fmt.Sprintf("%03d", i))
	}
	early, err := openAs[message](ctx, e, name, withIndexes(byText()), repo.WithBuild())
	e.OK("open with build", err)
	if _, err := repo.Collect(early.Find(ctx, repo.Where("host", e.name("h")).Order("text"))); err != nil {
		e.Is("find by an index that is not ready", err, repo.ErrNoIndex)
	}
	written := 300
	write := func() {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(written), Text: fmt.Sprintf("%03d", written)})
		want = append(want, fmt.Sprintf("%03d", written))
		written++
	}
	write()
	e.OK("ready", early.Ready(ctx, "by_host_text"))
	write()
	rule.Equal(e, "what the new index finds", find(ctx, e, early, repo.Where("host", e.name("h")).Order("text"), textOfMessage), want)
	other := byText()
	other.Sort, other.Name = []string{"-text"}, "by_host_text"
	_, err = openAs[message](ctx, e, name, withIndexes(other), repo.WithBuild())
	e.Is("open with the index declared otherwise", err, repo.ErrSchema)
	other.Name = "by_text_desc"
	both := builtAs[message](ctx, e, e.Repo, name, withIndexes(byText(), other))
	e.OK("drop of the former", repo.DropIndex(ctx, e.Repo, name, "by_host_text"))
	rule.Equal(e, "what the other one finds first", find(ctx, e, both, repo.Where("host", e.name("h")).Order("-text").Limit(2), textOfMessage), []string{"301", "300"})
	clean(ctx, e, both)
}

func buildRefused(ctx context.Context, e *env) {
	name := e.FreshName()
	unique := repo.Index{Partition: []string{"host"}, Sort: []string{"text"}, Unique: true}
	r, err := openAs[message](ctx, e, name, withIndexes())
	e.OK("open", err)
	for i := range 2 {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i), Text: "same"})
	}
	r, err = openAs[message](ctx, e, name, withIndexes(unique), repo.WithBuild())
	if err == nil {
		err = r.Ready(ctx, "by_host_text")
	}
	e.Is("a unique index on records that have the same value", err, repo.ErrExists)
	_, err = openAs[message](ctx, e, name, withIndexes(unique))
	e.Is("open with the index that was not built", err, repo.ErrSchema)
	r, err = openAs[message](ctx, e, name, withIndexes())
	e.OK("open without it", err)
	e.OK("delete", r.Delete(ctx, repo.Key{e.name("h"), e.when(1), 0}))
	r = builtAs[message](ctx, e, e.Repo, name, withIndexes(unique))
	clean(ctx, e, r)
	m := message{Host: e.name("h"), Time: e.when(5), Text: "same"}
	e.Is("insert of a value that is taken", r.Insert(ctx, &m), repo.ErrExists)
}
