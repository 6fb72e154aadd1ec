package operation

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/random"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A Trace gives the operations of the rounds as they came once. They are read when they are due, and not kept.
type Trace struct {
	s       *Stream
	known   []map[uint64]int32 // by collection and the hash of a key: the record, -1 where an operation inserts it
	removed []map[uint64]bool  // in the same way: an operation removes it
	round   time.Duration      // of a round, in the time of the trace
	from    time.Duration      // when the next round begins
	next    func() (data.Line, error, bool)
	stop    func()
	pending *data.Line
	lines   int
	lasts   time.Duration
	shares  []int // by query: operations in the rounds
}

// A traced is the line of which an operation is made.
type traced struct {
	data.Line
	record int // in the data, -1 if it is none of them
}

// Trace reads the trace of the workload once, with all its faults, and returns what sends it. It sets the length of the
// rounds, the rate and the weights of the queries, which follow from the trace.
func (s *Stream) Trace(ctx context.Context) (*Trace, error) {
	t := &Trace{s: s}
	for _, c := range s.w.Collections {
		known, key := map[uint64]int32{}, make([]any, len(c.Key()))
		for i := range s.Data[c.At].Len {
			for j, f := range c.Key() {
				key[j] = s.Data[c.At].Column(f)[i]
			}
			known[value.Hash(value.IdentityOf(key))] = int32(i)
		}
		t.known, t.removed = append(t.known, known), append(t.removed, map[uint64]bool{})
	}
	var faults failure.Faults
	for l, err := range data.Operations(ctx, s.w) {
		if err != nil {
			return nil, err
		}
		t.lines, t.lasts = t.lines+1, l.At
		if text := t.wrong(&l); text != "" {
			if faults = append(faults, l.Fault(s.w, "%s", text)); len(faults) >= limit.MaxFaults {
				break
			}
		}
	}
	if t.lines == 0 && len(faults) == 0 {
		return nil, t.fault("there is no operation in it")
	}
	if err := failure.AsError(faults); err != nil {
		return nil, err
	}
	if err := t.settle(ctx); err != nil {
		return nil, err
	}
	t.next, t.stop = iter.Pull2(data.Operations(ctx, s.w))
	return t, nil
}

// wrong says why an operation cannot be sent.
func (t *Trace) wrong(l *data.Line) string {
	q := t.s.w.Queries[l.Query]
	c := q.Collection
	switch {
	case q.Kind == "journey":
		return fmt.Sprintf("query %s is a journey; a trace names its steps", q.Name)
	case c.Tree != nil:
		return fmt.Sprintf("query %s is of a tree, which no trace can have", q.Name)
	}
	h, whole := t.key(l)
	i, there := t.known[c.At][h]
	if q.Kind == "insert" || q.Kind == "put" {
		if text := t.orphan(l, c); text != "" {
			return fmt.Sprintf("query %s %s", q.Name, text)
		}
	}
	switch q.Kind {
	case "insert":
		if whole && !there {
			t.known[c.At][h] = -1
		}
		return ""
	case "get", "exists", "put", "update", "modify", "move", "group", "renew", "delete":
		text := t.wrongKey(q, l, whole, there, i)
		if text == "" && there && i >= 0 && !t.removed[c.At][h] {
			text = t.otherKey(c, l, int(i))
		}
		if q.Kind == "delete" {
			t.removed[c.At][h] = true // what comes under its key later is another record
		}
		return text
	}
	for _, f := range drawn(q) {
		v := l.Fields[f]
		if list, ok := v.([]any); ok && len(list) == 0 {
			v = nil
		}
		if v == nil && (!whole || !there || i < 0 || t.s.Data[c.At].Column(f)[i] == nil) {
			return fmt.Sprintf("query %s takes %s, which the operation does not have", q.Name, f)
		}
	}
	return ""
}

