package loadtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// bookmarks is the shipped workload, made short, or another one that is made of it.
func bookmarks(t *testing.T, changes ...string) (*workload.Workload, error) {
	t.Helper()
	return shipped(t, "bookmarks", append([]string{"rounds: 6", "rounds: 1", "round: 2s", "round: 200ms", "count: 20000", "count: 120", "max: 300", "max: 30", "max: 400", "max: 10"}, changes...)...)
}

// Sets, groups and commits of several records give the same in all models, also where records that are changed
// together lie apart.
func TestBookmarks(t *testing.T) {
	w, err := bookmarks(t, "models:", "models:\n  - {name: by site, partition: [site], sort: [id]}")
	if err != nil {
		t.Fatal(err)
	}
	s := newWatched()
	result, err := Run(t.Context(), opened(w), options(s))
	if err != nil || len(result.Candidates) != 4 || result.Compared < 700 {
		t.Fatalf("%+v, %v", result, err)
	}
	s.check(t)
	for _, c := range result.Candidates {
		if c.Failures > 0 {
			t.Errorf("%s: %d failures, the first: %s", c.Name, c.Failures, c.Failure)
		}
		for _, q := range c.Queries {
			if q.SampledNoEffect > 0 && q.Name != "with a tag and not another" {
				t.Errorf("%s: %d of %d calls of %s did nothing", c.Name, q.SampledNoEffect, q.SampledCalls, q.Name)
			}
		}
	}
}

// A forgetful store leaves out a row of each range now and then.
type forgetful struct {
	*watched
	n atomic.Int64
}

func (s *forgetful) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		for row, err := range s.watched.Range(ctx, span) {
			if s.n.Add(1)%7 != 0 && !yield(row, err) {
				return
			}
		}
	}
}

// Answers of each kind that lack something are found.
func TestSetsAndGroupsThatLackSomething(t *testing.T) {
	const from, to = "queries:\n", "models:\n"
	for _, query := range []string{
		`kind: find, any_of: {"tags[]": [tag1, $]}, order: [-created]`, `kind: find, all_of: {"tags[]": 1}, order: [-created]`, `kind: find, where: {"tags[]": tag1}, none_of: {"tags[]": [tag2]}, order: [-created]`,
		"kind: groups, where: {user: $}, by: [site], order: [site, -created]", "kind: groups, where: {user: $}, by: [site], sum: [visits], order: [-site, created], limit: 5", "kind: distinct, where: {user: $}, by: [site], order: [site, -created]", "kind: firsts, where: {user: $}, by: [site], order: [site, -created]",
	} {
		text, err := os.ReadFile("../examples/bookmarks/bookmarks.yaml")
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(text), from)
		w, err := workload.Parse("bookmarks.yaml", []byte(strings.Replace(head, "count: 20000", "count: 300", 1)+from+"  - {name: asked, weight: 100, "+query+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = runWith(t, opened(w), newWatched(), &forgetful{watched: newWatched()}, func([]byte) {})
		if wrong, ok := errors.AsType[*failure.WrongAnswers](err); !ok {
			t.Errorf("%s: %v, %v", query, err, wrong)
		}
	}
}

// A group that changes records of several partitions is not there on a store that cannot commit it.
func TestGroupsThatAStoreCannotCommit(t *testing.T) {
	w, err := bookmarks(t, "models:", "models:\n  - {name: by site, partition: [site], sort: [id]}")
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), opened(w), options(&narrow{newWatched()}))
	if err != nil || len(result.NotThere) != 1 || !strings.Contains(result.NotThere[0].Reason, "query visit three changes records of several partitions in one commit, which memory cannot do") {
		t.Errorf("%v, %+v", err, result)
	}
}

// A narrow store changes one partition at a time.
type narrow struct{ *watched }

func (s *narrow) Facts() driver.Facts {
	f := s.watched.Facts()
	f.Scope = driver.ScopePartition
	return f
}

func TestSetFaults(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{`all_of: {"tags[]": 2}`, `all_of: {"site": 2}`, "all_of is for the elements of a list, and site has one value in a record"},
		{`all_of: {"tags[]": 2}`, `all_of: {"tag[]": 2}`, `there is no field "tag" in collection bookmarks; did you mean tags?`},
		{`all_of: {"tags[]": 2}`, `all_of: {tags: 2}`, "a list has elements: tags[]"},
		{`all_of: {"tags[]": 2}`, `all_of: {"tags[]": []}`, "has 0 values; want 1 to 100"},
		{`all_of: {"tags[]": 2}`, `all_of: {"tags[]": go}`, "(a list of values, or how many are drawn) is text; want a whole number"},
		{"by: [site], sum", "by: [sites], sum", "did you mean site?"},
		{"by: [site], sum", "sum", "query sites of a user has no by; add one, e.g. by: [day]"},
		{"sum: [visits]", "sum: [title]", "sum is for fields of kind int"},
		{"by: [site], order: [site, -created], objectives: {p80: 50ms}}\n  - {name: new,", "by: [site], order: [site]}\n  - {name: new,", "does not say which record of a group is the first; add an order"},
		{"records: 3", "records: 1", "want 2 to 100"},
		{"set: {tags: [tag1, tag2]}", "set: {tags: {}}", "has 0 generators"},
		{"set: {tags: [tag1, tag2]}", "set: {tags: [[x]]}", "an element is a list; want one value"},
		{"set: {tags: [tag1, tag2]}", "set: {tags: 5}", "list"},
	} {
		if _, err := bookmarks(t, tt.old, tt.new); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%q for %q: %v, want %q", tt.new, tt.old, err, tt.want)
		}
	}
}

// What a workload asks of the data, and they cannot give, is told before anything is written.
func TestSetsThatNoRecordServes(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{`all_of: {"tags[]": 2}`, `all_of: {"tags[]": 7}`, "query with two tags: no record of bookmarks has all the fields that it draws"},
		{"records: 3", "records: 100", "query visit three: no partition of bookmarks has 100 records"},
	} {
		w, err := bookmarks(t, tt.old, tt.new, "max: 10", "max: 20")
		if err != nil {
			t.Fatal(err)
		}
		tables, err := data.Survey(t.Context(), w, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := operation.NewStream(w, tables); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: %v, want %q", tt.new, err, tt.want)
		}
	}
}

// A query that no index answers is refused, with the index that would.
func TestGroupsWithoutAnIndex(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"by: [site], sum: [visits], order: [site, -created]", "by: [visits]", "visits"},
		{"by: [site], sum: [visits], order: [site, -created]", `by: ["tags[]"]`, "query sites of a user in model scan: groups of elements need an index, also where the model scans"},
	} {
		w, err := bookmarks(t, tt.old, tt.new)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Run(t.Context(), opened(w), options(newWatched()))
		if faults, ok := errors.AsType[failure.Faults](err); !ok || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "ndex") {
			t.Errorf("%q: %v, %v", tt.new, err, faults)
		}
	}
}
