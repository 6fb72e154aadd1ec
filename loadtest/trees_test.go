package loadtest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// Strategies are models: all of them answer alike, and what they cost follows from what they keep.
func TestTrees(t *testing.T) {
	s := newWatched()
	result, err := Run(t.Context(), mustParse(t, testload.Forest(t)), options(s))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	checkReport(t, result)
	if len(result.Candidates) != 6 || len(result.NotThere) != 0 || result.Compared < 300 {
		t.Fatalf("%d candidates, %d not there, %d calls compared", len(result.Candidates), len(result.NotThere), result.Compared)
	}
	requests, trips := map[string]map[string]float64{}, map[string]float64{} // by model and query; of ancestors
	for _, c := range result.Candidates {
		requests[c.Name] = map[string]float64{}
		for _, q := range c.Queries {
			if requests[c.Name][q.Name] = q.RequestsEach; q.Name == "way" {
				trips[c.Name] = q.TripsEach
			}
			if q.SampledCalls == 0 || 2*q.SampledNoEffect > q.SampledCalls {
				t.Errorf("%s: %s: %d of %d sampled calls did nothing", c.Name, q.Name, q.SampledNoEffect, q.SampledCalls)
			}
		}
		if c.Failures > 0 || c.RecordBytes <= 0 || (c.IndexBytes == 0) != (c.Name == "document") {
			t.Errorf("%s: %d failures (%s), %d bytes of records, %d of indexes", c.Name, c.Failures, c.Failure, c.RecordBytes, c.IndexBytes)
		}
	}
	path, adjacency, document := requests["path"], requests["adjacency"], requests["document"]
	if path["below"] >= adjacency["below"] || trips["path"] >= trips["adjacency"] || path["branch"] <= adjacency["branch"] || document["below"] >= path["below"] {
		t.Errorf("requests of a path %v, of adjacency %v, of a document %v; trips to ancestors %v", path, adjacency, document, trips)
	}
}

// A tree that is too large for a strategy is not there, and the others are measured.
func TestTreeThatAStrategyCannotKeep(t *testing.T) {
	text := testload.ForestOf(t, `{"suite":"one","path":"a","owner":"`+strings.Repeat("x", 600_000)+`"}
{"suite":"one","path":"b","folder":"a","owner":"`+strings.Repeat("x", 600_000)+`"}
`)
	text = text[:strings.Index(text, "queries:")] + `queries:
  - {name: way, weight: 100, kind: ancestors}
models:
  - {name: document, strategy: document}
  - {name: path, strategy: path}
`
	s := newWatched()
	result, err := Run(t.Context(), mustParse(t, text), options(s))
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	if len(result.NotThere) != 1 || !strings.Contains(result.NotThere[0].Reason, "files: a document of 2 nodes is too large; Convert the tree to another strategy") {
		t.Errorf("not there is %+v, want the document", result.NotThere)
	}
	if len(result.Candidates) != 1 || result.Candidates[0].Name != "path" {
		t.Errorf("candidates %+v, want the path", result.Candidates)
	}
	_, err = Run(t.Context(), mustParse(t, text[:strings.Index(text, "  - {name: path")]), options(newWatched()))
	if err == nil || !strings.Contains(err.Error(), "no store has any of the models; document: files: a document of 2 nodes is too large") {
		t.Errorf("with the document alone: %v, want that there is none", err)
	}
}

// A lone store changes one partition at a time.
type lone struct{ *watched }

func (s lone) Facts() driver.Facts {
	f := s.watched.Facts()
	f.Name, f.Scope = "lone", driver.ScopePartition
	return f
}

func TestSpreadTreesThatAStoreCannotKeep(t *testing.T) {
	other := newWatched()
	text := testload.Forest(t)
	text = text[:strings.Index(text, "queries:")] + "queries:\n  - {name: one, weight: 100, kind: get}\nmodels:\n  - {name: together}\n  - {name: spread, spread: true}\n"
	result, err := runWith(t, mustParse(t, text), newWatched(), lone{other}, func([]byte) {})
	if err != nil {
		t.Fatal(err)
	}
	other.check(t)
	want := []AbsentResult{{Name: "spread on lone", Model: "spread", Store: "other:",
		Reason: "files: lone changes one partition at a time, and a change of a Spread tree writes a node, its parent and the guard, which lie apart: not supported"}}
	if diff := cmp.Diff(want, result.NotThere); diff != "" || len(result.Candidates) != 3 {
		t.Errorf("%d candidates, want 3; not there (-want +got):\n%s", len(result.Candidates), diff)
	}
}

// A spoilt store changes what ranges of the second model's index yield.
type spoilt struct {
	*watched
	index string
	spoil func(rows []driver.Row) []driver.Row
}

