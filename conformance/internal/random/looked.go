package random

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
)

// What the reference finds and writes is compared with a look at all its records, by code that is as plain as can be.

// find asks one query, or several at the same time.
func (s *typed[T]) find(ctx context.Context, queries []query) string {
	if len(queries) == 1 {
		list, err := repo.Collect(s.repo.Find(ctx, queries[0].repo()))
		return s.found(ctx, queries[0], list, err)
	}
	var all []repo.Query
	for _, q := range queries {
		all = append(all, q.repo())
	}
	lists, err := s.repo.FindMany(ctx, all)
	if err != nil {
		return kind(err)
	}
	var texts []string
	for i, list := range lists {
		texts = append(texts, s.found(ctx, queries[i], list, nil))
	}
	return strings.Join(texts, ", and ")
}

// found says what a query has found, and what is wrong with it.
func (s *typed[T]) found(ctx context.Context, q query, list []T, err error) string {
	if err != nil {
		return kind(err)
	}
	text := counted(s.texts(list))
	if !s.looks {
		return text
	}
	all, err := s.all(ctx, q)
	if err != nil {
		return text + ", and a look at all: " + err.Error()
	}
	var got []record.Entry
	for _, rec := range list {
		got = append(got, s.from(rec))
	}
	return text + q.wrong(got, all)
}

// wrong says what is wrong with records that a query has found, of all that meet its conditions.
func (q query) wrong(got, all []record.Entry) string {
	if want := len(q.cut(all)); len(got) != want {
		return fmt.Sprintf(", but by a look at all it is %d of %d", want, len(all))
	}
	for i, e := range got {
		is := func(o record.Entry) bool { return reflect.DeepEqual(e, o) }
		if !slices.ContainsFunc(all, is) || slices.ContainsFunc(got[:i], is) {
			return ", but by a look at all there is no such " + e.String()
		}
		if len(q.order) > 0 && i > 0 && !inOrder(got[i-1], e, q.order[0]) {
			return ", which is not in order"
		}
	}
	return ""
}

// inOrder reports whether one record may come before another one in an order.
func inOrder(a, b record.Entry, order string) bool {
	field, desc := strings.CutPrefix(order, "-")
	if desc {
		a, b = b, a
	}
	switch v := valueOf(a, field).(type) {
	case int64:
		return v <= valueOf(b, field).(int64)
	case string:
		return v <= valueOf(b, field).(string)
	}
	return true
}

// cut returns those of all records that the offset and the limit leave.
func (q query) cut(all []record.Entry) []record.Entry {
	all = all[min(q.offset, len(all)):]
	if q.limit > 0 {
		all = all[:min(q.limit, len(all))]
	}
	return all
}

// bulk writes many records.
func (s *typed[T]) bulk(ctx context.Context, op operation) string {
	var list []T
	var keys []repo.Key
	var entries []record.Entry
	for _, w := range op.list {
		list, keys, entries = append(list, s.to(w.rec)), append(keys, record.KeyOf(w.rec)), append(entries, w.rec)
	}
	before := s.before(ctx, entries...)
	var n int
	var err error
	switch records, of := double.Sequence(list, nil), double.Sequence(keys, nil); op.verb {
	case "insert all":
		n, err = s.repo.InsertAll(ctx, records)
	case "put all":
		n, err = s.repo.PutAll(ctx, records)
	case "delete all":
		n, err = s.repo.DeleteAll(ctx, of)
	case "patch all":
		n, err = s.repo.PatchAll(ctx, of, editsOf(op.edits)...)
	}
	text := fmt.Sprintf("%d done", n)
	if batch, ok := errors.AsType[*repo.BatchError](err); ok {
		for _, f := range batch.Failed {
			text += fmt.Sprintf(", %d %s", f.Index, kind(f.Err))
		}
		return text
	}
	if err != nil {
		return text + " " + kind(err)
	}
	return text + s.written(ctx, op, before)
}

// before returns the records under the keys of some, as they are before a write, if it is looked at.
func (s *typed[T]) before(ctx context.Context, of ...record.Entry) map[string]record.Entry {
	all := map[string]record.Entry{}
	for i := range of {
		if !s.looks {
			break
		}
		if rec, err := s.repo.Get(ctx, record.KeyOf(of[i])); err == nil {
			all[record.KeyText(of[i])] = s.from(rec)
		}
	}
	return all
}

