package workload

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
)

func TestJoinsAreRead(t *testing.T) {
	w := testload.Parsed(t, Parse, testload.Authors)
	posts, j := w.Collections[2], w.Queries[0].Joins[0]
	if j.Field != "author" || j.From != w.Collections[1] || !slices.Equal(j.Take, []string{"name"}) || j.Shown("name") != "author.name" {
		t.Errorf("the join is %+v", j)
	}
	for i, kept := range []string{"", "author_name", "author_name"} {
		if got := w.Models[i].Schemas[2].Fields[kept]; kept != "" && got != "string" || len(w.Models[i].Schemas[2].Fields) != 5+i {
			t.Errorf("model %s has the fields %v", w.Models[i].Name, w.Models[i].Schemas[2].Fields)
		}
		if own := w.Models[i].CopiesOf(posts.At, &j); (own != nil) != (kept != "") {
			t.Errorf("model %s answers %v by %v", w.Models[i].Name, j, own)
		}
	}
	if len(posts.Schema.Fields) != 5 {
		t.Errorf("copies are fields of the collection as declared: %v", posts.Schema.Fields)
	}
	fills, copied := "", ""
	for _, q := range w.Queries {
		if w.Models[1].Fills(q) {
			fills += q.Name + ", "
		}
		if w.Models[1].Copied(q) {
			copied += q.Name + ", "
		}
		if w.Models[0].Fills(q) || w.Models[0].Copied(q) {
			t.Errorf("query %s is about copies in a model that has none", q.Name)
		}
	}
	if fills != "new post, post anew, other author, " || copied != "rename, user anew, user gone, new user, " {
		t.Errorf("copies are filled by %q, and follow %q", fills, copied)
	}
}

const noRoom = "posts_of_all_the_users"

var joinFaults = []struct{ name, old, new, want string }{
	{"no field", "join: {author: {from: users", "join: {auther: {from: users", `there is no field "auther" in collection posts; did you mean author?`},
	{"no collection", "join: {author: {from: users", "join: {author: {from: user", `there is no collection "user"; the collections are towns, users, posts`},
	{"from is missing", "join: {author: {from: users, take: [name]}}", "join: {author: {take: [name]}}", "has no from; add one, e.g. from: users"},
	{"take is missing", "join: {author: {from: users, take: [name]}}", "join: {author: {from: users}}", "has no take; add one"},
	{"nothing is taken", "join: {author: {from: users, take: [name]}}", "join: {author: {from: users, take: []}}", "takes no field; name some of users, e.g. [id]"},
	{"taken twice", "join: {author: {from: users, take: [name]}}", "join: {author: {from: users, take: [name, name]}}", "field name is there twice"},
	{"no field of users", "join: {author: {from: users, take: [name]}}", "join: {author: {from: users, take: [nam]}}", `there is no field "nam"; did you mean name?`},
	{"elements", "join: {author: {from: users, take: [name]}}", `join: {author: {from: users, take: ["name[]"]}}`, `"name[]" is no name of a field`},
	{"unknown key", "take: [name]}}", "takes: [name]}}", "did you mean take?"},
	{"key of two fields", "    partition: [id]\n    fields: {id: string, name: string", "    partition: [id]\n    sort: [name]\n    fields: {id: string, name: string", "users, whose key is (id, name); a field refers to records whose key is one field"},
	{"another kind", "author: string", "author: int", "field author is of kind int, and the key of users, id, of kind string"},
	{"no reference", "join: {author:", "join: {created:", "field created is of kind time; what refers to a record is of kind string or int"},
	{"two collections", "{name: page, weight: 10, kind: page, collection: posts, where: {category: $}, order: [-created], limit: 5, join: {author: {from: users", "{name: page, weight: 10, kind: page, collection: posts, where: {category: $}, order: [-created], limit: 5, join: {author: {from: towns", "joins author with towns, and another query with users"},
	{"another kind of query", "kind: find, collection: posts, where: {category: $}, order: [-created], limit: 10,", "kind: count, collection: posts, where: {category: $}, order: [-created],", `has no key "join"`},
	{"key of a model", "- name: join", "- {name: join, collections: {users: {partition: [town], sort: [id]}}}", "model join gives users the key (town, id), and query newest joins author with them by the key (id); leave them that key"},
	{"copies of what nobody joins", "copies: {author: [name]}", "copies: {category: [name]}", "no query joins category of posts, so nothing says what it refers to; add to one join: {category: {from: …, take: […]}}"},
	{"copies of no field", "copies: {author: [name]}", "copies: {author: [nam]}", `there is no field "nam"; did you mean name?`},
	{"no copies", "copies: {author: [name]}", "copies: {author: []}", "takes no field"},
	{"a copy that is a field", "category: string", "category: string, author_name: string", "the copy of author.name would be field author_name, which is there already"},
	{"copies of copies", "copies: {author: [name]}", "copies: {author: [name]}}, users: {copies: {town: [title]}", "posts has copies of users, which has copies itself"},
	{"records that expire", "- collection: posts", "- collection: posts\n    ttl: 24h", "records of one of them expire (ttl), of which copies know nothing"},
	{"no room for a name", "posts", noRoom, "the name " + noRoom + " of a collection with copies has 22 letters; at most 20"},
	{"a name that copies need", "towns", "users_due", "the copies of posts have a collection users_due of their own"},
	{"a group that fills copies", "writes: [update, delete], set: {title: {words: {}}}", "writes: [update, put], set: {title: {words: {}}}", "query group writes records of posts in a group, of which copies are filled; a group may update other fields than author, and delete"},
	{"a group that refers anew", "writes: [update, delete], set: {title: {words: {}}}", "writes: [update, update], set: {author: $}", "in a group, of which copies are filled"},
}

func TestJoinFaults(t *testing.T) {
	for _, tt := range joinFaults {
		t.Run(tt.name, func(t *testing.T) {
			n := 1
			if tt.new == noRoom || tt.new == "users_due" {
				n = -1
			}
			text := strings.Replace(testload.Authors, tt.old, tt.new, n)
			if text == testload.Authors {
				t.Fatal("the case changes nothing")
			}
			_, err := Parse("authors.yaml", []byte(text))
			if _, ok := errors.AsType[failure.Faults](err); !ok || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got\n%v\nwant Faults with %q", err, tt.want)
			}
		})
	}
}

// A collection that refers to itself may be joined, and has no copies of itself. Nodes of trees are joined with nothing.
func TestJoinsWithItselfAndOfTrees(t *testing.T) {
	text := strings.Replace(testload.Authors, "join: {town: {from: towns, take: [title]}}", "join: {friend: {from: users, take: [name]}}", 1)
	text = strings.Replace(text, "{id: string, name: string,", "{id: string, friend: string, name: string,", 1)
	testload.Parsed(t, Parse, text)
	text = strings.Replace(text, "copies: {author: [name]}", "copies: {author: [name]}}, users: {copies: {friend: [name]}", 1)
	if _, err := Parse("authors.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "friend refers to users itself, and no collection has copies of itself") {
		t.Errorf("copies of itself: %v", err)
	}
	faulty(t, strings.Replace(testload.Trees, "kind: get}", "kind: get, join: {owner: {from: files, take: [size]}}}", 1), ":", "collection files has trees, whose nodes are joined with nothing")
}