// orphan says why a record cannot be written in a model that embeds it: it names a parent that is not there, or not all
// of its key.
func (t *Trace) orphan(l *data.Line, c *workload.Collection) string {
	for _, m := range t.s.w.Models {
		host := m.Hosts[c.At]
		if host == nil {
			continue
		}
		partition, key, named := m.Schemas[c.At].Partition, []any(nil), 0
		for _, f := range partition {
			if key = append(key, l.Fields[f]); l.Fields[f] != nil {
				named++
			}
		}
		_, there := t.known[host.At][value.Hash(value.IdentityOf(key))]
		switch in := host.Schema.Collection; {
		case named == 0: // it has the parent of the record that is drawn
		case named < len(partition):
			return fmt.Sprintf("names a part of a parent, of which model %s wants all (%s) or nothing", m.Name, strings.Join(partition, ", "))
		case m.KeyAt[host.At] != 0:
			return fmt.Sprintf("names a parent by another key than %s is declared with, so that nothing tells whether it is there; leave out model %s", in, m.Name)
		case !there:
			return fmt.Sprintf("names a parent that is not in %s, and nothing above inserts it, so that model %s cannot embed it", in, m.Name)
		}
	}
	return ""
}

// wrongKey says why an operation on one record cannot be sent.
func (t *Trace) wrongKey(q *workload.Query, l *data.Line, whole, there bool, i int32) string {
	c := q.Collection
	if !whole {
		return fmt.Sprintf("query %s is for one record, and the operation has not its whole key (%s)", q.Name, strings.Join(c.Key(), ", "))
	}
	if !there && !q.Misses {
		return fmt.Sprintf("query %s is for %s, which is not in the data, and nothing above inserts it; records that are not there are for a query with misses: true", q.Name, value.Key(l.Fields, c.Key()))
	}
	if there && i >= 0 {
		if d := t.s.drawers[l.Query]; d.lies != nil && len(d.partitions[d.lies[i]]) < q.Records {
			return fmt.Sprintf("query %s changes %d records, and there are not so many in the partition", q.Name, q.Records)
		}
		return ""
	}
	if q.Kind == "group" {
		return fmt.Sprintf("query %s is for others, too, that lie with a record of the data, and %s is none", q.Name, value.Key(l.Fields, c.Key()))
	}
	for _, names := range c.Keys {
		for _, f := range names {
			if l.Fields[f] == nil {
				return fmt.Sprintf("query %s is for a record that is not in the data, and the operation has no %s, which is in its key in a model", q.Name, f)
			}
		}
	}
	return ""
}

// otherKey says which field of an operation is in a model's key of the i-th record of the data, with another value than it
// has there, "" if none is.
func (t *Trace) otherKey(c *workload.Collection, l *data.Line, i int) string {
	for _, names := range c.Keys {
		for _, f := range names {
			if v := l.Fields[f]; v != nil && !value.Same(v, t.s.Data[c.At].Column(f)[i]) {
				return fmt.Sprintf("%s has another %s in the data, which is in its key in a model, and a key never changes; leave the field out", value.Key(l.Fields, c.Key()), f)
			}
		}
	}
	return ""
}

// key returns the hash of an operation's key, and whether it has one.
func (t *Trace) key(l *data.Line) (h uint64, whole bool) {
	var key []any
	for _, f := range t.s.w.Queries[l.Query].Collection.Key() {
		if l.Fields[f] == nil {
			return 0, false
		}
		key = append(key, l.Fields[f])
	}
	return value.Hash(value.IdentityOf(key)), true
}

