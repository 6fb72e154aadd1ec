package backendtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// Tables are those of posts with an index by tag, elsewhere, and a unique slug.
type Tables struct{ Posts, ByTag, Slug *driver.Table }

// The fields of a post.
const (
	FieldTitle = iota
	FieldViews
	FieldRating
	FieldOpen
	FieldAt
	FieldPhoto
	FieldTags
)

// NewTables returns them, of which no store knows yet.
func NewTables() *Tables {
	author := driver.Column{Name: "author", Kind: driver.String}
	id := driver.Column{Name: "id", Kind: driver.String}
	tag := driver.Column{Name: "tag", Kind: driver.String}
	title := driver.Column{Name: "title", Kind: driver.String}
	views := driver.Column{Name: "views", Kind: driver.Int}
	return &Tables{
		Posts: &driver.Table{Name: "posts", Partition: []driver.Column{author}, Sort: []driver.Column{id}, Ring: 4,
			Fields: []driver.Column{title, views, {Name: "rating", Kind: driver.Float}, {Name: "open", Kind: driver.Bool},
				{Name: "at", Kind: driver.Time}, {Name: "photo", Kind: driver.Bytes}, {Name: "tags", Kind: driver.List}}},
		ByTag: &driver.Table{Name: "posts.by_tag", Class: driver.Rows, Partition: []driver.Column{tag},
			Sort: []driver.Column{author, id}, Fields: []driver.Column{title, views}},
		Slug: &driver.Table{Name: "posts.slug", Class: driver.Claims, Partition: []driver.Column{{Name: "slug", Kind: driver.String}},
			Fields: []driver.Column{{Name: "_key", Kind: driver.String}}},
	}
}

// All returns all three.
func (ts *Tables) All() []*driver.Table { return []*driver.Table{ts.Posts, ts.ByTag, ts.Slug} }

// KeyOf returns the key of a row of a table from its parts.
func KeyOf(t testing.TB, table *driver.Table, parts ...string) driver.Key {
	t.Helper()
	vals := make([]driver.Value, len(parts))
	for i, p := range parts {
		vals[i] = driver.StringValue(p)
	}
	cut := len(table.Partition)
	partition, err1 := driver.AppendParts(nil, table.Partition, vals[:cut])
	sort, err2 := driver.AppendParts(nil, table.Sort, vals[cut:])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return driver.Key{Partition: string(partition), Sort: string(sort)}
}

// Insert returns the ops that insert a post with a row of its tag and its slug.
func (ts *Tables) Insert(t testing.TB, author, id string) []driver.Op {
	t.Helper()
	key := KeyOf(t, ts.Posts, author, id)
	title, views := driver.StringValue("title of "+id), driver.IntValue(1)
	return []driver.Op{
		{Do: driver.Put, Table: ts.Posts, If: driver.Absent, Row: driver.Row{Key: key, Fields: []driver.Value{title, views}}},
		{Do: driver.Put, Table: ts.ByTag, If: driver.Any, Row: driver.Row{Key: KeyOf(t, ts.ByTag, "go", author, id), Fields: []driver.Value{title, views}}},
		{Do: driver.Put, Table: ts.Slug, If: driver.Absent, Row: driver.Row{Key: KeyOf(t, ts.Slug, author+"-"+id),
			Fields: []driver.Value{driver.StringValue(key.Partition + key.Sort)}}},
	}
}

// Add returns the op that adds one to the views of a post.
func (ts *Tables) Add(t testing.TB, author, id string) []driver.Op {
	return []driver.Op{{Do: driver.Patch, Table: ts.Posts, If: driver.Present, Row: driver.Row{Key: KeyOf(t, ts.Posts, author, id)},
		Edits: []driver.Edit{{Do: driver.Add, Field: FieldViews, Value: driver.IntValue(1)}}}}
}

// Numbers returns how many posts, counted posts, rows and slugs an author has in
// the store, read from all sides.
func (ts *Tables) Numbers(t testing.TB, s driver.Store, author string, ids []string) string {
	t.Helper()
	var posts, slugs, rows int
	for _, id := range ids {
		posts += ts.There(t, s, ts.Posts, KeyOf(t, ts.Posts, author, id))
		slugs += ts.There(t, s, ts.Slug, KeyOf(t, ts.Slug, author+"-"+id))
		rows += ts.There(t, s, ts.ByTag, KeyOf(t, ts.ByTag, "go", author, id))
	}
	n, err := s.(driver.Counter).Count(t.Context(), driver.Span{Table: ts.Posts, Key: KeyOf(t, ts.Posts, author, "")})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d posts, %d counted, %d rows, %d slugs", posts, n, rows, slugs)
}

// There returns 1 if a row is there, else 0.
func (ts *Tables) There(t testing.TB, s driver.Store, table *driver.Table, key driver.Key) int {
	t.Helper()
	var rows [1]driver.Row
	if err := s.Get(t.Context(), table, []driver.Key{key}, nil, rows[:]); err != nil {
		t.Fatal(err)
	}
	if rows[0].Rev.IsZero() {
		return 0
	}
	return 1
}

// Views returns the views of a post.
func (ts *Tables) Views(t testing.TB, s driver.Store, author, id string) int64 {
	t.Helper()
	var rows [1]driver.Row
	if err := s.Get(t.Context(), ts.Posts, []driver.Key{KeyOf(t, ts.Posts, author, id)}, []int{FieldViews}, rows[:]); err != nil {
		t.Fatal(err)
	}
	return rows[0].Fields[0].Int()
}
