package oracle

import (
	"fmt"
	"sync"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// An Oracle checks the answers of one candidate. A nil one takes nothing.
type Oracle struct {
	known *Known
	began time.Time
	of    []written // by collection
	looks int       // that are left after this round
	again int       // as that, at records that were written
	Tally []Tally   // by query

	mu     sync.Mutex
	events []event // since the last time that all was settled
	kept   int     // records in them
}

// A Tally counts the answers of a query that were checked.
type Tally struct {
	Answers  int
	Complete int // of them, for records that are missing, too
}

// written has the records of a collection that were written.
type written struct {
	records  map[uint64]*record // by the hash of their keys
	inserted int                // records that are not of the data
	changed  map[string]int     // by field: of the data those in which it was written, "" is whether they are there

	touched []*record // since the last time that all was settled

	forgotten []bool // by number in the data: it was written, and nothing more is known; nil is none
	others    bool   // records that are not of the data were forgotten, too

	behind bool              // copies in them may be those of when they were written
	open   map[uint64][]span // then, by the hash of keys: when writes were under way
}

// remembered reports whether no record was forgotten that was written.
func (w *written) remembered() bool { return !w.others && w.forgotten == nil }

// A record was written since it was loaded.
type record struct {
	number int32                // in the data, -1 if it is not there
	fields map[string]*register // "" is whether it is there, "*" the sum of the fields that no query writes

	touched bool           // since the last time that all was settled
	whole   int            // writes of the whole record
	made    map[string]any // by the last one of them
}

// unknown is a value of which nothing is known.
type unknown struct{}

// An event is a write, or an answer that is checked.
type event struct {
	k          *operation.Call
	a          operation.Answer
	o          operation.Outcome
	begin, end int64
}

// New returns an oracle for a candidate that is loaded with what is known.
func New(known *Known) *Oracle {
	o := &Oracle{known: known, began: time.Now(), Tally: make([]Tally, len(known.w.Queries))}
	for range known.w.Collections {
		o.of = append(o.of, written{records: map[uint64]*record{}, changed: map[string]int{}})
	}
	return o
}

// Wants reports whether it is to be told of a call that is no journey.
func (o *Oracle) Wants(k *operation.Call) bool {
	return o != nil && (k.Q.Writes() || k.Checked && k.Q.Collection.Tree == nil)
}

// Note takes a call that has ended. Many may do so at once.
func (o *Oracle) Note(k *operation.Call, a operation.Answer, out operation.Outcome, began time.Time) {
	e := event{k, a, out, int64(began.Sub(o.began)), int64(time.Since(o.began))}
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(a.Records)
	for _, list := range a.Children {
		n += len(list)
	}
	if !k.Q.Writes() && o.kept+n > limit.CheckedRecords {
		return
	}
	o.kept += n
	o.events = append(o.events, e)
}

// Elsewhere takes calls that another process sends. Nobody here knows when, and how they end: what they write may have been
// done, at any time.
func (o *Oracle) Elsewhere(calls []operation.Call) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range calls {
		if k := &calls[i]; k.Q.Kind != "journey" && k.Q.Writes() {
			o.events = append(o.events, event{k: k, o: operation.Unfinished, begin: first, end: never})
		}
	}
}

// Settle checks what was answered since the last time. No call is under way then. Of is the name of the candidate.
func (o *Oracle) Settle(of string) error {
	if o == nil {
		return nil
	}
	events, now := o.events, int64(time.Since(o.began))
	o.events, o.kept, o.looks, o.again = nil, 0, limit.CheckedLooks, limit.CheckedLooks
	for i := range events {
		if e := &events[i]; e.k.Q.Writes() {
			o.wrote(e)
		}
	}
	for i := range events {
		if text := o.wrong(&events[i]); text != "" {
			e := &events[i]
			return &failure.WrongAnswers{Text: fmt.Sprintf("%s: %s: %s", e.k, of, text)}
		}
	}
	for i := range o.of {
		o.of[i].settle(now, o.known.tables[i].Len)
	}
	return nil
}

