package ledger_test

import (
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/ledger"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

type record = map[string]any

var notes = &workload.Collection{Schema: repo.Schema{Collection: "notes", Partition: []string{"id"}}, Keys: [][]string{{"id"}}}

// A step is a call from one second to another.
type step struct {
	kind     string
	text     string // of a put
	from, to int
	outcome  operation.Outcome
}

func (s step) call() *operation.Call {
	q := &workload.Query{Name: s.kind + s.text, Kind: s.kind, Collection: notes}
	switch s.kind {
	case "insert", "put":
		return &operation.Call{Q: q, Record: record{"id": "a", "text": s.text, "tags": []any{}}}
	case "update":
		q.Add = []workload.Addition{{Field: "n", By: 1}}
	}
	return &operation.Call{Q: q, Key: repo.Key{"a"}}
}

func all(list ...record) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for _, rec := range list {
			if rec != nil && !yield(rec, nil) {
				return
			}
		}
	}
}

const (
	done   = operation.Done
	failed = operation.Failed
	cut    = operation.Unfinished
	taken  = operation.Absent + 1
)

// What some order of the calls has at its end is right, and nothing else is.
func TestLedger(t *testing.T) {
	has := func(text string) record { return record{"id": "a", "text": text} }
	insert, remove := step{"insert", "x", 1, 2, done}, step{"delete", "", 3, 4, done}
	add := step{"update", "", 1, 2, done}
	for _, tt := range []struct {
		name  string
		steps []step
		rec   record // afterwards, nil is none
		lost  int
	}{
		{"an insert", []step{insert}, has("x"), 0},
		{"an insert that is not there", []step{insert}, nil, 1},
		{"an insert with another text", []step{insert}, has("y"), 1},
		{"an insert that failed", []step{{"insert", "x", 1, 2, failed}}, nil, 0},
		{"an insert that failed and was done", []step{{"insert", "x", 1, 2, failed}}, has("x"), 0},
		{"an insert of what was there", []step{{"insert", "x", 1, 2, taken}}, has("y"), 0},
		{"a delete", []step{insert, remove}, nil, 0},
		{"a delete that was not done", []step{insert, remove}, has("x"), 1},
		{"a delete beside the insert", []step{insert, {"delete", "", 1, 4, done}}, has("x"), 0},
		{"a delete that was cut off", []step{insert, {"delete", "", 3, 9, cut}}, nil, 0},
		{"an insert after the delete", []step{insert, remove, {"insert", "z", 5, 6, done}}, nil, 1},
		{"the second of two puts", []step{{"put", "x", 1, 2, done}, {"put", "y", 3, 4, done}}, has("y"), 0},
		{"the first of two puts", []step{{"put", "x", 1, 2, done}, {"put", "y", 3, 4, done}}, has("x"), 1},
		{"either of two puts at a time", []step{{"put", "x", 1, 4, done}, {"put", "y", 3, 5, done}}, has("x"), 0},
		{"an earlier put that was late", []step{{"put", "x", 1, 2, failed}, {"put", "y", 3, 4, done}}, has("x"), 0},
		{"sums", []step{add, add}, record{"id": "a", "n": int64(7)}, 0},
		{"a sum that lacks one", []step{add, add}, record{"id": "a", "n": int64(6)}, 1},
		{"a sum that lacks an unknown one", []step{add, {"update", "", 1, 2, failed}}, record{"id": "a", "n": int64(6)}, 0},
		{"a sum with one twice", []step{add}, record{"id": "a", "n": int64(7)}, 1},
		{"a change of what is gone", []step{add}, nil, 1},
	} {
		var l ledger.Ledger
		for _, s := range tt.steps {
			l.Expect([]operation.Call{*s.call()})
		}
		if err := l.Before(notes, all(record{"id": "a", "n": int64(5)})); err != nil {
			t.Fatal(err)
		}
		for _, s := range tt.steps {
			l.Note(s.call(), time.Duration(s.from)*time.Second, time.Duration(s.to)*time.Second, s.outcome)
		}
		if err := l.After(notes, all(tt.rec)); err != nil {
			t.Fatal(err)
		}
		if l.Lost != tt.lost || (l.First != "") != (tt.lost > 0) || tt.lost > 0 && !strings.Contains(l.First, `acknowledged, and record "a" of notes`) {
			t.Errorf("%s: %d lost, want %d; %s", tt.name, l.Lost, tt.lost, l.First)
		}
	}
}

// An element that was pushed is there, if nothing can have displaced it.
func TestLedgerOfLists(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, strings.Replace(testload.Small, "add: {views: 1}", "push: {tags: {of: new, cap: 3}}", 1))
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := operation.NewStream(w, tables)
	if err != nil {
		t.Fatal(err)
	}
	k := &s.Only(5, 1, 0)[0]
	rec := record{"author": k.Key[0], "id": k.Key[1], "tags": []any{"x", "y", "z"}}
	for after, lost := range map[string]int{"y z new": 0, "x y z": 1, "y new z": 0, "x z new": 1, "new": 1} {
		var l ledger.Ledger
		l.Expect([]operation.Call{*k})
		if err := l.Before(w.Collections[0], all(rec)); err != nil {
			t.Fatal(err)
		}
		l.Note(k, time.Second, 2*time.Second, done)
		var list []any
		for _, el := range strings.Fields(after) {
			list = append(list, el)
		}
		if err := l.After(w.Collections[0], all(record{"author": k.Key[0], "id": k.Key[1], "tags": list})); err != nil || l.Lost != lost || l.Acknowledged != 1 {
			t.Errorf("%s: %d lost, want %d; %s, %v", after, l.Lost, lost, l.First, err)
		}
	}
}
