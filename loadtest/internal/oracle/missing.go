package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// far returns how far a place is from that of a call.
func far(k *operation.Call, place any) float64 {
	return generate.PointOf(k.Center).Distance(generate.PointOf(place))
}

// most returns how many records a call finds at most, 0 if all.
func (e *event) most() int {
	if e.k.Q.Kind == "one" {
		return 1
	}
	return e.k.Limit * max(e.k.Q.Pages, 1)
}

// quiet reports whether a record was there during a call, and whatever a query compares in it was the same all the time.
func (o *Oracle) quiet(c *workload.Collection, key []any, e *event) bool {
	rec, number := o.found(c, key)
	if there, ok := o.during(c, rec, number, "", e); !ok || there != true {
		return false
	}
	for _, f := range e.k.Q.Compared() {
		if rec == nil || rec.fields[f] == nil {
			continue // nothing writes it
		}
		if _, ok := rec.fields[f].only(e.begin, e.end); !ok {
			return false
		}
	}
	return true
}

// during returns the field of a record as it was all the time during a call. It is false where it was not, or where that
// is not known.
func (o *Oracle) during(c *workload.Collection, rec *record, number int32, field string, e *event) (any, bool) {
	switch {
	case rec != nil && rec.fields[field] != nil:
		return rec.fields[field].only(e.begin, e.end)
	case rec != nil && number < 0:
		return rec.made[field], rec.whole == 1
	}
	v := o.loaded(c, number, field)
	return v, v != any(unknown{})
}

// still reports whether fields of a record of the data, and that it is there, are as they were loaded.
func (o *Oracle) still(c *workload.Collection, rec *record, number int32, fields []string) bool {
	return o.loaded(c, number, "") == true && (rec == nil || rec.fields[""] == nil &&
		!slices.ContainsFunc(fields, func(f string) bool { return rec.fields[f] != nil }))
}

// order compares two records by the order of a call. It is false where that says nothing.
func order(k *operation.Call, a, b func(string) any) (int, bool) {
	if k.Q.At != "" {
		return cmp.Compare(far(k, a(k.Q.At)), far(k, b(k.Q.At))), true
	}
	for _, f := range k.Q.Order {
		bare, down := strings.CutPrefix(f, "-")
		by, ok := value.Compare(a(bare), b(bare))
		switch {
		case !ok:
			return 0, false
		case by != 0 && down:
			return -by, true
		case by != 0:
			return by, true
		}
	}
	return 0, true
}

func of(rec map[string]any) func(string) any { return func(f string) any { return rec[f] } }

// wrongOrder says which records of an answer are not in order.
func (o *Oracle) wrongOrder(e *event) string {
	c := e.k.Q.Collection
	for i := 1; i < len(e.a.Records); i++ {
		a, b := e.a.Records[i-1], e.a.Records[i]
		by, ok := order(e.k, of(a), of(b))
		if q := e.k.Q; q.At != "" && far(e.k, a[q.At])-far(e.k, b[q.At]) < nearly {
			continue
		}
		if ok && by > 0 && o.quiet(c, keyOf(c, a), e) && o.quiet(c, keyOf(c, b), e) {
			return fmt.Sprintf("%s comes before %s, and it does not by %s", value.Key(a, c.Key()), value.Key(b, c.Key()), strings.Join(e.k.Q.Order, ", "))
		}
	}
	return ""
}

// missing says which record an answer must have and has not: one of the data that nothing has written, or one that was
// written since the last time that all was settled. It is false where the first would take too long.
func (o *Oracle) missing(e *event) (complete bool, text string) {
	c := e.k.Q.Collection
	t, fields := o.known.tables[c.At], e.k.Q.Compared()
	list, all := o.known.among(c, e.k.Conds)
	n := len(list)
	if all {
		n = t.Len
	}
	if o.looks -= n; o.looks < 0 {
		return false, ""
	}
	l := look{o: o, e: e, t: t, fields: fields, found: map[string]bool{}}
	l.full = e.most() > 0 && e.a.N >= e.most()
	for _, rec := range e.a.Records {
		if l.found[value.Identity(rec, c.Key())] = true; l.full && o.quiet(c, keyOf(c, rec), e) {
			l.last = of(rec)
		}
	}
	for i := range n {
		number := int32(i)
		if !all {
			number = list[i]
		}
		if text := l.at(number); text != "" {
			return true, text
		}
	}
	text, unsure := l.written()
	if text != "" {
		return true, text
	}
	least, most := l.must, l.may+unsure
	if e.most() > 0 {
		least, most = min(least, e.most()), min(most, e.most())
	}
	if e.a.N < least {
		return true, fmt.Sprintf("%s found; there are at least %s", format.Plural(e.a.N, "record"), format.Count(least))
	}
	if e.a.N > most {
		return true, fmt.Sprintf("%s found; there are at most %s", format.Plural(e.a.N, "record"), format.Count(most))
	}
	return true, ""
}