// record returns what is known of a record that is written, by its key.
func (o *Oracle) record(c *workload.Collection, key []any) *record {
	w, h := &o.of[c.At], value.Hash(value.IdentityOf(key))
	rec := w.records[h]
	if rec == nil {
		number, known := o.known.numbers[c.At][h]
		if !known {
			number = -1
			w.inserted++
		}
		rec = &record{number: number, fields: map[string]*register{}}
		w.records[h] = rec
	}
	if !rec.touched {
		rec.touched = true
		w.touched = append(w.touched, rec)
	}
	return rec
}

// register returns that of a field, with what it was loaded with.
func (o *Oracle) register(c *workload.Collection, rec *record, field string) *register {
	r := rec.fields[field]
	if r == nil {
		r = newRegister(o.loaded(c, rec.number, field))
		rec.fields[field] = r
		if rec.number >= 0 {
			o.of[c.At].changed[field]++
		}
	}
	return r
}

// loaded returns what a field of a record was loaded with.
func (o *Oracle) loaded(c *workload.Collection, number int32, field string) any {
	t, w := o.known.tables[c.At], &o.of[c.At]
	switch {
	case number < 0 && w.others, number >= 0 && w.forgotten != nil && w.forgotten[number]:
		return unknown{}
	case field == "":
		return number >= 0
	case number < 0:
		return nil
	case field == "*" && t.Sums == nil: // a node of a tree
		return unknown{}
	case field == "*":
		return t.Sums[number]
	}
	return parented(c, field, t.Column(field)[number])
}

// parented returns a value of a field as it is read: a root of a tree has no parent.
func parented(c *workload.Collection, field string, v any) any {
	if c.Tree != nil && field == c.Tree.Parent && v == "" {
		return nil
	}
	return v
}

// wrote notes a write.
func (o *Oracle) wrote(e *event) {
	q, c := e.k.Q, e.k.Q.Collection
	end, there := e.end, e.end
	switch {
	case e.o == operation.Failed || e.o == operation.Unfinished:
		end, there = never, never
	case e.o == operation.Done:
	case q.Kind == "insert" && o.known.unique[c.At]:
		end, there = never, never // an earlier attempt may have been it, or a value is taken
	case q.Kind == "insert":
		end = never // an earlier attempt may have been it; a record is there in any case
	default:
		return
	}
	o.did(e.k, e.begin, end, there)
}

// did notes what a write did, between two times; there is until when a record that it made came.
func (o *Oracle) did(k *operation.Call, begin, end, there int64) {
	c := k.Q.Collection
	o.under(k, begin, end)
	switch k.Q.Kind {
	case "insert", "put":
		rec := o.record(c, keyOf(c, k.Record))
		rec.whole, rec.made = rec.whole+1, k.Record
		o.register(c, rec, "").set(true, begin, there)
		o.register(c, rec, "*").set(value.Sum(k.Record, o.known.written[c.At]), begin, end)
		for f := range o.known.written[c.At] {
			o.register(c, rec, f).set(parented(c, f, k.Record[f]), begin, end)
		}
	case "delete":
		o.register(c, o.record(c, k.Key), "").set(false, begin, end)
	case "transplant":
		parent := c.Tree.Parent
		o.register(c, o.record(c, k.Key), parent).set(parented(c, parent, k.To), begin, end)
	case "group":
		for i := range k.Parts {
			o.did(&k.Parts[i], begin, end, there)
		}
	default:
		o.changed(k, begin, end)
	}
}

// changed notes the change of a record.
func (o *Oracle) changed(k *operation.Call, begin, end int64) {
	c := k.Q.Collection
	rec := o.record(c, k.Key)
	for f, v := range k.Sets {
		o.register(c, rec, f).set(v, begin, end)
	}
	if k.Q.Kind == "renew" {
		return
	}
	for _, a := range k.Q.Add {
		o.register(c, rec, a.Field).add(a.By, begin, end)
	}
	for to, v := range k.Pushes {
		o.register(c, rec, to.Field).push(to, v, begin, end)
	}
}
