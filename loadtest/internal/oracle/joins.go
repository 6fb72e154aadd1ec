package oracle

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A span is when a write of a record was under way.
type span struct{ begin, end int64 }

// Behind says that the records of a collection have copies, and that no commit has a record and those that its copies are
// of. Then, while a record is written, its copies may be those of any time since that write began.
func (o *Oracle) Behind(c *workload.Collection) {
	if o != nil && !o.of[c.At].behind {
		o.of[c.At].behind, o.of[c.At].open = true, map[uint64][]span{}
	}
}

// under notes that a record with copies was written.
func (o *Oracle) under(k *operation.Call, begin, end int64) {
	w := &o.of[k.Q.Collection.At]
	if !w.behind || k.Q.Kind == "group" { // whose parts are noted
		return
	}
	key := []any(k.Key)
	if k.Record != nil {
		key = keyOf(k.Q.Collection, k.Record)
	}
	h := value.Hash(value.IdentityOf(key))
	w.open[h] = append(w.open[h], span{begin, end})
}

// since returns from when on copies of a record may be that are read by a call.
func (o *Oracle) since(c *workload.Collection, rec map[string]any, e *event) int64 {
	w, since := &o.of[c.At], e.begin
	if !w.behind {
		return since
	}
	for _, s := range w.open[value.Hash(value.IdentityOf(keyOf(c, rec)))] {
		if s.begin < e.end && s.end >= e.begin {
			since = min(since, s.begin)
		}
	}
	return since
}

// ended forgets the writes that were over before a time.
func (w *written) ended(now int64) {
	for h, list := range w.open {
		if list = slices.DeleteFunc(list, func(s span) bool { return s.end < now }); len(list) == 0 {
			delete(w.open, h)
		} else {
			w.open[h] = list
		}
	}
}

// wrongJoins says what is wrong with what a record has of others, "" if nothing is.
func (o *Oracle) wrongJoins(e *event, got map[string]any) string {
	joins := e.k.Q.Joins
	for i := range joins {
		if text := o.wrongJoin(e, got, &joins[i]); text != "" {
			return fmt.Sprintf("%s of %s %s", joins[i].Field, value.Key(got, e.k.Q.Collection.Key()), text)
		}
	}
	return ""
}

// wrongJoin says what is wrong with what a record has of another one.
func (o *Oracle) wrongJoin(e *event, got map[string]any, j *workload.Join) string {
	i := slices.IndexFunc(j.Take, func(f string) bool { return !value.IsEmpty(got[j.Shown(f)]) })
	if got[j.Field] == nil {
		if i >= 0 {
			return fmt.Sprintf("is absent, and %s is %s", j.Shown(j.Take[i]), shown(got[j.Shown(j.Take[i])]))
		}
		return ""
	}
	read := *e
	read.begin = o.since(e.k.Q.Collection, got, e)
	rec, number := o.found(j.From, []any{got[j.Field]})
	if i < 0 && o.may(j.From, rec, number, "", false, &read) {
		return ""
	}
	name := fmt.Sprintf("is %s of %s", shown(got[j.Field]), j.From.Schema.Collection)
	if i >= 0 && !o.may(j.From, rec, number, "", true, &read) {
		return fmt.Sprintf("%s, which is not there, and %s is %s", name, j.Shown(j.Take[i]), shown(got[j.Shown(j.Take[i])]))
	}
	for _, f := range j.Take {
		if o.may(j.From, rec, number, f, got[j.Shown(f)], &read) {
			continue
		}
		want := []any{o.loaded(j.From, number, f)}
		if rec != nil && rec.fields[f] != nil {
			want = rec.fields[f].wants(read.begin, read.end)
		}
		return fmt.Sprintf("%s, and %s is %s; what was written last is %s", name, j.Shown(f), shown(got[j.Shown(f)]), shown(want...))
	}
	return ""
}