// A look is one at the records that an answer should have.
type look struct {
	o         *Oracle
	e         *event
	t         *generate.Table
	fields    []string
	found     map[string]bool  // keys
	full      bool             // so that others may have had no place
	last      func(string) any // of the last record that was found and that nothing has moved, nil if there is none
	must, may int              // how many records belong there
}

// at looks at a record of the data, and says whether it is missing.
func (l *look) at(number int32) string {
	c := l.e.k.Q.Collection
	if !l.o.still(c, l.o.of[c.At].records[l.o.known.keys[c.At][number]], number, l.fields) {
		return ""
	}
	return l.look(func(f string) any { return l.t.Column(f)[number] }, &l.may)
}

// written looks at the records that were written since the last time that all was settled, as far as there is time, and
// says which one is missing. Unsure is how many others may be in the answer that are not as they were loaded. Where no
// records were sent that could be looked at, all that were ever written are.
func (l *look) written() (text string, unsure int) {
	w := &l.o.of[l.e.k.Q.Collection.At]
	if len(l.e.a.Records) == 0 && w.remembered() && len(w.records) <= l.o.again {
		l.o.again -= len(w.records)
		for _, rec := range w.records {
			text, sure := l.wrote(rec, &l.may)
			if text != "" {
				return text, 0
			}
			if !sure {
				unsure++
			}
		}
		return "", unsure
	}
	if len(w.touched) <= l.o.again {
		l.o.again -= len(w.touched)
		for _, rec := range w.touched {
			if text, _ := l.wrote(rec, new(int)); text != "" {
				return text, 0
			}
		}
	}
	return "", l.others()
}

// wrote looks at a record that was written, and says whether it is missing. Sure is whether it is known what was there
// during the call, so that it was counted if it may be in the answer.
func (l *look) wrote(rec *record, may *int) (text string, sure bool) {
	c := l.e.k.Q.Collection
	if rec.number >= 0 && l.o.still(c, rec, rec.number, l.fields) {
		return "", true // it was looked at
	}
	there, ok := l.o.during(c, rec, rec.number, "", l.e)
	if !ok || there != true {
		return "", ok
	}
	for _, f := range append(c.Key(), l.fields...) {
		if _, ok := l.o.during(c, rec, rec.number, f, l.e); !ok {
			return "", false
		}
	}
	return l.look(func(f string) any {
		v, _ := l.o.during(c, rec, rec.number, f, l.e)
		return v
	}, may), true
}

// look says whether a record is missing that was the same all the time. If it may be in the answer it is counted.
func (l *look) look(at func(string) any, may *int) string {
	c := l.e.k.Q.Collection
	for i := range l.e.k.Conds {
		if !l.e.k.Conds[i].Holds(at) {
			return ""
		}
	}
	away := 0.0
	if q := l.e.k.Q; q.At != "" {
		if away = far(l.e.k, at(q.At)) - q.Radius; at(q.At) == nil || away > nearly {
			return ""
		}
	}
	*may++
	if away > -nearly && l.e.k.Q.At != "" || slices.ContainsFunc(l.fields, func(f string) bool { return value.IsEmpty(at(f)) }) {
		return "" // no index has it
	}
	l.must++
	if len(l.e.a.Records) == 0 || l.full && !l.before(at) {
		return ""
	}
	key := make([]any, len(c.Key()))
	rec := map[string]any{}
	for i, f := range c.Key() {
		key[i], rec[f] = at(f), at(f)
	}
	if l.found[value.IdentityOf(key)] {
		return ""
	}
	return fmt.Sprintf("%s is missing; it was there during the call, and what the query compares of it did not change", value.Key(rec, c.Key()))
}

// before reports whether a record comes before the last one of an answer.
func (l *look) before(at func(string) any) bool {
	if l.last == nil || len(l.e.k.Q.Order) == 0 && l.e.k.Q.At == "" {
		return false
	}
	if q := l.e.k.Q; q.At != "" && far(l.e.k, l.last(q.At))-far(l.e.k, at(q.At)) < nearly {
		return false
	}
	by, ok := order(l.e.k, at, l.last)
	return ok && by < 0
}

// others returns how many records may be in an answer that are not as they were loaded.
func (l *look) others() int {
	w := &l.o.of[l.e.k.Q.Collection.At]
	n := w.inserted + w.changed[""]
	for _, f := range l.fields {
		n += w.changed[f]
	}
	return n
}
