package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/polystore/polystore/loadtest/internal/document"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/repo"
)

// A Series says how a model keeps a collection as series: the records of a partition are points in time, in buckets.
type Series struct {
	Span time.Duration // of a bucket
	Most int           // points of a bucket
}

// Instant is the name that a point has its time under.
const Instant = "at"

// Buckets returns the schema by which package repo/series keeps the buckets of a collection.
func (s *Series) Buckets(collection string) repo.Schema {
	return repo.Schema{Collection: collection, Partition: []string{"series"}, Sort: []string{"-start", "-part"},
		Fields: map[string]string{"series": "string", "start": "time", "part": "int", "points": "list"}}
}

// readSeries reads how a model keeps a collection as series.
func readSeries(d *document.File, n ast.Node, what string) *Series {
	s := &Series{}
	m, ok := d.Mapping(n, what+": series")
	if !ok {
		return s
	}
	m.Need("span", "span: 24h, for how much time a bucket is")
	s.Span = m.Duration("span", time.Hour, time.Millisecond, limit.MaxSpan)
	if s.Span%time.Millisecond != 0 {
		d.FaultIn(m.PlaceOf("span"), "span is %v; take whole milliseconds", s.Span)
	}
	s.Most = m.Integer("most", limit.BucketPoints, 1, limit.MaxParts)
	m.Done()
	return s
}

// series reports what the series of a model cannot keep, or do not answer.
func (r modelChecker) series() {
	for i, s := range r.mo.Series {
		if s == nil {
			continue
		}
		c := r.w.Collections[i]
		c.InSeries = true
		is := fmt.Sprintf("model %s keeps %s as series", r.mo.Name, c.Schema.Collection)
		if text := r.noSeries(c, &r.mo.Schemas[i]); text != "" {
			r.d.FaultIn(r.mo.place, "%s, %s", is, text)
			continue // queries are asked by the key
		}
		for _, q := range r.w.Queries {
			if q.Collection != c || q.Kind == "journey" { // whose steps are queries
				continue
			}
			if text := notOfSeries(q, &r.mo.Schemas[i]); text != "" {
				r.d.FaultIn(r.mo.place, "%s, which lack query %s: %s, or leave out the series of the model", is, q.Name, text)
			}
		}
	}
}

// noSeries says why the records of a collection cannot be points of series, "" if they can.
func (r modelChecker) noSeries(c *Collection, s *repo.Schema) string {
	instant := ""
	if len(s.Sort) == 1 {
		instant = strings.TrimPrefix(s.Sort[0], "-")
	}
	lies := func(o repo.Schema) bool { return o.With == s.Collection }
	switch {
	case c.Kind(instant) != "time":
		return fmt.Sprintf("whose points have one time each and no other key, and its sort is (%s); give the model sort: [at], one field of kind time", strings.Join(s.Sort, ", "))
	case len(s.Indexes) > 0:
		return "which have no indexes; give the model indexes: []"
	case c.TTL > 0:
		return "where points go by whole buckets, a time after they were measured, and a ttl counts from when a record was written; leave out ttl"
	case s.With != "" || slices.ContainsFunc(r.mo.Schemas, lies):
		return "which lie with no other collection; leave out with"
	case instant != Instant && c.Kind(Instant) != "":
		return fmt.Sprintf("whose points have their time, %s, under the name %s; give the field %s another name, with map: {…: %s} under data of a file", instant, Instant, Instant, Instant)
	}
	return ""
}

// notOfSeries says what of a query no series answers or does, with the remedy, "" if they do it all.
func notOfSeries(q *Query, s *repo.Schema) string {
	instant := strings.TrimPrefix(s.Sort[0], "-")
	switch q.Kind {
	case "get", "exists", "insert":
		return ""
	case "find", "count", "page":
	default:
		return fmt.Sprintf("it is of kind %s, and points are inserted, got, and found by time; leave the query out", q.Kind)
	}
	whole := len(q.Where) == len(s.Partition) && !slices.ContainsFunc(q.Where, func(c Condition) bool { return !slices.Contains(s.Partition, c.Field) })
	ordered := len(q.Order) == 0 || len(q.Order) == 1 && strings.TrimPrefix(q.Order[0], "-") == instant
	switch {
	case !whole || len(q.Sets) > 0:
		var fields []string
		for _, f := range s.Partition {
			fields = append(fields, f+": $")
		}
		return fmt.Sprintf("it is for one series, and its conditions must name that and nothing else; write where: {%s}", strings.Join(fields, ", "))
	case q.Window != nil && (q.Window.Field != instant || q.Window.IsPrefix):
		return fmt.Sprintf("points are found by their time; let range be of %s", instant)
	case !ordered:
		return fmt.Sprintf("points come in the order of their times; write order: [%s] or [-%s]", instant, instant)
	}
	return ""
}
