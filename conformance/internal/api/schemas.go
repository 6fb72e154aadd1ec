package api

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// The schemas that the rules share. A rule keeps to names that begin with its
// tag, and to numbers and times from its base.

// name returns a text that no other rule uses.
func (e *env) name(s string) string { return e.Tag + "." + s }

// when returns the nth second of the rule's time.
func (e *env) when(n int) time.Time { return time.UnixMilli(e.Base*1000 + int64(n)*1000).UTC() }

// A post has an index of every form: local and remote, covering and not, over the
// elements of a list, unique, and over the whole collection.
type post struct {
	Author   string       `repo:"author"`
	ID       string       `repo:"id"`
	Category string       `repo:"category"`
	Title    string       `repo:"title"`
	Slug     *string      `repo:"slug"`
	Tags     []string     `repo:"tags"`
	Views    int64        `repo:"views"`
	Created  time.Time    `repo:"created"`
	Version  repo.Version `repo:",version"`
}

func postSchema() repo.Schema {
	return repo.Schema{Collection: "posts", Partition: []string{"author"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"author"}, Sort: []string{"-created"}},
		{Partition: []string{"category"}, Sort: []string{"-created"}, Covers: []string{"title"}},
		{Partition: []string{"tags[]"}, Sort: []string{"-created"}},
		{Partition: []string{"slug"}, Unique: true},
		{Sort: []string{"created"}, Buckets: 4, Covers: []string{"*"}},
	}}
}

func (e *env) posts(ctx context.Context) *repo.Repo[post] {
	return rule.Shared[post](ctx, e, postSchema())
}

// post returns a record of the rule's own.
func (e *env) post(id, category string, second int) post {
	return post{Author: e.name("author"), ID: id, Category: e.name(category), Title: "title of " + id, Created: e.when(second)}
}

func (e *env) postKey(id string) repo.Key { return repo.Key{e.name("author"), id} }

func (p post) with(slug string, tags ...string) post {
	p.Tags = tags
	if slug != "" {
		p.Slug = &slug
	}
	return p
}

// An item has a field of every type and no index.
type item struct {
	Shelf   string           `repo:"shelf"`
	ID      string           `repo:"id"`
	Flag    bool             `repo:"flag"`
	Count   int64            `repo:"count"`
	Small   int8             `repo:"small"`
	Size    uint64           `repo:"size"`
	Ratio   float64          `repo:"ratio"`
	Text    string           `repo:"text"`
	Data    []byte           `repo:"data"`
	When    time.Time        `repo:"when"`
	Exact   time.Time        `repo:"exact,nanos"`
	List    []string         `repo:"list"`
	Part    *part            `repo:"part"`
	Parts   []part           `repo:"parts"`
	Props   map[string]int64 `repo:"props"`
	Option  *string          `repo:"option"`
	Address netip.Addr       `repo:"address"`
	Extra   map[string]any   `repo:",extra"`
	Version repo.Version     `repo:",version"`
}

type part struct {
	Name  string         `repo:"name"`
	Cost  float64        `repo:"cost"`
	Parts []part         `repo:"parts"`
	Props map[string]any `repo:"props"`
}

func itemSchema() repo.Schema {
	return repo.Schema{Collection: "items", Partition: []string{"shelf"}, Sort: []string{"id"}}
}

func (e *env) items(ctx context.Context) *repo.Repo[item] {
	return rule.Shared[item](ctx, e, itemSchema())
}

func (e *env) item(id string) item {
	return item{Shelf: e.name("shelf"), ID: id, Text: "text of " + id}
}

func (e *env) itemKey(id string) repo.Key { return repo.Key{e.name("shelf"), id} }

// insertItem inserts an item, which must succeed, and returns it with its version.
func (e *env) insertItem(ctx context.Context, it item) item {
	e.OK("insert of "+it.ID, e.items(ctx).Insert(ctx, &it))
	return it
}

// getItem reads an item that is there.
func (e *env) getItem(ctx context.Context, id string) item {
	it, err := e.items(ctx).Get(ctx, e.itemKey(id))
	e.OK("get of "+id, err)
	return it
}