// settle finds how long the rounds are: as the workload says, or so that all of them have a part of the trace; and how
// many operations are in them.
func (t *Trace) settle(ctx context.Context) error {
	w := t.s.w
	parts := float64(w.Rounds) + 0.5 // the warm-up is half a round
	t.round = min(time.Duration(float64(w.Round)*w.Speed), time.Duration(float64(t.lasts)/parts)+1)
	if w.Round = time.Duration(float64(t.round) / w.Speed); w.Round < limit.MinRound {
		return t.fault("the trace lasts %v, which is %v at speed %v, too short for %s and a warm-up; a round lasts %v at least, so take fewer rounds, or less speed",
			t.lasts, time.Duration(float64(t.lasts)/w.Speed), w.Speed, format.Plural(w.Rounds, "round"), limit.MinRound)
	}
	counts := make([]int, w.Rounds+1)
	t.shares = make([]int, len(w.Queries))
	for l, err := range data.Operations(ctx, w) {
		if err != nil {
			return err
		}
		round := 0
		if l.At >= t.round/2 {
			round = 1 + int((l.At-t.round/2)/t.round)
		}
		if round > w.Rounds {
			break
		}
		counts[round]++
		t.shares[l.Query]++
	}
	total := 0
	for i, n := range counts {
		if total += n; n == 0 {
			return t.fault("nothing happens in the trace in %v of round %d; take longer rounds", t.round, i)
		}
		if n > limit.MaxRoundOps {
			return t.fault("%s operations of the trace are in round %d, which has %s at most; take shorter rounds", format.Count(n), i, format.Count(limit.MaxRoundOps))
		}
	}
	w.Rate = max(int(math.Round(float64(total)/(w.Round.Seconds()*parts))), 1)
	if w.Rate > limit.MaxRate {
		return t.fault("the trace has %s operations a second at speed %v; %s are the most", format.Count(w.Rate), w.Speed, format.Count(limit.MaxRate))
	}
	for i, n := range t.shares {
		w.Queries[i].Weight = 100 * float64(n) / float64(total)
	}
	return nil
}

// fault returns one of the trace as a whole.
func (t *Trace) fault(form string, args ...any) error {
	return failure.Faults{(&data.Line{}).Fault(t.s.w, form, args...)}
}

// String says what is sent of the trace.
func (t *Trace) String() string {
	sent := 0
	for _, n := range t.shares {
		sent += n
	}
	w := t.s.w
	text := fmt.Sprintf("%s of %s in %v", format.Count(sent), format.Plural(t.lines, "operation"), time.Duration(float64(t.round)*(float64(w.Rounds)+0.5)).Round(time.Millisecond))
	if w.Speed != 1 {
		text += fmt.Sprintf(", %v times as fast", w.Speed)
	}
	return text
}

// Round returns the operations of the next round, of which the first half as long one warms up, and when each is due.
// First is the number of the first insert.
func (t *Trace) Round(number, first int) (calls []Call, due []time.Duration, err error) {
	end := t.from + t.round
	if number == 0 {
		end = t.round / 2
	}
	s, name := t.s, "round "+format.Count(number)
	r, checked := random.New(s.w.Seed, name, 0), random.New(s.w.Seed, "checked of "+name, 0)
	for {
		if t.pending == nil {
			l, err, more := t.next()
			if err != nil || !more {
				return calls, due, err
			}
			t.pending = &l
		}
		if t.pending.At >= end {
			t.from = end
			return calls, due, nil
		}
		s.checks = checked.IntN(limit.CheckedShare) == 0
		calls = append(calls, t.call(r, t.pending, first+len(calls)))
		due = append(due, time.Duration(float64(t.pending.At-t.from)/s.w.Speed))
		t.pending = nil
	}
}

// call makes an operation of a line. What the line does not have is of the record that it names, or drawn.
func (t *Trace) call(r *rand.Rand, l *data.Line, number int) Call {
	s, c := t.s, t.s.w.Queries[l.Query].Collection
	s.line = &traced{*l, -1}
	defer func() { s.line = nil }()
	if h, whole := t.key(l); whole {
		if i, there := t.known[c.At][h]; there {
			s.line.record = int(i)
		}
	}
	return s.callFor(r, l.Query, number, s.line.record)
}

// Close ends the reading.
func (t *Trace) Close() { t.stop() }
