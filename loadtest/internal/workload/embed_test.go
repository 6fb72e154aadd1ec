package workload

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
)

func TestPlacesOfChildrenAreRead(t *testing.T) {
	w := testload.Parsed(t, Parse, testload.Threads)
	posts, comments := w.Collections[0], w.Collections[1]
	if !comments.Embedded || posts.Embedded || w.Models[0].Hosts[1] != nil || w.Models[2].Hosts[1] != posts {
		t.Errorf("%+v", w.Models[2])
	}
	plain, in := w.Models[0].Schemas, w.Models[2].Schemas
	if plain[0].Fields["embedded_comments"] != "" || in[0].Fields["embedded_comments"] != "list" || in[1].Indexes != nil || slices.Contains(in[0].Indexes[0].Covers, "*") || len(in[0].Indexes[0].Covers) != 5 {
		t.Errorf("schemas %+v and %+v", plain, in)
	}
	q := w.Queries[0].Children[0]
	if q.Collection != comments || q.Limit != 3 || len(q.Where) != 2 || q.Where[0] != (Condition{Field: "whose", From: "author"}) || q.Where[1] != (Condition{Field: "on", From: "post"}) {
		t.Errorf("children %+v", q)
	}
}

// A model lets a collection lie with another one, or by itself again.
func TestWithOfAModel(t *testing.T) {
	for _, declared := range []bool{false, true} {
		text := strings.NewReplacer("partition: [whose, on]\n    sort: [id]", "partition: [author]\n    sort: [id]", "whose", "author", "indexes: [{partition: [author, on], sort: [-created]}]", "").Replace(testload.Threads)
		if declared {
			text = strings.Replace(text, "    partition: [author]\n    sort: [id]", "    partition: [author]\n    with: posts\n    sort: [id]", 1)
		}
		text = text[:strings.Index(text, "queries:")] + "queries: [{name: a, weight: 100, kind: get, collection: posts}]\nmodels:\n  - name: a\n  - {name: b, collections: {comments: {with: posts}}}\n  - {name: c, collections: {comments: {with: none}}}\n"
		w := testload.Parsed(t, Parse, text)
		for i, want := range []string{map[bool]string{true: "posts"}[declared], "posts", ""} {
			if got := w.Models[i].Schemas[1].With; got != want {
				t.Errorf("declared %v, model %d: with %q, want %q", declared, i, got, want)
			}
		}
	}
}