// A message lies in the order of its time, newest first, with an index beside it.
type message struct {
	Host  string    `repo:"host"`
	Time  time.Time `repo:"time"`
	ID    int64     `repo:"id"`
	Level string    `repo:"level"`
	Text  string    `repo:"text"`
}

func messageSchema() repo.Schema {
	return repo.Schema{Collection: "messages", Partition: []string{"host"}, Sort: []string{"-time", "id"}, Indexes: []repo.Index{
		{Partition: []string{"host"}, Sort: []string{"level", "-time"}},
	}}
}

// inTables returns a schema whose indexes are tables, whatever the store would keep.
func inTables(s repo.Schema) repo.Schema {
	for i := range s.Indexes {
		s.Indexes[i].Kind = "table"
	}
	return s
}

func (e *env) messages(ctx context.Context) *repo.Repo[message] {
	return rule.Shared[message](ctx, e, messageSchema())
}

// A session expires, with its index rows and its claim.
type session struct {
	User    string       `repo:"user"`
	ID      string       `repo:"id"`
	Token   *string      `repo:"token"`
	State   string       `repo:"state"`
	Seen    int64        `repo:"seen"`
	Until   time.Time    `repo:",expires"`
	Version repo.Version `repo:",version"`
}

func sessionSchema() repo.Schema {
	return repo.Schema{Collection: "sessions", Partition: []string{"user"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"token"}, Unique: true},
		{Partition: []string{"state"}, Sort: []string{"-seen"}, Covers: []string{"*"}},
		{Partition: []string{"user"}, Sort: []string{"seen"}},
	}}
}

// A person has unique values of several forms and ranges of numbers and times.
type person struct {
	ID      string       `repo:"id"`
	First   *string      `repo:"first"`
	Last    *string      `repo:"last"`
	Email   *string      `repo:"email"`
	Aliases []string     `repo:"aliases"`
	Role    string       `repo:"role"`
	Age     int64        `repo:"age"`
	Joined  time.Time    `repo:"joined"`
	Logins  int64        `repo:"logins"`
	Version repo.Version `repo:",version"`
}

func personSchema() repo.Schema {
	return repo.Schema{Collection: "people", Partition: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"email"}, Unique: true},
		{Partition: []string{"last"}, Sort: []string{"first"}, Unique: true},
		{Partition: []string{"aliases[]"}, Unique: true},
		{Partition: []string{"role"}, Sort: []string{"age"}},
		{Sort: []string{"age"}, Buckets: 4},
		{Sort: []string{"-joined"}, Buckets: 3, Covers: []string{"role"}},
	}}
}

func (e *env) people(ctx context.Context) *repo.Repo[person] {
	return rule.Shared[person](ctx, e, personSchema())
}

func (e *env) person(id string) person { return person{ID: e.name(id), Role: e.name("USER")} }

// A job has a key of several parts, to be selected by the leading ones.
type job struct {
	Scope    string `repo:"scope"`
	Category string `repo:"category"`
	Sub      string `repo:"sub"`
	Position string `repo:"position"`
	Text     string `repo:"text"`
}

func jobSchema() repo.Schema {
	return repo.Schema{Collection: "jobs", Partition: []string{"scope", "category"}, Sort: []string{"sub", "position"}, Indexes: []repo.Index{
		{Partition: []string{"scope", "category"}, Sort: []string{"position", "sub"}, Covers: []string{"text"}},
	}}
}

func (e *env) jobs(ctx context.Context) *repo.Repo[job] { return rule.Shared[job](ctx, e, jobSchema()) }

// A sample has an index on a field of every kind, upwards and downwards.
type sample struct {
	Scope string    `repo:"scope"`
	ID    string    `repo:"id"`
	Flag  bool      `repo:"flag"`
	Count int64     `repo:"count"`
	Ratio float64   `repo:"ratio"`
	Text  string    `repo:"text"`
	Data  []byte    `repo:"data"`
	When  time.Time `repo:"when"`
}

