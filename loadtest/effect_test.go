package loadtest

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo/driver"
)

const useful = `workload: useful
rate: 250
rounds: 4
round: 1s
collections:
  - collection: posts
    partition: [id]
    fields: {id: string, author: string, views: int}
    indexes:
      - {partition: [author]}
      - {partition: [author], sort: [views]}
    data:
      count: 100
      fields: {id: {sequence: 1, pattern: "P%04d"}, author: {choice: [ann, bob]}, views: {value: 1}}
queries:
  - {name: of an author, weight: 50, kind: find, where: {author: $}, limit: 3}
  - {name: new post, weight: 50, kind: insert}
`

// Operations that do nothing are told, and where that is the rule there is no verdict, unless
// the file says that it is meant.
func TestOperationsThatDoNothing(t *testing.T) {
	deletes := "{name: gone, weight: 50, kind: delete}"
	for name, tt := range map[string]struct {
		old, new string
		exit     int
		wants    []string
	}{
		"useful": {"", "", Met, []string{"It carries 250/s"}},
		"a find that never finds": {"where: {author: $}", "where: {author: nobody}", Invalid,
			[]string{"no effect of an author: ", "No verdict: what was measured is not what was meant. of an author: ", " calls found nothing; of an author: ask for values of the data ($); or say misses: true in the query if that is meant."}},
		"a rare one": {"{name: of an author, weight: 50, kind: find, where: {author: $}, limit: 3}\n  - {name: new post, weight: 50,", "{name: of an author, weight: 0.2, kind: find, where: {author: nobody}}\n  - {name: new post, weight: 99.8,", Invalid,
			[]string{"No verdict: what was measured is not what was meant. of an author: ", " calls found nothing; of an author: ask for values of the data ($)"}},
		"meant":                  {"where: {author: $}", "where: {author: nobody}, misses: true", Met, []string{"no effect of an author: ", "It carries 250/s"}},
		"inserts of what exists": {"kind: insert", `kind: insert, set: {id: {sequence: 1, pattern: "P%01d"}, author: {value: ann}}`, Met, nil},
		"inserts of one record": {"kind: insert", "kind: insert, set: {id: {value: P0001}}", Invalid,
			[]string{"calls inserted nothing, as the record exists already; new post: give each new record a key of its own (set: {id: {sequence: 1}}, with a pattern that the data do not have)"}},
		"deletes of what is gone": {"{name: new post, weight: 50, kind: insert}", deletes, Invalid,
			[]string{"No verdict: what was measured is not what was meant. gone: ", "calls changed nothing; gone: take more records, or fewer deletes"}},
		"moves to one place": {"kind: insert", "kind: move, set: {author: ann}", Invalid,
			[]string{"No verdict: what was measured is not what was meant. new post: ", "calls moved nothing; new post: set what the record does not have already"}},
		"moves to and fro":    {"kind: insert", "kind: move, set: {author: $}", Met, []string{"no effect new post: ", "calls moved nothing"}},
		"moves to new places": {"kind: insert", "kind: move, add: {views: 1}", Met, nil},
	} {
		text := strings.Replace(useful, tt.old, tt.new, 1)
		result := simulate(t, text, &remote{Store: memory.New(nil)}, func(string) {})
		words := strings.Join(strings.Fields(result.Text), " ")
		for _, want := range tt.wants {
			if !strings.Contains(words, want) {
				t.Errorf("%s: the text has no %q:\n%s", name, want, result.Text)
			}
		}
		if result.Exit != tt.exit || strings.Contains(words, "no effect") != (result.Candidates[0].Queries[0].NoEffect+result.Candidates[0].Queries[1].NoEffect > 0) {
			t.Errorf("%s: exit %d, want %d:\n%s", name, result.Exit, tt.exit, result.Text)
		}
		if (tt.exit == Invalid) != (result.Verdicts[0].Unknown != "") {
			t.Errorf("%s: the result says %q", name, result.Verdicts[0].Unknown)
		}
	}
}

const dawdles = 50 * time.Millisecond

// A dawdler takes long for each scan.
type dawdler struct{ *remote }

func (s *dawdler) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	time.Sleep(dawdles)
	return s.remote.Walk(ctx, t, mark)
}

// The number of calls on which candidates agree is that of the one that was sent the fewest,
// wherever it stands.
func TestAgreedCallsAreTheFewest(t *testing.T) {
	for _, order := range [][]string{{"index", "scan"}, {"scan", "index"}, {"scan"}} {
		text := useful + "models:\n"
		for _, name := range order {
			text += map[string]string{"index": "  - name: index\n", "scan": "  - {name: scan, indexes: [], scan: true}\n"}[name]
		}
		text = strings.Replace(text, "{author: $}, limit: 3", "{author: $}", 1)
		result := simulate(t, text, &dawdler{&remote{Store: memory.New(nil)}}, func(string) {})
		// There is time for so many scans, before the writes and after them, when the first of 30 is done.
		scans := int(limit.SampleTime/dawdles) + 1
		if want := scans + limit.SampledWrites + scans; result.Compared != want {
			t.Errorf("%v agree on %d calls, want %d", order, result.Compared, want)
		}
	}
}