func (s *spoilt) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	if !strings.Contains(span.Table.Name, "02_files") || !strings.Contains(span.Table.Name, s.index) {
		return s.watched.Range(ctx, span)
	}
	return func(yield func(*driver.Row, error) bool) {
		var rows []driver.Row
		for row, err := range s.watched.Range(ctx, span) {
			if err != nil {
				yield(nil, err)
				return
			}
			rows = append(rows, copied(row))
		}
		for _, row := range s.spoil(rows) {
			if !yield(&row, nil) {
				return
			}
		}
	}
}

// copied returns a row that stays when the range goes on.
func copied(row *driver.Row) driver.Row {
	out := *row
	out.Ring, out.Fields, out.Extra = slices.Clone(row.Ring), slices.Clone(row.Fields), slices.Clone(row.Extra)
	return out
}

func reversed(rows []driver.Row) (out []driver.Row) {
	for _, row := range rows {
		out = append([]driver.Row{row}, out...)
	}
	return out
}

func withoutOne(rows []driver.Row) []driver.Row {
	if len(rows) > 1 {
		return append(rows[:1:1], rows[2:]...)
	}
	return rows
}

// A strategy that answers otherwise than the others is found, whatever is wrong in its answers.
func TestWrongAnswersAboutTreesAreFound(t *testing.T) {
	forest := testload.Forest(t)
	for _, tt := range []struct {
		name, kind, strategy, index string
		spoil                       func([]driver.Row) []driver.Row
		want                        string
	}{
		{"children in another order", "children", "ancestors", "children", reversed, "they differ from node 1 on"},
		{"a child that is missing", "children", "ancestors", "children", withoutOne, "; only the first has "},
		{"a subtree in another order", "subtree", "adjacency", "children", reversed, "they differ from node "},
		{"a subtree that lacks a node", "subtree", "path", "paths", withoutOne, "; only the first has "},
		{"nothing wrong", "subtree", "path", "paths", func(rows []driver.Row) []driver.Row { return rows }, ""},
	} {
		text := forest[:strings.Index(forest, "queries:")] + "queries:\n  - {name: asked, weight: 100, kind: " + tt.kind + "}\nmodels:\n  - {name: right, strategy: nested_sets}\n  - {name: wrong, strategy: " + tt.strategy + "}\n"
		_, err := Run(t.Context(), mustParse(t, text), options(&spoilt{newWatched(), tt.index, tt.spoil}))
		var wrong *failure.WrongAnswers
		if tt.want == "" && err == nil {
			continue
		}
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "right and wrong: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want WrongAnswers with %q", tt.name, err, tt.want)
		}
	}
}

// What is in the trees after the writes is compared, too: here the parents of nodes, of which no query asks.
func TestWrongTreesAreFound(t *testing.T) {
	forest := testload.Forest(t)
	text := forest[:strings.Index(forest, "queries:")] + "queries:\n  - {name: one, weight: 100, kind: exists}\nmodels:\n  - {name: right, strategy: ancestors}\n  - {name: wrong}\n"
	_, err := Run(t.Context(), mustParse(t, text), options(&spoilt{newWatched(), "children", reversed}))
	var wrong *failure.WrongAnswers
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "collection files has 150 records in right, and 150 in wrong, and they are not all the same") {
		t.Errorf("got %v, want that siblings have another order", err)
	}
}

// Moves that would make a cycle, and deletions of nodes with children, are refused the same everywhere, and told.
func TestRefusedChangesOfTrees(t *testing.T) {
	text := testload.ForestOf(t, `{"suite":"one","path":"a"}
{"suite":"one","path":"b","folder":"a"}
{"suite":"one","path":"c","folder":"b"}
`)
	from, to := strings.Index(text, "queries:"), strings.Index(text, "models:")
	text = text[:from] + `queries:
  - {name: below, weight: 50, kind: transplant, below: {min: 1}}
  - {name: gone, weight: 50, kind: delete, below: {min: 1}}
` + text[to:]
	result, err := Run(t.Context(), mustParse(t, text), options(newWatched()))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range result.Candidates {
		for _, q := range c.Queries {
			if q.SampledNoEffect == 0 || c.Failures > 0 {
				t.Errorf("%s: %s: %d of %d sampled calls did nothing, outcomes %v, first failure %s", c.Name, q.Name, q.SampledNoEffect, q.SampledCalls, q.Outcomes, c.Failure)
			}
		}
		if c.Queries[0].Outcomes["refused"]+c.Queries[1].Outcomes["refused"] == 0 {
			t.Errorf("%s: outcomes %v and %v, want some refused", c.Name, c.Queries[0].Outcomes, c.Queries[1].Outcomes)
		}
	}
	for _, want := range []string{"below: ", " moved nothing", "gone: ", " changed nothing"} {
		if !strings.Contains(result.Text, want) {
			t.Errorf("the text has no %q:\n%s", want, result.Text)
		}
	}
}
