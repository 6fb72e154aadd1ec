package oracle

import (
	"fmt"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// nearly is by how many metres two computations of a distance may differ.
const nearly = 0.01

// wrong says what is wrong with an answer, "" if nothing is.
func (o *Oracle) wrong(e *event) string {
	q := e.k.Q
	if q.Writes() {
		return o.wrongAbsence(e)
	}
	if e.o == operation.Failed || e.o == operation.Unfinished {
		return ""
	}
	tally := &o.Tally[e.k.At]
	complete, text := true, ""
	switch q.Kind {
	case "get", "exists":
		text = o.wrongKey(e)
	case "groups", "distinct":
		complete, text = o.wrongGroups(e)
	case "firsts":
		if text = o.wrongRecords(e); text == "" {
			complete, text = o.wrongGroups(e)
		}
	default:
		if text = o.wrongRecords(e); text == "" {
			text = o.wrongOrder(e)
		}
		if text == "" {
			complete, text = o.missing(e)
		}
	}
	if text == "" && len(q.Children) > 0 {
		var all bool
		all, text = o.wrongChildren(e)
		complete = complete && all
	}
	if tally.Answers++; complete {
		tally.Complete++
	}
	return text
}

// wrongAbsence says what is wrong with the answer to a write that there is no such record.
func (o *Oracle) wrongAbsence(e *event) string {
	keys := [][]any{e.k.Key}
	if e.k.Q.Kind == "group" {
		keys = nil
		for i := range e.k.Parts {
			keys = append(keys, e.k.Parts[i].Key)
		}
	}
	if e.o != operation.Absent || e.k.Q.Collection.Tree != nil { // of a node, it may be the parent that is not found
		return ""
	}
	if e.k.Record != nil {
		return "the record in which it is to be embedded is not found, and nothing removes that"
	}
	for _, key := range keys {
		if rec, number := o.found(e.k.Q.Collection, key); o.may(e.k.Q.Collection, rec, number, "", false, e) {
			return ""
		}
	}
	return "it is not found, and nothing has removed it"
}

// found returns the record of a key, as far as it was written, and its number in the data.
func (o *Oracle) found(c *workload.Collection, key []any) (rec *record, number int32) {
	h := value.Hash(value.IdentityOf(key))
	if rec = o.of[c.At].records[h]; rec != nil {
		return rec, rec.number
	}
	number, known := o.known.numbers[c.At][h]
	if !known {
		number = -1
	}
	return nil, number
}

// may reports whether a field may be read so.
func (o *Oracle) may(c *workload.Collection, rec *record, number int32, field string, v any, e *event) bool {
	if rec != nil && rec.fields[field] != nil {
		return rec.fields[field].allows(v, e.begin, e.end)
	}
	return same(o.loaded(c, number, field), v)
}

// wrongKey says what is wrong with what was found of a key.
func (o *Oracle) wrongKey(e *event) string {
	c := e.k.Q.Collection
	rec, number := o.found(c, e.k.Key)
	there := e.o == operation.Done && e.a.N > 0
	if !o.may(c, rec, number, "", there, e) {
		return [...]string{"it is not found, and nothing has removed it", "it is found, and it is not there"}[index(there)]
	}
	if !there || len(e.a.Records) == 0 {
		return ""
	}
	if value.IdentityOf(keyOf(c, e.a.Records[0])) != value.IdentityOf(e.k.Key) {
		return "another record is found: " + value.Key(e.a.Records[0], c.Key())
	}
	return o.wrongRecord(e, e.a.Records[0])
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

func keyOf(c *workload.Collection, rec map[string]any) []any {
	key := make([]any, len(c.Key()))
	for i, f := range c.Key() {
		key[i] = rec[f]
	}
	return key
}

// wrongRecord says what of a record was never written, or was written over.
func (o *Oracle) wrongRecord(e *event, got map[string]any) string {
	c := e.k.Q.Collection
	rec, number := o.found(c, keyOf(c, got))
	name := value.Key(got, c.Key())
	if !o.may(c, rec, number, "", true, e) {
		return fmt.Sprintf("%s is found, and it is not there", name)
	}
	for f := range o.known.written[c.At] {
		if o.may(c, rec, number, f, got[f], e) {
			continue
		}
		want := []any{o.loaded(c, number, f)}
		if rec != nil && rec.fields[f] != nil {
			if list := rec.fields[f].list; list != nil {
				elements, _ := got[f].([]any)
				return fmt.Sprintf("%s of %s is %s; %s", f, name, shown(got[f]), list.Wrong(elements, e.begin, e.end))
			}
			want = rec.fields[f].wants(e.begin, e.end)
		}
		return fmt.Sprintf("%s of %s is %s; what was written last is %s", f, name, shown(got[f]), shown(want...))
	}
	if c.Tree != nil || o.may(c, rec, number, "*", value.Sum(got, o.known.left[c.At]), e) {
		return o.wrongJoins(e, got)
	}
	if number >= 0 {
		for f, col := range o.known.tables[c.At].Columns {
			if !o.known.written[c.At][f] && !same(col[number], got[f]) {
				return fmt.Sprintf("%s of %s is %s; it was loaded with %s, and nothing writes that field", f, name, shown(got[f]), shown(col[number]))
			}
		}
	}
	return fmt.Sprintf("%s has not the fields that it was written with: it has %s", name, value.Quote(value.Canonical(got)))
}

// shown returns values for people.
func shown(values ...any) string {
	var list []string
	for _, v := range values {
		var b strings.Builder
		value.AppendCanonical(&b, v)
		if list = append(list, b.String()); len(list) == 4 {
			list = append(list, "…")
			break
		}
	}
	return strings.Join(list, " or ")
}

// wrongRecords says which record of an answer is not right, or does not belong there.
func (o *Oracle) wrongRecords(e *event) string {
	c := e.k.Q.Collection
	seen := make(map[string]bool, len(e.a.Records))
	for _, got := range e.a.Records {
		at := func(f string) any { return got[f] }
		for i := range e.k.Conds {
			if cond := &e.k.Conds[i]; !cond.Holds(at) {
				return fmt.Sprintf("%s is found, and its %s is %s", value.Key(got, c.Key()), cond.Field, shown(got[strings.TrimSuffix(cond.Field, "[]")]))
			}
		}
		if q := e.k.Q; q.At != "" && far(e.k, got[q.At]) > q.Radius+nearly {
			return fmt.Sprintf("%s is found, and it lies %.0f m away", value.Key(got, c.Key()), far(e.k, got[q.At]))
		}
		if text := o.wrongRecord(e, got); text != "" {
			return text
		}
		id := value.Identity(got, c.Key())
		if seen[id] && o.quiet(c, keyOf(c, got), e) {
			return fmt.Sprintf("%s is found twice", value.Key(got, c.Key()))
		}
		seen[id] = true
	}
	if most := e.most(); most > 0 && e.a.N > most {
		return fmt.Sprintf("%s found, where %s are the most", format.Plural(e.a.N, "record"), format.Count(most))
	}
	return ""
}
