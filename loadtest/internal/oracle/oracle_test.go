package oracle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A double is a store that gives right answers, whose oracle is told others.
type double struct {
	*Oracle
	stream  *operation.Stream
	records []map[string]any
}

func newDouble(t *testing.T) *double {
	t.Helper()
	w := testload.Parsed(t, workload.Parse, testload.Small)
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &double{Oracle: New(Know(w, tables))}
	if d.stream, err = operation.NewStream(w, tables); err != nil {
		t.Fatal(err)
	}
	maker := data.NewMaker(w, w.Collections[0], tables)
	for i := range tables[0].Len {
		d.records = append(d.records, maker.Record(i))
	}
	return d
}

// call returns one of a query that reads posts of IT, or of one that writes.
func (d *double) call(name string) *operation.Call {
	at := slices.IndexFunc(d.known.w.Queries, func(q *workload.Query) bool { return q.Name == name })
	for k := range slices.Values(d.stream.Only(at, 30, len(d.records))) {
		toDaily := false
		for _, v := range k.Sets {
			toDaily = v == "Daily"
		}
		it := len(k.Conds) > 0 && k.Conds[0].Values[0] == "IT"
		if it || k.Record != nil || toDaily && d.records[d.at(&k)]["category"] == "IT" {
			return &k
		}
	}
	return nil
}

func (d *double) at(k *operation.Call) int {
	return slices.IndexFunc(d.records, func(rec map[string]any) bool { return rec["id"] == k.Key[1] })
}

// insert adds a post of IT that is the newest.
func (d *double) insert(o operation.Outcome) map[string]any {
	k := d.call("new post")
	k.Record["category"], k.Record["created"] = "IT", time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	d.Note(k, operation.Answer{}, o, time.Now())
	return k.Record
}

// move brings a post of IT, the newest one, to Daily.
func (d *double) move(o operation.Outcome) (key any) {
	k := d.call("other category")
	k.Key = []any{d.answer()[0]["author"], d.answer()[0]["id"]}
	d.Note(k, operation.Answer{}, o, time.Now())
	return k.Key[1]
}

// moveElsewhere is a move that another process makes.
func (d *double) moveElsewhere() (key any) {
	k := d.call("other category")
	k.Key = []any{d.answer()[0]["author"], d.answer()[0]["id"]}
	d.Elsewhere([]operation.Call{*k})
	return k.Key[1]
}

// answer returns all posts of IT, the newest first.
func (d *double) answer() (list []map[string]any) {
	for _, rec := range d.records {
		if rec["category"] == "IT" {
			list = append(list, maps.Clone(rec))
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return b["created"].(time.Time).Compare(a["created"].(time.Time)) })
	return list
}

func without(list []map[string]any, id any) []map[string]any {
	return slices.DeleteFunc(list, func(rec map[string]any) bool { return rec["id"] == id })
}

// answers are those of a store, with what is wrong with them.
var answers = []struct {
	name string
	do   func(d *double) []map[string]any // what is found, more than the limit
	want string
}{
	{"right", (*double).answer, ""},
	{"two change places", func(d *double) []map[string]any {
		list := d.answer()
		list[3], list[4] = list[4], list[3]
		return list
	}, "comes before"},
	{"one twice", func(d *double) []map[string]any { return slices.Insert(d.answer(), 2, d.answer()[1]) }, "is found twice"},
	{"one left out", func(d *double) []map[string]any { return slices.Delete(d.answer(), 2, 3) }, "is missing"},
	{"only two", func(d *double) []map[string]any { return d.answer()[:2] }, "is missing"},
	{"nothing", func(*double) []map[string]any { return nil }, "0 records found; there are at least 10"},
	{"another text", func(d *double) []map[string]any {
		list := d.answer()
		list[2]["tags"] = []any{"else"}
		return list
	}, "nothing writes that field"},
	{"of another category", func(d *double) []map[string]any {
		list := d.answer()
		list[2]["category"] = "Daily"
		return list
	}, "its category is"},
	{"inserted", func(d *double) []map[string]any { return slices.Insert(d.answer(), 0, d.insert(operation.Done)) }, ""},
	{"inserted and lost", func(d *double) []map[string]any { d.insert(operation.Done); return d.answer() }, "is missing; it was there"},
	{"inserted, nobody knows", func(d *double) []map[string]any { d.insert(operation.Failed); return d.answer() }, ""},
	{"inserted at the wrong place", func(d *double) []map[string]any { return slices.Insert(d.answer(), 4, d.insert(operation.Done)) }, "comes before"},
	{"inserted and doubled", func(d *double) []map[string]any {
		rec := d.insert(operation.Done)
		return slices.Insert(d.answer(), 0, rec, rec)
	}, "is found twice"},
	{"not inserted", func(d *double) []map[string]any {
		return slices.Insert(d.answer(), 0, d.call("new post").Record)
	}, "is found, and it"},
	{"moved away", func(d *double) []map[string]any { return without(d.answer(), d.move(operation.Done)) }, ""},
	{"moved away and found", func(d *double) []map[string]any { d.move(operation.Done); return d.answer() }, "what was written last is"},
	{"moved away by another process", func(d *double) []map[string]any { return without(d.answer(), d.moveElsewhere()) }, ""},
	{"not yet moved away by another process", func(d *double) []map[string]any { d.moveElsewhere(); return d.answer() }, ""},
	{"another one than a process moves is left out", func(d *double) []map[string]any {
		d.moveElsewhere()
		return slices.Delete(d.answer(), 2, 3)
	}, "is missing"},
	{"moved away, nobody knows", func(d *double) []map[string]any { d.move(operation.Unfinished); return d.answer() }, ""},
}