// patched says what is wrong with a record that was patched.
func (s *typed[T]) patched(ctx context.Context, before map[string]record.Entry, edits []edit) (wrong string) {
	for _, e := range before {
		edited(&e, edits)
		wrong += s.differs(ctx, e, true)
	}
	return wrong
}

// written says what is wrong after many records were written, none of which failed.
func (s *typed[T]) written(ctx context.Context, op operation, before map[string]record.Entry) (wrong string) {
	if !s.looks {
		return ""
	}
	last := map[string]record.Entry{}
	for _, w := range op.list {
		e := w.rec
		if op.verb == "patch all" {
			var there bool
			if e, there = last[record.KeyText(w.rec)]; !there {
				e = before[record.KeyText(w.rec)]
			}
			edited(&e, op.edits)
		}
		last[record.KeyText(w.rec)] = e
	}
	for _, e := range last {
		wrong += s.differs(ctx, e, op.verb != "delete all")
	}
	return wrong
}

// differs says what a record is if it is not as it is to be; one that has expired is not there.
func (s *typed[T]) differs(ctx context.Context, want record.Entry, there bool) string {
	rec, err := s.repo.Get(ctx, record.KeyOf(want))
	if errors.Is(err, repo.ErrNotFound) && (!there || !want.Until.IsZero()) {
		return ""
	}
	got := s.from(rec)
	if err == nil && there && plain(got) == plain(s.from(s.to(want))) {
		return ""
	}
	return fmt.Sprintf(", but there is %s, %v, want %s", got, err, want)
}

// plain returns the fields of a record in words.
func plain(e record.Entry) string {
	if e.Tags == nil {
		e.Tags = []string{}
	}
	return e.String()
}

// edited makes edits of a record, which are right for it.
func edited(e *record.Entry, edits []edit) {
	e.Tags, e.Extra = slices.Clone(e.Tags), maps.Clone(e.Extra)
	for _, x := range edits {
		text, _ := x.value.(string)
		switch name, part, _ := strings.Cut(x.field, "."); name {
		case "":
			e.Until = x.value.(time.Time)
		case "kind":
			e.Kind = text
		case "note":
			e.Note = text
		case "name":
			if e.Name = nil; x.do == "set" {
				e.Name = &text
			}
		case "score":
			if x.do == "set" {
				e.Score = 0
			}
			e.Score += x.value.(int64)
		case "place":
			if part == "city" {
				e.Place.City = text
			} else {
				e.Place.Rate += x.value.(float64)
			}
		case "tags":
			e.Tags = listed(e.Tags, x, part)
		default:
			e.Extra = extra(e.Extra, x)
		}
	}
}

// listed returns a list of tags after an edit.
func listed(tags []string, x edit, part string) []string {
	var values []string
	if list, ok := x.value.([]any); ok {
		for _, v := range list {
			values = append(values, v.(string))
		}
	}
	switch x.do {
	case "push":
		tags = append(tags, values...)
		for x.keep > 0 && len(tags) > x.keep {
			tags = tags[1:]
		}
	case "push front":
		tags = append(values, tags...)
		for x.keep > 0 && len(tags) > x.keep {
			tags = tags[:len(tags)-1]
		}
	case "pull":
		var left []string
		for _, tag := range tags {
			if !slices.Contains(values, tag) {
				left = append(left, tag)
			}
		}
		tags = left
	case "unset":
		tags = nil
	default:
		at, err := strconv.Atoi(part)
		switch {
		case err != nil:
			tags = x.value.([]string)
		case at < len(tags):
			tags[at] = x.value.(string)
		default:
			tags = append(tags, "nothing, for there is no such element")
		}
	}
	return tags
}

// extra returns undeclared fields after an edit.
func extra(all map[string]any, x edit) map[string]any {
	if all == nil {
		all = map[string]any{}
	}
	switch old := all[x.field].(type) {
	case int64:
		if n, ok := x.value.(int64); ok && x.do == "add" {
			all[x.field] = old + n
			return all
		}
	case float64:
		if x.do == "add" {
			all[x.field] = old + reflect.ValueOf(x.value).Convert(reflect.TypeFor[float64]()).Float()
			return all
		}
	}
	if all[x.field] = x.value; x.do == "unset" {
		delete(all, x.field)
	}
	return all
}
