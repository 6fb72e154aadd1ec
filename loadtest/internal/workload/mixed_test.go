package workload

import (
	"strings"
	"testing"
)

const mixedWays = `
collections:
  - collection: users
    partition: [id]
    fields: {id: string, name: string}
    data: {count: 10, fields: {id: {sequence: 1, pattern: "u%d"}, name: {words: {min: 1, max: 2}}}}
  - collection: posts
    partition: [id]
    fields: {id: string, author: string, title: string}
    indexes: [{partition: [author], sort: [id]}]
    data: {count: 10, fields: {id: {sequence: 1, pattern: "p%d"}, author: {ref: {collection: users, field: id}}, title: {words: {min: 1, max: 2}}}}
  - collection: comments
    partition: [post]
    sort: [at]
    fields: {post: string, at: time, by: string, text: string}
    indexes: INDEXES
    data:
      count: 10
      fields:
        post: {ref: {collection: posts, field: id}}
        at: {time: {from: 2026-01-01, to: 2026-02-01}}
        by: {ref: {collection: users, field: id}}
        text: {words: {min: 1, max: 3}}
queries:
  - {name: a post, collection: posts, weight: 50, kind: get, QUERY}
  - {name: of a post, collection: comments, weight: 50, kind: find, where: {post: $}, order: [at], join: {by: {from: users, take: [name]}}}
models:
  - {name: plain}
  - {name: mixed, collections: {COLLECTIONS}}
`

// A collection that a model keeps in two ways at once is a fault that names both.
func TestMixedWays(t *testing.T) {
	const join, children = "join: {author: {from: users, take: [name]}}", "children: {comments: {order: [at], limit: 5}}"
	by := "[{partition: [by], sort: [post, at]}]"
	for _, tt := range []struct{ indexes, query, collections, want string }{
		{"[]", join, "comments: {series: {span: 1h}}", ""},
		{"[]", children, "comments: {embed: posts}", ""},
		{by, join, "comments: {copies: {by: [name]}}, posts: {copies: {author: [name]}}", ""},
		{"[]", join, "comments: {series: {span: 1h}, embed: posts}", "comments are series, and embedded in posts"},
		{by, join, "comments: {embed: posts, copies: {by: [name]}}", "comments are embedded, and have copies or are copied"},
		{"[]", join, "comments: {embed: posts}, posts: {copies: {author: [name]}}", "comments are embedded in posts, which have copies or are copied"},
		{"[]", join, "users: {embed: posts}", "model mixed embeds users in posts, and query a post joins author with them"},
		{"[]", children, "comments: {series: {span: 1h}}", "query a post reads records with their children"},
		{"[]", join + ", " + children, "posts: {indexes: []}", "has join and children"},
	} {
		text := strings.NewReplacer("INDEXES", tt.indexes, "QUERY", tt.query, "COLLECTIONS", tt.collections).Replace(mixedWays)
		_, err := Parse("mixed.yaml", []byte(text))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s, %s: %v, want %q", tt.query, tt.collections, err, tt.want)
		}
	}
}