// Each answer that no order of the calls explains is named, and no other one.
func TestAnswers(t *testing.T) {
	for _, tt := range answers {
		for _, settled := range []bool{false, true} {
			d, k := newDouble(t), (*operation.Call)(nil)
			list := tt.do(d)
			if settled && !strings.Contains(tt.name, "lost") { // which is looked for in the round in which it was inserted
				if err := d.Settle("double"); err != nil {
					t.Fatal(err)
				}
			}
			k = d.call("of a category")
			list = list[:min(k.Limit, len(list))]
			d.Note(k, operation.Answer{N: len(list), Records: list}, operation.Done, time.Now())
			if err := d.Settle("double"); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
			}
		}
	}
}

// More than the limit of a query is not found.
func TestTooManyAnswers(t *testing.T) {
	d := newDouble(t)
	k := d.call("of a category")
	list := d.answer()[:k.Limit+1]
	d.Note(k, operation.Answer{N: len(list), Records: list}, operation.Done, time.Now())
	if err := d.Settle("double"); err == nil || !strings.Contains(err.Error(), "where 10 are the most") {
		t.Error(err)
	}
}

// However long a run is, no more than so many records are kept that were written. Nothing is said of those that were
// forgotten, until they are written again.
func TestNotesAreBounded(t *testing.T) {
	d := newDouble(t)
	move := d.call("other category")
	d.Note(move, operation.Answer{}, operation.Done, time.Now())
	insert := d.call("new post")
	for i := range limit.CheckedWritten + 1 {
		if i%(limit.CheckedWritten/2) == 0 {
			if err := d.Settle("double"); err != nil {
				t.Fatal(err)
			}
		}
		k := *insert
		k.Record = maps.Clone(insert.Record)
		k.Record["id"] = fmt.Sprint("N", i)
		d.Note(&k, operation.Answer{}, operation.Done, time.Now())
	}
	if err := d.Settle("double"); err != nil {
		t.Fatal(err)
	}
	w := &d.of[0]
	if len(w.records) > limit.CheckedWritten || len(w.touched) > 0 || len(d.events) > 0 || !w.others || !w.forgotten[d.at(move)] {
		t.Fatalf("%d records, %d touched, %d events are kept", len(w.records), len(w.touched), len(d.events))
	}
	get := d.stream.Only(0, 1, 0)[0]
	get.Key = move.Key
	rec := maps.Clone(d.records[d.at(move)])
	read := func(category string, right bool) {
		t.Helper()
		rec["category"] = category
		d.Note(&get, operation.Answer{N: 1, Records: []map[string]any{rec}}, operation.Done, time.Now())
		if err := d.Settle("double"); (err == nil) != right {
			t.Errorf("%s: %v", category, err)
		}
	}
	read("IT", true) // once it was so
	d.Note(move, operation.Answer{}, operation.Done, time.Now())
	read("Daily", true)
	read("IT", false)
}
