package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
)

// groups are those that a call finds, as far as it is known what was there during the call.
type groups struct {
	o      *Oracle
	e      *event
	t      *generate.Table
	fields []string // that decide whether a record is in a group, and in which
	of     map[string]*group
	unsure int // records that may be in any group
}

// A group has records that are there during a call.
type group struct {
	key   []any
	least int // records that are in it
	most  int // those that an index may not have, too
	sums  []any
	first func(string) any // the first of its records by the order of the call
}

// wrongGroups says what is wrong with the groups of an answer, their numbers, sums and first records. It is false where
// the looks at records would take too long.
func (o *Oracle) wrongGroups(e *event) (complete bool, text string) {
	c, q := e.k.Q.Collection, e.k.Q
	g := &groups{o: o, e: e, t: o.known.tables[c.At], of: map[string]*group{}}
	g.fields = append(append(q.Compared(), q.By...), q.Sum...)
	for i, f := range g.fields {
		g.fields[i] = strings.TrimSuffix(f, "[]")
	}
	if q.Kind == "firsts" && slices.ContainsFunc(q.By, func(f string) bool { return strings.HasSuffix(f, "[]") }) {
		return false, "" // a record does not say of which of its elements it is the first
	}
	w := &o.of[c.At]
	if o.looks -= g.t.Len; o.looks < 0 || !w.remembered() || len(w.records) > o.again {
		return false, ""
	}
	o.again -= len(w.records)
	for i := range g.t.Len {
		if number := int32(i); o.still(c, w.records[o.known.keys[c.At][i]], number, g.fields) {
			g.add(func(f string) any { return g.t.Column(f)[number] })
		}
	}
	for _, rec := range w.records {
		g.written(rec)
	}
	if q.Kind == "distinct" {
		return true, g.wrongNumber()
	}
	return true, g.wrong()
}

// written adds a record that was written, if it is known what it was during the call.
func (g *groups) written(rec *record) {
	c := g.e.k.Q.Collection
	if rec.number >= 0 && g.o.still(c, rec, rec.number, g.fields) {
		return // it was added
	}
	there, ok := g.o.during(c, rec, rec.number, "", g.e)
	if ok && there != true {
		return
	}
	at := func(f string) any {
		v, sure := g.o.during(c, rec, rec.number, f, g.e)
		ok = ok && sure
		return v
	}
	for _, f := range g.fields {
		at(f)
	}
	if !ok {
		g.unsure++
		return
	}
	g.add(at)
}

// add adds a record to its groups, if the call is for it.
func (g *groups) add(at func(string) any) {
	q := g.e.k.Q
	for i := range g.e.k.Conds {
		if !g.e.k.Conds[i].Holds(at) {
			return
		}
	}
	indexed := !slices.ContainsFunc(q.Compared(), func(f string) bool { return value.IsEmpty(at(f)) })
	for _, key := range keysOf(q.By, at) {
		id := value.IdentityOf(key)
		one := g.of[id]
		if one == nil {
			one = &group{key: key, sums: make([]any, len(q.Sum))}
			g.of[id] = one
		}
		if one.most++; indexed {
			one.least++
			one.begin(g.e.k, at)
		}
		for i, f := range q.Sum {
			one.sums[i] = plus(one.sums[i], at(f))
		}
	}
}

// begin makes a record the first of its group, if it comes before the others.
func (one *group) begin(k *operation.Call, at func(string) any) {
	if one.first != nil {
		if by, ok := order(k, at, one.first); !ok || by >= 0 {
			return
		}
	}
	one.first = at
}

// plus returns the sum of two numbers. What is absent adds nothing.
func plus(a, b any) any {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return x + y
		}
	case nil:
		return b
	}
	return a
}