// Each case changes the workload of threads.
var embedFaults = []struct{ name, old, new, want string }{
	{"embedded in nothing", "{embed: posts}", "{embed: post}", `there is no other collection "post" in whose records these can be; the collections are posts, comments`},
	{"embedded in itself", "{embed: posts}", "{embed: comments}", `there is no other collection "comments"`},
	{"embedded and with", "{embed: posts}", "{embed: posts, with: posts}", "has embed and with; what is embedded lies where its posts lie"},
	{"embedded with an index", "{embed: posts}", "{embed: posts, indexes: [{partition: [by]}]}", "leave out indexes"},
	{"embedded above", "comments: {embed: posts}", "posts: {embed: comments}", "comments comes below it in the file; declare it above"},
	{"another partition", "{embed: posts}", "{partition: [on], embed: posts}", "its partition is (on), and it must be the whole key of a parent, which is (author, post), in that order and of the same kinds"},
	{"another order", "{embed: posts}", "{partition: [on, whose], embed: posts}", "in that order and of the same kinds"},
	{"parents that may not be there", "on: {ref: {collection: posts, field: post, zipf: 0.9}}", "on: {int: {max: 9}}", "nothing makes sure that the parents are there; make on by ref: {collection: posts, field: post}"},
	{"another field", "whose: {ref: {collection: posts, field: author, zipf: 0.9}}", "whose: {ref: {collection: posts, field: title}}", "make whose by ref: {collection: posts, field: author}"},
	{"records that expire", "    sort: [id]", "    sort: [id]\n    ttl: 24h", "records expire one by one, and elements of a list do not"},
	{"name of the list", "title: string,", "title: string, embedded_comments: list,", "posts has a field embedded_comments, which is the name of the list"},
	{"parents that go", "kind: group, collection: posts, writes: [update, put]", "kind: group, collection: posts, writes: [update, delete]", "query several posts removes records of posts, and in model embedded the comments in them"},
	{"parents that are deleted", "kind: put, collection: posts, set: {title: {choice: [news, help]}}", "kind: delete, collection: posts", "query same post removes records of posts"},
	{"another parent", "kind: insert, collection: comments", "kind: insert, collection: comments, set: {on: 3}", "query new comment sets whose, on, and in model embedded a new record needs a parent in posts that is there"},
	{"children of no collection", "children: {comments:", "children: {comment:", `there is no collection "comment" without trees`},
	{"children by no key", "on: $post, sure", "on: $created, sure", "$created should be a field of kind int in the key of the parent, which is (author, post)"},
	{"children of nobody", "where: {whose: $author, on: $post, sure: true}", "where: {sure: true}", "names nothing of the parent; add a condition as {post: $author}"},
	{"children by no field", "where: {whose: $author, on", "where: {who: $author, on", `there is no field "who" in collection comments`},
	{"children in no order", "children: {comments: {order: [-created], limit: 3}}", "children: {comments: {order: [-creatd], limit: 3}}", "did you mean created?"},
	{"children of a page", "limit: 3}\n  - {name: new post", "limit: 3, children: {comments: {}}}\n  - {name: new post", `no key "children"`},
	{"children by another partition", "partition: [whose, on]\n", "partition: [on, whose]\n", "query post: children: comments does not say which children are a record's, and their partition (on, whose) is not its key (author, post); add where"},
	{"a unique index", "{partition: [whose, on], sort: [-created]}]", "{partition: [whose, on], sort: [-created]}, {partition: [id], unique: true}]", "model embedded embeds comments in posts: it has a unique index"},
	{"with nothing", "{embed: posts}", "{with: nobody}", "there is no collection nobody above comments"},
	{"with another partition", "{embed: posts}", "{with: posts}", "comments lies with posts, and so has the same partition, which is (author)"},
}

func TestEmbedFaults(t *testing.T) {
	for _, tt := range embedFaults {
		text := strings.Replace(testload.Threads, tt.old, tt.new, 1)
		if text == testload.Threads {
			t.Fatalf("%s: the case changes nothing", tt.name)
		}
		_, err := Parse("threads.yaml", []byte(text))
		var faults failure.Faults
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

// Of three collections none is embedded in one that is embedded, and none lies with it; a group of
// records that lie together as declared may have several parents.
func TestEmbeddedInEmbedded(t *testing.T) {
	const head = `collections:
  - {collection: a, partition: [x], fields: {x: int}, data: {count: 1, fields: {x: {sequence: 1}}}}
  - {collection: b, partition: [y], sort: [x], fields: {x: int, y: int, z: int}, data: {count: 1, fields: {x: {ref: {collection: a, field: x}}, y: {sequence: 1}}}}
  - {collection: c, partition: [x], fields: {x: int}, data: {count: 1, fields: {x: {ref: {collection: b, field: x}}}}}
queries:
  - {name: g, weight: 100, kind: group, collection: b, add: {z: 1}}
`
	const below = "  - {name: below, weight: 1, kind: get, collection: b, children: {c: {where: {x: $x}}}}\n"
	if _, err := Parse("m.yaml", []byte(strings.Replace(head, "weight: 100, kind: group", "weight: 99, kind: group", 1)+below+"models: [{name: m, collections: {b: {partition: [x], sort: [y], embed: a}}}]\n")); err == nil ||
		!strings.Contains(err.Error(), "query below reads children of b, and in model m these are elements of a list themselves") {
		t.Errorf("children of what is embedded: %v", err)
	}
	for model, want := range map[string]string{
		"{b: {partition: [x], sort: [y], embed: a}, c: {embed: b}}": "model m embeds c in b: b is embedded itself, in a",
		"{b: {partition: [x], sort: [y], embed: a}}":                "query g changes records of one (y) in one commit, and in model m they may be in several records of a; declare the partition (x)",
		"{b: {partition: [x], sort: [y], embed: a}, c: {with: b}}":  "model m embeds b in a: c lies with it, and there is no partition of its own then; add c: {with: none}",
	} {
		if _, err := Parse("m.yaml", []byte(head+"models: [{name: m, collections: "+model+"}]\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
}