// sampleFields are those by which the store can order samples: all, unless it has no
// index tables, and another order of a kind than a key.
func sampleFields(e *env) []string {
	var fields []string
	for _, f := range []struct {
		name string
		kind driver.Kind
	}{{"flag", driver.Bool}, {"count", driver.Int}, {"ratio", driver.Float}, {"text", driver.String}, {"data", driver.Bytes}, {"when", driver.Time}} {
		if e.Facts.Scope > driver.ScopeRecord || slices.Contains(e.Facts.NativeOrder, f.kind) {
			fields = append(fields, f.name)
		}
	}
	return fields
}

func sampleSchema(fields []string) repo.Schema {
	s := repo.Schema{Collection: "samples", Partition: []string{"scope"}, Sort: []string{"id"}}
	for _, field := range fields {
		s.Indexes = append(s.Indexes, repo.Index{Partition: []string{"scope"}, Sort: []string{field}}, repo.Index{Partition: []string{"scope"}, Sort: []string{"-" + field}})
	}
	s.Indexes = append(s.Indexes, repo.Index{Partition: []string{"scope"}, Sort: []string{"flag", "-count", "text"}})
	return s
}

func (e *env) samples(ctx context.Context) *repo.Repo[sample] {
	return rule.Shared[sample](ctx, e, sampleSchema(sampleFields(e)))
}

// A thing is a map whose fields differ from record to record.
type thing = map[string]any

func thingSchema() repo.Schema {
	return repo.Schema{Collection: "things", Partition: []string{"id"},
		Fields: map[string]string{"id": "string", "name": "string", "n": "int", "at": "time", "score": "float", "on": "bool"}}
}

func (e *env) things(ctx context.Context) *repo.Repo[thing] {
	return rule.Shared[thing](ctx, e, thingSchema())
}

// A link joins two sides, each of which finds the other.
type link struct {
	Student string `repo:"student"`
	Class   string `repo:"class"`
	Credits int64  `repo:"credits"`
}

func linkSchema() repo.Schema {
	return repo.Schema{Collection: "links", Partition: []string{"student"}, Sort: []string{"class"}, Indexes: []repo.Index{
		{Partition: []string{"class"}, Sort: []string{"student"}, Covers: []string{"credits"}},
	}}
}

func (e *env) links(ctx context.Context) *repo.Repo[link] {
	return rule.Shared[link](ctx, e, linkSchema())
}

// A product has lists, and no field that is unique.
type product struct {
	ID         string   `repo:"id"`
	Name       string   `repo:"name"`
	Category   string   `repo:"category"`
	Categories []string `repo:"categories"`
	Numbers    []int64  `repo:"numbers"`
	Parts      []string `repo:"parts"`
}

func productSchema() repo.Schema {
	return repo.Schema{Collection: "products", Partition: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"categories[]"}, Sort: []string{"name"}, Covers: []string{"name", "category"}},
		{Partition: []string{"category", "numbers[]"}},
	}}
}

func (e *env) products(ctx context.Context) *repo.Repo[product] {
	return rule.Shared[product](ctx, e, productSchema())
}

// insertAll inserts records one by one, which must succeed.
func insertAll[T any](ctx context.Context, e *env, r *repo.Repo[T], records ...T) {
	for i := range records {
		e.OK(fmt.Sprintf("insert of record %d", i), r.Insert(ctx, &records[i]))
	}
}

// find returns what a query finds, each record as text.
func find[T any](ctx context.Context, e *env, r *repo.Repo[T], q repo.Query, text func(T) string) []string {
	list := []string{}
	for _, rec := range collect(e, "find "+q.String(), r.Find(ctx, q)) {
		list = append(list, text(rec))
	}
	return list
}

func postID(p post) string { return p.ID }

// ids returns the ids of the posts that a query finds.
func (e *env) ids(ctx context.Context, q repo.Query) []string {
	return find(ctx, e, e.posts(ctx), q, postID)
}
