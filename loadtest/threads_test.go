package loadtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// Wherever children lie, all operations on them and on their parents give the same.
func TestThreads(t *testing.T) {
	s := newWatched()
	result, err := Run(t.Context(), mustParse(t, testload.Threads), options(s))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	if len(result.Candidates) != 4 || result.Compared < 500 {
		t.Errorf("%d candidates agree on %d calls", len(result.Candidates), result.Compared)
	}
	for _, c := range result.Candidates {
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
		checked := 0
		for _, q := range c.Queries {
			if checked += q.Checked; q.SampledNoEffect*2 > q.SampledCalls && q.Name != "gone" {
				t.Errorf("%s: %d of %d calls of %s did nothing", c.Name, q.SampledNoEffect, q.SampledCalls, q.Name)
			}
			embeds := strings.HasPrefix(c.Model, "embedded")
			if q.Name == "post" && (q.RequestsEach == 1) != embeds || q.Name == "comment" && q.RowsEach > 1 || q.Scans && embeds != (q.Name == "of a reader") && c.Model != "scan" && c.Model != "elsewhere" {
				t.Errorf("%s: %v requests and %v rows for %s, scans: %v", c.Name, q.RequestsEach, q.RowsEach, q.Name, q.Scans)
			}
		}
		if checked < 200 {
			t.Errorf("%s: %d answers were checked", c.Name, checked)
		}
	}
	at := slices.IndexFunc(result.Spreads, func(s SpreadResult) bool { return s.In == "posts" })
	if at < 0 || result.Spreads[at].Grown < 8 || result.Spreads[at].Largest < 8 {
		t.Errorf("what is said of the largest parent: %+v", result.Spreads)
	}
}

// The shipped workload, made short: comments may also lie in the partition of their post.
func TestShippedThreads(t *testing.T) {
	w, err := shipped(t, "threads", "rounds: 6", "rounds: 1", "round: 1800ms", "round: 200ms", "count: 2000", "count: 40", "count: 20000", "count: 300")
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), opened(w), options(newWatched()))
	if err != nil || len(result.Candidates) != 3 {
		t.Fatal(result, err)
	}
}

// What a run wrote to parents and children is undone, and they are taken again.
func TestThreadsAreKept(t *testing.T) {
	s := lasting{newWatched()}
	text := embeddedAlone(newComment, "kind: update, collection: comments, add: {stars: 1}", "kind: delete, collection: comments, misses: true",
		"kind: put, collection: posts, set: {title: other}", "kind: insert, collection: posts") + "  - name: elsewhere\n"
	keeping(t, s, text, keep)
	holds(t, keeping(t, s, text, reuse), []string{"reuse elsewhere, loaded on ", "reuse embedded, loaded on ", "kept embedded: load_"}, []string{"load comments", "anew", "not for --reuse"})
	apart := strings.Replace(text, "embed: posts", "sort: [id]", 1)
	holds(t, keeping(t, s, apart, reuse), []string{"load embedded anew: ", "keeps its collections in another way now", "reuse elsewhere"}, nil)
}

// A moth eats elements of lists that are read.
type moth struct {
	*watched
	n atomic.Int64
}

func (s *moth) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	err := s.watched.Get(ctx, t, keys, mask, rows)
	for i := range rows {
		for j, v := range rows[i].Fields {
			if v.Kind() == driver.List && len(v.List()) > 3 && s.n.Add(1)%5 == 0 {
				rows[i].Fields = slices.Clone(rows[i].Fields)
				rows[i].Fields[j] = driver.ListValue(v.List()[1:])
			}
		}
	}
	return err
}

// embeddedAlone returns the workload with the model that embeds alone, and one reading and one writing query.
func embeddedAlone(queries ...string) string {
	head := testload.Threads[:strings.Index(testload.Threads, "queries:")]
	head = strings.NewReplacer("rate: 400", "rate: 1000", "round: 200ms", "round: 300ms", "count: 8\n", "count: 30\n", "count: 40\n", "count: 150\n").Replace(head)
	for i, q := range queries {
		queries[i] = fmt.Sprintf("  - {name: q%d, weight: %d, %s}\n", i, 100/len(queries), q)
	}
	return head + "queries:\n" + strings.Join(queries, "") + "models:\n  - {name: embedded, collections: {comments: {embed: posts}}}\n"
}

