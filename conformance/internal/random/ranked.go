package random

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/repo"
)

// What Best and GroupBy say is compared with a look at all records, too: both stores could be wrong alike.

// best ranks records.
func (s *typed[T]) best(ctx context.Context, q query) string {
	found, err := repo.Best(ctx, s.repo, q.repo())
	if err != nil {
		return kind(err)
	}
	var got, want []string
	for _, one := range found {
		got = append(got, fmt.Sprintf("%s by %d", record.KeyText(s.from(one.Record)), one.Count))
	}
	all, err := s.all(ctx, q)
	slices.SortFunc(all, func(a, b record.Entry) int { return cmp.Or(q.count(b)-q.count(a), q.compare(a, b)) })
	for _, e := range q.cut(all) {
		want = append(want, fmt.Sprintf("%s by %d", record.KeyText(e), q.count(e)))
	}
	return s.alike(got, want, err)
}

// groups groups records by one field, with the sums of their scores.
func (s *typed[T]) groups(ctx context.Context, q query) string {
	found, err := repo.Collect(s.repo.GroupBy(q.by).Sum("score").Find(ctx, q.repo()))
	if err != nil {
		return kind(err)
	}
	var got, want []string
	for _, one := range found {
		got = append(got, fmt.Sprintf("%v: %d, %v", one.Key[0], one.Count, one.Sums[0]))
	}
	all, err := s.all(ctx, q)
	count, sum := map[any]int{}, map[any]int64{}
	for _, e := range all {
		v := valueOf(e, q.by)
		count[v], sum[v] = count[v]+1, sum[v]+e.Score
	}
	for v, n := range count {
		want = append(want, fmt.Sprintf("%v: %d, %v", v, n, sum[v]))
	}
	if q.limit > 0 { // which of them, the other store says
		return counted(got)
	}
	slices.Sort(got)
	slices.Sort(want)
	return s.alike(got, want, err)
}

// alike returns what was found, and what should have been if that is something else: then no other side says the same.
func (s *typed[T]) alike(got, want []string, err error) string {
	text := counted(got)
	if err != nil || !slices.Equal(got, want) {
		text += fmt.Sprintf(", but by a look at all of %s: %s, %v", s.name, strings.Join(want, "; "), err)
	}
	return text
}

// all returns the records that meet the conditions of a query.
func (s *typed[T]) all(ctx context.Context, q query) (list []record.Entry, err error) {
	for chunk, err := range s.repo.Walk(ctx, "") {
		if err != nil {
			return nil, err
		}
		for _, rec := range chunk.Items {
			if e := s.from(rec); q.has(e) {
				list = append(list, e)
			}
		}
	}
	return list, nil
}

// valueOf returns the value of a field that is no list, nil if it is absent.
func valueOf(e record.Entry, field string) any {
	switch field {
	case "part":
		return e.Part
	case "id":
		return e.ID
	case "kind":
		return e.Kind
	case "score":
		return e.Score
	case "note":
		return e.Note
	}
	switch {
	case field == "place.city" && e.Place.City != "":
		return e.Place.City
	case field == "name" && e.Name != nil:
		return *e.Name
	}
	return nil
}

// hasOne reports whether a record has one of some values.
func hasOne(e record.Entry, field string, values ...any) bool {
	if field == "tags[]" {
		return slices.ContainsFunc(e.Tags, func(tag string) bool { return slices.Contains(values, any(tag)) })
	}
	return slices.Contains(values, valueOf(e, field))
}

// values returns those of the first condition.
func (q query) values() []any { return append([]any{q.equal[0][1]}, q.any...) }

// has reports whether a record meets the conditions.
func (q query) has(e record.Entry) bool {
	for i, c := range q.equal {
		field, values := c[0].(string), []any{c[1]}
		if i == 0 {
			values = q.values()
		}
		if q.all && i == 0 {
			if slices.ContainsFunc(values, func(v any) bool { return !hasOne(e, field, v) }) {
				return false
			}
		} else if !hasOne(e, field, values...) {
			return false
		}
	}
	for _, field := range q.order { // a query that names a field asks for records that have it
		if valueOf(e, strings.TrimPrefix(field, "-")) == nil {
			return false
		}
	}
	for _, c := range q.filter {
		if !hasOne(e, c[0].(string), c[1]) {
			return false
		}
	}
	return !hasOne(e, "tags[]", q.none...) && !slices.ContainsFunc(q.ends, func(end [2]any) bool { return !within(valueOf(e, q.rng), end) })
}

// within reports whether a value is on the right side of an end.
func within(v any, end [2]any) bool {
	d := 0
	switch v := v.(type) {
	case int64:
		d = cmp.Compare(v, end[1].(int64))
	case string:
		d = strings.Compare(v, end[1].(string))
	}
	switch end[0] {
	case "above":
		return d > 0
	case "at least":
		return d >= 0
	case "below":
		return d < 0
	case "at most":
		return d <= 0
	}
	return strings.HasPrefix(v.(string), end[1].(string))
}

// count returns how many of the values of the first condition the tags of a record are.
func (q query) count(e record.Entry) (n int) {
	values := q.values()
	for i, v := range values {
		if !slices.Contains(values[:i], v) && slices.Contains(e.Tags, v.(string)) {
			n++
		}
	}
	return n
}

// compare compares two records as the index by tags has them, or that by kinds and tags.
func (q query) compare(a, b record.Entry) int {
	d := cmp.Or(cmp.Compare(a.Part, b.Part), cmp.Compare(b.ID, a.ID))
	if len(q.equal) == 1 {
		d = cmp.Or(cmp.Compare(a.Score, b.Score), d)
	}
	if slices.Contains(q.order, "-score") {
		return -d
	}
	return d
}
