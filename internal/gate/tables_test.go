package gate_test

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// Tables are those of a collection of posts with a local index, a local unique one
// and a remote one.
type tables struct{ posts, byAt, slug, byCategory *driver.Table }

func newTables() tables {
	author := []driver.Column{{Name: "author", Kind: driver.String}}
	id := driver.Column{Name: "id", Kind: driver.String}
	at := driver.Column{Name: "at", Kind: driver.Time, Desc: true}
	posts := &driver.Table{Name: "posts", Class: driver.Records, Partition: author, Sort: []driver.Column{id}, Ring: 4,
		Fields: []driver.Column{
			{Name: "title", Kind: driver.String}, {Name: "views", Kind: driver.Int}, {Name: "rating", Kind: driver.Float},
			{Name: "open", Kind: driver.Bool}, {Name: "at", Kind: driver.Time}, {Name: "photo", Kind: driver.Bytes},
			{Name: "tags", Kind: driver.List}, {Name: "meta", Kind: driver.Map}, {Name: "slug", Kind: driver.String},
			{Name: "category", Kind: driver.String}, {Name: "select", Kind: driver.String}, {Name: "Select", Kind: driver.String},
		}}
	covered := []driver.Column{posts.Fields[title], posts.Fields[views], posts.Fields[rating], posts.Fields[photo], posts.Fields[meta]}
	return tables{
		posts: posts,
		byAt: &driver.Table{Name: "posts.by_at", Class: driver.Rows, Home: posts, Partition: author,
			Sort: []driver.Column{at, id}, Fields: covered},
		slug: &driver.Table{Name: "posts.slug", Class: driver.Claims, Home: posts, Partition: author,
			Sort: []driver.Column{{Name: "slug", Kind: driver.String}}, Fields: []driver.Column{{Name: "_key", Kind: driver.String}}},
		byCategory: &driver.Table{Name: "posts.by_category", Class: driver.Rows,
			Partition: []driver.Column{{Name: "category", Kind: driver.String}},
			Sort:      []driver.Column{at, author[0], id}, Fields: covered[:1]},
	}
}

func (t *tables) all() []*driver.Table {
	return []*driver.Table{t.posts, t.byAt, t.slug, t.byCategory}
}

// The ordinals of the fields of posts.
const (
	title = iota
	views
	rating
	open
	at
	photo
	tags
	meta
	slug
	category
	sel
	Sel
	postFields
)

// keyOf returns the key of values for the columns of a table.
func keyOf(t *driver.Table, vals ...driver.Value) driver.Key {
	p, err := driver.AppendParts(nil, t.Partition, vals)
	if err != nil {
		panic(fmt.Sprintf("key of %s: %v", t.Name, err)) // a mistake in a test's own table
	}
	s, err := driver.AppendParts(nil, t.Sort, vals[len(t.Partition):])
	if err != nil {
		panic(fmt.Sprintf("key of %s: %v", t.Name, err))
	}
	return driver.Key{Partition: string(p), Sort: string(s)}
}

func text(s string) driver.Value { return driver.StringValue(s) }

func (t *tables) post(author, id string) driver.Key { return keyOf(t.posts, text(author), text(id)) }

func (t *tables) entry(author string, ms int64, id string) driver.Key {
	return keyOf(t.byAt, text(author), driver.TimeValue(ms), text(id))
}

func (t *tables) claim(author, slug string) driver.Key {
	return keyOf(t.slug, text(author), text(slug))
}

// values returns the fields of a post, by ordinal.
func values(of map[int]driver.Value) []driver.Value {
	list := make([]driver.Value, postFields)
	for i, v := range of {
		list[i] = v
	}
	return list
}

// titled returns the fields of a post of which only the title matters.
func titled(s string) []driver.Value {
	return values(map[int]driver.Value{title: text(s), views: driver.IntValue(7)})
}