// keysOf returns the groups that a record is in: one, or one for each different element.
func keysOf(by []string, at func(string) any) (keys [][]any) {
	keys = [][]any{nil}
	for _, f := range by {
		bare, elements := strings.CutSuffix(f, "[]")
		values := []any{at(bare)}
		if elements {
			values, _ = at(bare).([]any)
		}
		var longer [][]any
		seen := map[string]bool{}
		for _, v := range values {
			if id := value.IdentityOf([]any{v}); v != nil && !seen[id] {
				seen[id] = true
				for _, key := range keys {
					longer = append(longer, append(slices.Clone(key), v))
				}
			}
		}
		keys = longer
	}
	return keys
}

// wrongNumber says what is wrong with the number of groups.
func (g *groups) wrongNumber() string {
	least := 0
	for _, one := range g.of {
		if one.least > 0 {
			least++
		}
	}
	most := len(g.of)
	if n := g.e.k.Limit; n > 0 {
		least, most = min(least, n), min(most, n)
	}
	switch n := g.e.a.N; {
	case n < least:
		return fmt.Sprintf("%s found; there are at least %s", format.Plural(n, "group"), format.Count(least))
	case n > most && g.unsure == 0:
		return fmt.Sprintf("%s found; there are at most %s", format.Plural(n, "group"), format.Count(most))
	}
	return ""
}

// wrong says which group of an answer is wrong, or missing.
func (g *groups) wrong() string {
	q := g.e.k.Q
	found := map[string]bool{}
	for _, rec := range g.e.a.Records {
		key := g.keyOf(rec)
		id := value.IdentityOf(key)
		if found[id] && g.unsure == 0 {
			return fmt.Sprintf("group %s is found twice", shown(key...))
		}
		found[id] = true
		one := g.of[id]
		if one == nil {
			one = &group{key: key, sums: make([]any, len(q.Sum))}
		}
		text := ""
		if q.Kind == "groups" {
			text = g.wrongGroup(one, rec)
		} else {
			text = g.wrongFirst(one, rec)
		}
		if text != "" {
			return text
		}
	}
	if n := g.e.k.Limit; n > 0 && len(g.e.a.Records) >= n {
		return "" // others may have had no place
	}
	for id, one := range g.of {
		if one.least > 0 && !found[id] {
			return fmt.Sprintf("group %s is missing; it had %s during the call", shown(one.key...), format.Plural(one.least, "record"))
		}
	}
	return ""
}

// keyOf returns the group of a record that was found.
func (g *groups) keyOf(rec map[string]any) (key []any) {
	for _, f := range g.e.k.Q.By {
		key = append(key, rec[f])
	}
	return key
}

// wrongGroup says what is wrong with the number and the sums of a group.
func (g *groups) wrongGroup(one *group, got map[string]any) string {
	n, _ := got[operation.Members].(int64)
	switch {
	case int(n) < one.least:
		return fmt.Sprintf("group %s has %s; there are at least %s", shown(one.key...), format.Plural(int(n), "record"), format.Count(one.least))
	case int(n) > one.most+g.unsure:
		return fmt.Sprintf("group %s has %s; there are at most %s", shown(one.key...), format.Plural(int(n), "record"), format.Count(one.most+g.unsure))
	case g.unsure > 0 || one.least < one.most:
		return "" // the sums may be others
	}
	for i, f := range g.e.k.Q.Sum {
		want, whole := one.sums[i].(int64)
		if have, ok := got[operation.Total+f].(int64); (whole || one.sums[i] == nil) && ok && have != want {
			return fmt.Sprintf("group %s has a sum of %s of %d; it is %d", shown(one.key...), f, have, want)
		}
	}
	return ""
}

// wrongFirst says what is wrong with the first record of a group.
func (g *groups) wrongFirst(one *group, got map[string]any) string {
	c := g.e.k.Q.Collection
	if one.first == nil || !g.o.quiet(c, keyOf(c, got), g.e) {
		return ""
	}
	if by, ok := order(g.e.k, one.first, of(got)); ok && by < 0 {
		first := map[string]any{}
		for _, f := range c.Key() {
			first[f] = one.first(f)
		}
		return fmt.Sprintf("%s is found as the first of its group; %s comes before it", value.Key(got, c.Key()), value.Key(first, c.Key()))
	}
	return ""
}
