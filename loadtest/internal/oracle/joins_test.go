package oracle

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// A library is posts and users, with the oracle of a store that has them.
type library struct {
	*Oracle
	w      *workload.Workload
	stream *operation.Stream
	post   map[string]any // with the name of its author
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	w := testload.Parsed(t, workload.Parse, testload.Authors)
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &library{Oracle: New(Know(w, tables)), w: w}
	if l.stream, err = operation.NewStream(w, tables); err != nil {
		t.Fatal(err)
	}
	users, posts := data.NewMaker(w, w.Collections[1], tables), data.NewMaker(w, w.Collections[2], tables)
	for i := range tables[2].Len {
		l.post = posts.Record(i)
		for n := range tables[1].Len {
			if user := users.Record(n); user["id"] == l.post["author"] && user["name"] != nil {
				l.post["author.name"] = user["name"]
				return l
			}
		}
	}
	t.Fatal("no post has an author with a name")
	return nil
}

// at returns a time of the oracle that is so many seconds after another one.
func at(seconds int) int64 { return int64(time.Duration(seconds) * time.Second) }

// did notes a call of a query for the record of a key, from one time to another.
func (l *library) did(query string, key repo.Key, from, to int) *operation.Call {
	n := slices.IndexFunc(l.w.Queries, func(q *workload.Query) bool { return q.Name == query })
	k := l.stream.Only(n, 1, 0)[0]
	if k.Record == nil {
		k.Key = key
	} else {
		for i, f := range k.Q.Collection.Key() {
			k.Record[f] = key[i]
		}
	}
	l.Oracle.did(&k, at(from), at(to), at(to))
	return &k
}

// read says what is wrong with the post, as it was read from one time to another.
func (l *library) read(from, to int) string {
	return l.wrong(&event{k: l.get(), a: operation.Answer{N: 1, Records: []map[string]any{l.post}}, begin: at(from), end: at(to)})
}

func (l *library) get() *operation.Call {
	n := slices.IndexFunc(l.w.Queries, func(q *workload.Query) bool { return q.Name == "post" })
	return &operation.Call{Q: l.w.Queries[n], At: n, Key: repo.Key{l.post["category"], l.post["id"]}}
}

// What is joined is that of an acknowledged write, or of one under way.
func TestJoinedAnswers(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(l *library)
		want string
	}{
		{"as loaded", func(*library) {}, ""},
		{"nothing", func(l *library) { delete(l.post, "author.name") }, "author of "},
		{"another name", func(l *library) { l.post["author.name"] = "x" }, `and author.name is "x"; what was written last is`},
		{"another author", func(l *library) { l.post["author"] = "u99" }, "what was written last is"},
		{"renamed", func(l *library) { l.did("user anew", repo.Key{l.post["author"]}, 1, 2) }, "what was written last is"},
		{"renamed meanwhile", func(l *library) { l.did("user anew", repo.Key{l.post["author"]}, 1, 11) }, ""},
		{"renamed, and read so", func(l *library) {
			l.post["author.name"] = l.did("user anew", repo.Key{l.post["author"]}, 1, 2).Record["name"]
		}, ""},
		{"renamed later, and read so", func(l *library) {
			l.post["author.name"] = l.did("user anew", repo.Key{l.post["author"]}, 21, 22).Record["name"]
		}, "what was written last is"},
		{"gone", func(l *library) { l.did("user gone", repo.Key{l.post["author"]}, 1, 2) }, "of users, which is not there, and author.name is"},
		{"gone, and read so", func(l *library) {
			l.did("user gone", repo.Key{l.post["author"]}, 1, 2)
			delete(l.post, "author.name")
		}, ""},
		{"of nobody", func(l *library) {
			l.did("post anew", repo.Key{l.post["category"], l.post["id"]}, 1, 11) // which says nothing of the author
			delete(l.post, "author")
		}, "author"},
	} {
		l := newLibrary(t)
		tt.do(l)
		if got := l.read(10, 20); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Where no commit has both, a copy may be as old as the write of its record that is under way, and no older.
func TestCopiesThatAreBehind(t *testing.T) {
	for _, tt := range []struct {
		name        string
		behind      bool
		query       string
		from, to    int // of a write of the post
		renamed, is int // of that of the user, which lasts a second
		right       bool
	}{
		{"written meanwhile", true, "post anew", 1, 12, 5, 10, true},
		{"written meanwhile, by another query", true, "other title", 1, 12, 5, 10, true},
		{"one commit has both", false, "post anew", 1, 12, 5, 10, false},
		{"begun after the rename", true, "post anew", 7, 12, 5, 10, false},
		{"over before", true, "post anew", 1, 9, 5, 10, false},
		{"begun when all was read", true, "post anew", 21, 22, 5, 10, false},
	} {
		l := newLibrary(t)
		if tt.behind {
			l.Behind(l.w.Collections[2])
		}
		l.Oracle.did(l.writes(tt.query), at(tt.from), at(tt.to), at(tt.to))
		l.did("user anew", repo.Key{l.post["author"]}, tt.renamed, tt.renamed+1)
		if got := l.read(tt.is, 20); (got == "") != tt.right {
			t.Errorf("%s: %q, want that it is right: %v", tt.name, got, tt.right)
		}
		l.of[2].ended(at(30))
		if len(l.of[2].open) > 0 {
			t.Errorf("%s: writes that are over are not forgotten", tt.name)
		}
	}
}

// writes returns a call of a query that writes the post as it is.
func (l *library) writes(query string) *operation.Call {
	n := slices.IndexFunc(l.w.Queries, func(q *workload.Query) bool { return q.Name == query })
	k := l.stream.Only(n, 1, 0)[0]
	k.Key = l.get().Key
	if k.Record != nil {
		k.Record = map[string]any{}
		for f, v := range l.post {
			if f != "author.name" {
				k.Record[f] = v
			}
		}
	} else {
		for _, v := range k.Sets {
			l.post["title"] = v
		}
	}
	return &k
}
