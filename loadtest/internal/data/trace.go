package data

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// A Line is an operation of a trace.
type Line struct {
	Number int           // in the file
	At     time.Duration // from the first one on
	Query  int           // index
	Fields map[string]any
}

// A traceFile is a trace that is being read.
type traceFile struct {
	*rowFile
	w     *workload.Workload
	of    *workload.Trace
	begin time.Time // when the first operation came
	last  time.Duration
	plain bool // times are numbers
	begun bool // there was an operation
}

// Operations yields the operations of the workload's trace one by one, and the faults of the file, or the end of the
// context, once, last.
func Operations(ctx context.Context, w *workload.Workload) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		t := &traceFile{rowFile: &rowFile{ctx: ctx, src: &w.Trace.Source, told: map[string]bool{}}, w: w, of: w.Trace}
		more := true
		each := func(l Line, ok bool) bool {
			more = !ok || yield(l, nil)
			return more
		}
		t.trace = func(r *bufio.Reader) {
			if t.src.Format == "csv" {
				t.csv(r, each)
			} else {
				t.eachLine(r, func(n int, line []byte) bool { return each(t.json(n, line)) })
			}
		}
		t.rows()(func(Row) bool { return true })
		if err := t.err(); err != nil && more {
			yield(Line{}, err)
		}
	}
}

// json returns the operation of a line of JSON; ok is false after a fault.
func (t *traceFile) json(n int, line []byte) (l Line, ok bool) {
	object, ok := t.object(n, line)
	if !ok {
		return l, false
	}
	texts := map[string]string{}
	for _, name := range []string{t.of.Time, t.of.Query} {
		if v := object[name]; v != nil {
			texts[name] = fmt.Sprint(v)
		}
		delete(object, name)
	}
	if l, ok = t.line(n, string(line), texts[t.of.Time], texts[t.of.Query]); !ok {
		return l, false
	}
	for name, x := range object {
		t.field(&l, string(line), name, func(kind string) (any, error) { return value.FromJSON(kind, x, t.src.Times) })
	}
	return l, len(t.faults) == 0
}

// csv reads a trace whose first line names the fields.
func (t *traceFile) csv(r *bufio.Reader, each func(Line, bool) bool) {
	var names []string
	t.eachRow(r, func(head []string) bool {
		for _, name := range head {
			names = append(names, strings.TrimSpace(name))
		}
		return true
	}, func(n int, cells []string) bool {
		source, texts := strings.Join(cells, string(t.src.Separator)), map[string]string{}
		if text := badText([]byte(source)); text != "" || len(cells) != len(names) {
			if text == "" {
				text = fmt.Sprintf("the row has %s, and the first line names %d", format.Plural(len(cells), "field"), len(names))
			}
			t.fault(n, 0, source, "%s", text)
			return true
		}
		for i, cell := range cells {
			if cell != "" {
				texts[names[i]] = cell
			}
		}
		l, ok := t.line(n, source, texts[t.of.Time], texts[t.of.Query])
		for name, text := range texts {
			if ok && name != t.of.Time && name != t.of.Query {
				t.field(&l, source, name, func(kind string) (any, error) { return t.cell(kind, text) })
			}
		}
		return each(l, ok && len(t.faults) == 0)
	})
}

// line begins an operation by its time and query.
func (t *traceFile) line(n int, source, when, query string) (l Line, ok bool) {
	l = Line{Number: n, Fields: map[string]any{}}
	if l.Query = slices.IndexFunc(t.w.Queries, func(q *workload.Query) bool { return q.Name == query }); l.Query < 0 {
		t.fault(n, 0, source, "%s is %s, which is no query of the workload", t.of.Query, value.Quote(query))
		return l, false
	}
	at, text := t.at(when)
	switch {
	case text != "":
	case at < t.last:
		text = fmt.Sprintf("the operation came %v before the one above it; sort the file by time", t.last-at)
	default:
		t.last, l.At = at, at
		return l, true
	}
	t.fault(n, 0, source, "%s", text)
	return l, false
}

// at returns a time, from that of the first operation on.
func (t *traceFile) at(text string) (at time.Duration, wrong string) {
	seconds, err := strconv.ParseFloat(text, 64)
	plain := err == nil && !math.IsNaN(seconds) && math.Abs(seconds) < 1<<33
	var when time.Time
	if plain {
		whole := math.Floor(seconds)
		when = time.Unix(int64(whole), int64(math.Round((seconds-whole)*1e9)))
	} else if when, err = time.Parse(time.RFC3339Nano, text); err != nil {
		return 0, fmt.Sprintf("%s is %s; want seconds, as in 12.5, or a time as in 2026-01-31T12:00:00.5Z", t.of.Time, value.Quote(text))
	}
	if !t.begun {
		t.begin, t.plain, t.begun = when, plain, true
	}
	if t.plain != plain {
		return 0, fmt.Sprintf("%s is %s, and that of the first operation has another form", t.of.Time, value.Quote(text))
	}
	return when.Sub(t.begin), ""
}

// field notes a field of an operation.
func (t *traceFile) field(l *Line, source, name string, as func(kind string) (any, error)) {
	c := t.w.Queries[l.Query].Collection
	kind := c.Kind(name)
	if kind == "" {
		if !slices.Contains(t.src.Skip, name) && !slices.Contains(t.src.Skip, "*") {
			t.fault(l.Number, 0, source, "%s is no field of collection %s; leave it out: skip: [%s]", value.Quote(name), c.Schema.Collection, yamlName(name))
		}
		return
	}
	v, err := as(kind)
	if err != nil {
		t.fault(l.Number, 0, source, "%s: %v", name, err)
	} else if v != nil {
		l.Fields[name] = v
	}
}

// Fault returns one of an operation.
func (l *Line) Fault(w *workload.Workload, form string, args ...any) failure.Fault {
	f := rowFile{src: &w.Trace.Source}
	f.fault(l.Number, 0, "", form, args...)
	return f.faults[0]
}
