// Package ledger finds acknowledged writes that are not there. Calls with their times and outcomes come in, and the
// records afterwards; which acknowledged writes the records do not have goes out.
package ledger

import (
	"fmt"
	"iter"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A Ledger has the writes to each record. They went on side by side, so several states of a record can be right: all that
// some order of the calls has at its end, in which a call that ended before another one began comes first. A write
// whose outcome is not known may have been done or not, and at any time. The zero Ledger is empty.
type Ledger struct {
	Acknowledged int // writes
	Lost         int // acknowledged writes that are not there, at least
	First        string

	histories map[string]*history
	expected  map[string]map[string]any // by record: numbers and lists before the writes
}

// A history is the writes to one record.
type history struct {
	of    *workload.Collection
	name  string
	list  []entry
	seen  bool
	start map[string]any
}

type entry struct {
	operation.Write
	call         *operation.Call
	began, ended time.Duration
	acknowledged bool
}

// Expect notes which records calls are for, whose numbers and lists before the writes are then taken from Before.
func (l *Ledger) Expect(calls []operation.Call) {
	if l.expected == nil {
		l.expected = map[string]map[string]any{}
	}
	for i := range calls {
		for _, w := range calls[i].Writes() {
			if id, _ := identity(&w); len(w.Adds)+len(w.Pushes) > 0 {
				l.expected[id] = nil
			}
		}
	}
}

// Before takes what records of a collection have before the writes.
func (l *Ledger) Before(of *workload.Collection, records iter.Seq2[map[string]any, error]) error {
	if len(l.expected) == 0 {
		return nil
	}
	for rec, err := range records {
		if err != nil {
			return err
		}
		id := idOf(of, rec)
		if _, ok := l.expected[id]; !ok {
			continue
		}
		before := map[string]any{}
		for f, v := range rec {
			switch v.(type) {
			case int64, []any:
				before[f] = v
			}
		}
		l.expected[id] = before
	}
	return nil
}

// Note takes a call that was sent and its end, with times from any instant.
func (l *Ledger) Note(k *operation.Call, began, ended time.Duration, o operation.Outcome) {
	writes := k.Writes()
	if len(writes) == 0 {
		return
	}
	done := o == operation.Done
	if done {
		l.Acknowledged++
	}
	if l.histories == nil {
		l.histories = map[string]*history{}
	}
	for _, w := range writes {
		id, name := identity(&w)
		h := l.histories[id]
		if h == nil {
			h = &history{of: w.Collection, name: name, start: l.expected[id]}
			l.histories[id] = h
		}
		h.list = append(h.list, entry{w, k, began, ended, done})
	}
}

// identity returns what tells the record of a write from all others, and its key for people.
func identity(w *operation.Write) (id, name string) {
	rec := map[string]any{}
	for i, f := range w.Collection.Keys[0] {
		rec[f] = w.Key[i]
	}
	return idOf(w.Collection, rec), value.Key(rec, w.Collection.Keys[0])
}

func idOf(of *workload.Collection, rec map[string]any) string {
	return fmt.Sprint(of.At, " ") + value.Identity(rec, of.Key())
}

// After looks for the writes in all records of a collection.
func (l *Ledger) After(of *workload.Collection, records iter.Seq2[map[string]any, error]) error {
	for rec, err := range records {
		if err != nil {
			return err
		}
		if h := l.histories[idOf(of, rec)]; h != nil {
			h.seen = true
			l.count(h, h.check(rec))
		}
	}
	for _, h := range l.histories {
		if h.of == of && !h.seen {
			l.count(h, h.checkAbsent())
		}
	}
	return nil
}

// count adds writes that were lost. Of several records the first one by its key is told.
func (l *Ledger) count(h *history, lost *loss) {
	if lost == nil {
		return
	}
	l.Lost += lost.n
	text := fmt.Sprintf("%s was acknowledged, and record %s of %s %s", lost.call, h.name, h.of.Schema.Collection, lost.text)
	if l.First == "" || text < l.First {
		l.First = text
	}
}