const (
	family     = "kind: get, collection: posts, children: {comments: {order: [id]}}"
	newComment = "kind: insert, collection: comments"
)

// A list that lacks an element is found where a store does not agree with another one, for each way to read it.
func TestThreadsThatLackSomething(t *testing.T) {
	for _, query := range []string{
		family, "kind: find, collection: posts, where: {title: $}, order: [created], limit: 5, children: {comments: {order: [id]}}", "kind: exists, collection: comments",
		"kind: count, collection: comments, where: {whose: $, on: $}", "kind: page, collection: comments, where: {whose: $, on: $}, order: [id], limit: 3",
	} {
		_, err := runWith(t, mustParse(t, embeddedAlone(query)), newWatched(), &moth{watched: newWatched()}, func([]byte) {})
		if _, ok := errors.AsType[*failure.WrongAnswers](err); !ok {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// What a store does wrongly with parents during the rounds alone is found by what is embedded in them.
func TestDeceptionsOfThreads(t *testing.T) {
	for name, tt := range map[string]struct {
		write string
		s     *deceiver
		want  []string
	}{
		"lost inserts": {newComment, &deceiver{drops: each[[]driver.Op](10)}, []string{"is missing", "there are at least"}},
		"lost updates": {"kind: update, collection: comments, set: {stars: {int: {max: 1000000000}}}", &deceiver{drops: each[[]driver.Op](10)}, []string{"what was written last is"}},
		"lost deletes": {"kind: delete, collection: comments", &deceiver{drops: each[[]driver.Op](10)}, []string{"is found, and it is not there"}},
		"no parent":    {newComment, &deceiver{hides: each[driver.Key](3)}, []string{"the record in which it is to be embedded is not found", "it is not found, and nothing has removed it"}},
		"behind":       {newComment, &deceiver{behind: 50 * time.Millisecond}, []string{"is missing", "there are at least"}},
	} {
		for _, honest := range []bool{false, true} {
			if honest && name != "lost inserts" {
				continue // the workload is that of others
			}
			s := &deceiver{watched: newWatched(), past: map[driver.Key]past{}}
			if !honest {
				s.drops, s.hides, s.behind = tt.s.drops, tt.s.hides, tt.s.behind
			}
			err := deceive(t, embeddedAlone(family, tt.write), s)
			_, wrong := errors.AsType[*failure.WrongAnswers](err)
			if honest && err != nil || !honest && !wrong {
				t.Errorf("%s: %v; honest: %v", name, err, honest)
			}
			if wrong && !slices.ContainsFunc(tt.want, func(want string) bool { return strings.Contains(err.Error(), want) }) {
				t.Errorf("%s: %v, want one of %q", name, err, tt.want)
			}
		}
	}
}

// A model is not there whose parents become too large.
func TestParentsThatAreTooLarge(t *testing.T) {
	w := strings.NewReplacer("text: {words: {min: 1, max: 5}}", "text: {text: {size: 100000}}", "rate: 1000", "rate: 50").Replace(embeddedAlone("kind: exists, collection: posts") + "  - name: elsewhere\n")
	result, err := Run(t.Context(), mustParse(t, w), options(newWatched()))
	if err != nil || len(result.NotThere) != 1 {
		t.Fatal(result, err)
	}
	for _, want := range []string{"comments: a record of posts is too large with all its comments in it: ", "let a model have no embed, or the data fewer of them; the most in one are "} {
		if got := result.NotThere[0].Reason; !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A query that names no parent is refused, unless the model scans.
func TestThreadsWithoutAnIndex(t *testing.T) {
	for query, want := range map[string]string{
		"kind: find, collection: comments, where: {by: $}":                                                         "query q0 in model embedded: comments are embedded in posts, and no condition names one of these; add whose, on to where, or let the model scan",
		"kind: count, collection: comments, where: {whose: $}":                                                     "add whose, on to where",
		"kind: groups, collection: comments, where: {whose: $, on: $}, by: [\"tags[]\"]":                           "groups of elements need an index, and what is embedded has none",
		"kind: get, collection: posts, children: {comments: {where: {whose: $author}}}":                            "query q0 in model embedded: comments of it: comments are embedded in posts",
		"kind: find, collection: posts, where: {views: $}, children: {comments: {where: {whose: $author, on: 1}}}": "query q0 in model embedded: no index",
	} {
		_, err := Run(t.Context(), mustParse(t, embeddedAlone(query)), options(newWatched()))
		if _, ok := errors.AsType[failure.Faults](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}

// A file of comments is checked for their posts; a trace, too.
func TestOrphans(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	posts := write("posts.jsonl", `{"id": 1}`+"\n"+`{"id": 2}`+"\n")
	comments := write("comments.jsonl", `{"post": 1, "n": 1}`+"\n"+`{"post": 3, "n": 1}`+"\n")
	text := fmt.Sprintf(`workload: orphans
collections:
  - {collection: posts, partition: [id], fields: {id: int}, data: {file: %s}}
  - {collection: comments, partition: [post], sort: [n], fields: {post: int, n: int}, data: {file: %s}}
queries:
  - {name: new post, kind: insert, weight: 10, collection: posts, set: {id: {sequence: 10}}}
  - {name: new, kind: insert, weight: 90, collection: comments, set: {n: {sequence: 10}}}
models:
  - {name: embedded, collections: {comments: {embed: posts}}}
`, posts, comments)
	_, err := Run(t.Context(), mustParse(t, text), options(newWatched()))
	if !strings.Contains(fmt.Sprint(err), `comments.jsonl:2: posts has no record "3", in which model embedded embeds it; add it, or leave out the record`) {
		t.Error(err)
	}
	few := mustParse(t, text)
	few.Records = 1
	if _, err := Run(t.Context(), few, options(newWatched())); err != nil && !strings.Contains(err.Error(), "of both collections a sample is taken") {
		t.Error(err)
	}
	write("comments.jsonl", `{"post": 1, "n": 1}`)
	line := func(post int) string {
		return fmt.Sprintf(`{"time": 0, "query": "new", "post": %d, "n": 20}`+"\n", post)
	}
	trace := write("ops.jsonl", line(2)+line(3)+`{"time": 0, "query": "new post", "id": 3}`+"\n"+line(3))
	_, err = Run(t.Context(), mustParse(t, strings.Replace(text, "collections:", "trace: "+trace+"\ncollections:", 1)), options(newWatched()))
	var faults failure.Faults
	if !errors.As(err, &faults) || len(faults) != 1 || !strings.Contains(err.Error(), "ops.jsonl:2") || !strings.Contains(err.Error(), "query new names a parent that is not in posts, and nothing above inserts it, so that model embedded cannot embed it") {
		t.Error(err)
	}
}

// Before anything is loaded it is known what models read of children.
func TestCheckOfThreads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "threads.yaml")
	text := strings.Replace(testload.Threads, "{name: embedded, scan: true,", "{name: embedded,", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := Check(t.Context(), file, options(newWatched()).Open, nil)
	var told bytes.Buffer
	for _, f := range list {
		fmt.Fprintln(&told, f)
	}
	holds(t, told.String(), []string{"model scan, query post: looks at every record of comments (40): ", "model embedded, query of a reader: is refused: comments are embedded in posts"}, []string{"query comment:", "model elsewhere, query post:"})
	layouts, err2 := Layouts(file)
	if err != nil || err2 != nil || len(layouts[0].Schemas) != 2 || len(layouts[2].Schemas) != 1 || layouts[2].Schemas[0].Fields["embedded_comments"] != "list" {
		t.Errorf("%v, %v, %+v", err, err2, layouts)
	}
}
