package loadtest

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/report"
	"github.com/polystore/polystore/repo/driver"
)

const twoKinds = `
workload: mixed
rate: 200
rounds: 4
round: 200ms
collections:
  - collection: posts
    partition: [id]
    fields: {id: string, title: string}
    data:
      count: 100
      fields: {id: {sequence: 1, pattern: "P%06d"}, title: {words: {min: 2, max: 4}}}
queries:
  - {name: a post, weight: 60, kind: get, misses: true}
  - {name: another title, weight: 9, kind: update, set: {title: $}, misses: true}
  - {name: new post, weight: 1, kind: insert}
  - {name: a visit, weight: 30, kind: journey, steps: [{query: a post}, {query: read again, chance: 0.5}]}
  - {name: read again, weight: 0, kind: get, misses: true}
`

// Another share of writes keeps the proportions of those that write, and of those that do not.
func TestWriteShare(t *testing.T) {
	w := mustParse(t, twoKinds)
	before, err := Run(t.Context(), w, options(memory.New(nil)))
	if err != nil || w.Writes != 10 {
		t.Fatalf("%v %% writes, %v", w.Writes, err)
	}
	w.Writes = 55
	r, err := Run(t.Context(), w, options(memory.New(nil)))
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for i, want := range []float64{30, 49.5, 5.5, 15, 0} {
		if q := r.Queries[i]; math.Abs(q.Weight-want) > 1e-9 {
			t.Errorf("%s: %v %%, want %v", q.Name, q.Weight, want)
		}
		if q := r.Candidates[0].Queries[i]; r.Queries[i].Writes {
			sent += int(q.Calls)
		}
	}
	if all := r.Rate * r.Rounds / 5; math.Abs(float64(sent)/float64(all)-0.55) > 0.1 {
		t.Errorf("%d of %d operations wrote", sent, all)
	}
	if list := report.Differences(before, r); !strings.Contains(strings.Join(list, "\n"), "another title (update 49.5 %)") {
		t.Errorf("differences %q", list)
	}
	w.fingerprint, before.Fingerprint = "print", "print"
	if list := w.Differences(before); !strings.Contains(strings.Join(list, "\n"), "print with 55 % writes") {
		t.Errorf("differences before the run: %q", list)
	}
	w.Writes = 10
	if list := w.Differences(before); len(list) > 0 {
		t.Errorf("the file's own share: %q", list)
	}
}

// A share that cannot be is an error.
func TestWriteShareThatCannotBe(t *testing.T) {
	reads := strings.NewReplacer("weight: 60", "weight: 70", "weight: 9,", "weight: 0,", "weight: 1,", "weight: 0,").Replace(twoKinds)
	writes := strings.NewReplacer("weight: 60", "weight: 0", "weight: 9,", "weight: 99,", "weight: 30", "weight: 0").Replace(twoKinds)
	for _, test := range []struct {
		file   string
		writes float64
		want   string
	}{
		{twoKinds, -1, "want 0 to 100"}, {twoKinds, 101, "want 0 to 100"}, {twoKinds, math.NaN(), "want 0 to 100"},
		{reads, 10, "no query that has a weight writes"}, {writes, 90, "all queries that have a weight write"},
	} {
		w := mustParse(t, test.file)
		w.Writes = test.writes
		if _, err := Run(t.Context(), w, options(memory.New(nil))); !errors.Is(err, driver.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v %%: %v, want %q", test.writes, err, test.want)
		}
	}
	for _, all := range []float64{0, 100} {
		w := mustParse(t, strings.ReplaceAll(strings.ReplaceAll(twoKinds, "misses: true", "misses: true, objectives: {p99: 10s}"), "insert", "insert, objectives: {p99: 10s}"))
		w.Writes = all
		s, err := w.settled()
		if err != nil || s.WriteShare() != all {
			t.Fatalf("%v %%: %v", all, err)
		}
		for _, q := range s.Queries { // read again is a step of a visit
			if asked := q.Kind != "journey" && q.Writes() == (all == 100); len(q.Objectives) > 0 != asked {
				t.Errorf("%v %%: %s has objectives %v", all, q.Name, q.Objectives)
			}
		}
	}
}
