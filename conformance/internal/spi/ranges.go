package spi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// rangedRows is how many rows a partition has of which several ranges are read: more than a page.
const rangedRows = 300

// ranges reads several spans of a table together, if the store is a Ranger: of records with and without an order, and of
// rows.
func ranges(ctx context.Context, e *env) {
	s, ok := e.Store.(driver.Ranger)
	if !ok {
		return
	}
	ordered, lone, rows := e.ownTable(table.Fields()...), e.ownTable(table.Fields()...), e.ownTable(table.Fields()...)
	lone.Sort, rows.Class = nil, driver.Rows
	for _, t := range []*driver.Table{ordered, lone, rows} {
		e.define(ctx, t)
	}
	if err := s.Ranges(ctx, []driver.Span{span(ordered, e.at(ordered, "p", ""))}, func(int, *driver.Row) bool { return true }); errors.Is(err, driver.ErrUnsupported) {
		return
	}
	var ops []driver.Op
	for i := range rangedRows {
		for _, t := range []*driver.Table{ordered, rows} {
			name := fmt.Sprintf("%03d", i)
			ops = append(ops, put(t, row(e.at(t, "p", name), "row "+name)))
			if i%10 == 0 {
				ops = append(ops, put(t, row(e.at(t, "q", name), "other "+name)))
			}
		}
	}
	for _, p := range []string{"p", "q"} {
		ops = append(ops, put(lone, row(e.at(lone, p), "lone "+p)))
	}
	for i := range 5 {
		ops = append(ops, put(ordered, driver.Row{Key: e.at(ordered, "p", fmt.Sprintf("01%d dead", i)), Dead: true, Expires: 1}))
	}
	e.commitEach(ctx, ops)
	for _, mask := range [][]int{nil, {table.String}, {}} {
		for _, spans := range [][]driver.Span{e.spansOf(ordered, mask), e.spansOf(rows, mask), e.lonesOf(lone, mask)} {
			e.ranged(ctx, s, spans)
			e.ranged(ctx, s, wantedOf(spans))
		}
	}
	e.rangesNot(ctx, s, ordered, rows)
}

// spansOf returns spans of a table: some that touch or overlap, of several partitions, empty ones, in no order.
func (e *env) spansOf(t *driver.Table, mask []int) (spans []driver.Span) {
	for _, b := range []struct {
		partition, from, to string
		limit               int
	}{
		{"p", "100", "120", 0}, {"p", "120", "121", 0}, {"p", "005", "020", 7}, {"q", "", "", 0}, {"p", "110", "290", 130}, {"p", "", "", 1},
		{"p", "200", "200", 0}, {"none", "", "", 3}, {"p", "", "", 0}, {"p", "299", "", 5}, {"q", "045", "222", 2}, {"p", "x", "", 0},
	} {
		for _, reverse := range []bool{false, true} {
			s := driver.Span{Table: t, Key: e.at(t, b.partition, ""), Reverse: reverse, Limit: b.limit, Mask: mask}
			if s.Key.Sort = ""; b.from != "" {
				s.From = e.at(t, b.partition, b.from).Sort
			}
			if b.to != "" {
				s.To = e.at(t, b.partition, b.to).Sort
			}
			spans = append(spans, s)
		}
	}
	return spans
}

// wantedOf returns spans that want some of their rows: each all, none, or the dead and some of the others.
func wantedOf(spans []driver.Span) []driver.Span {
	spans = slices.Clone(spans)
	for i := range spans {
		switch span := &spans[i]; i % 5 {
		case 1:
			span.Want = func(string) bool { return false }
		case 2, 3, 4:
			span.Want = func(sort string) bool { return strings.Contains(sort, "dead") || strings.ContainsAny(sort, "02468") }
		}
	}
	return spans
}

// lonesOf returns spans of a table without an order.
func (e *env) lonesOf(t *driver.Table, mask []int) (spans []driver.Span) {
	for _, p := range []string{"q", "none", "p", "q"} {
		s := span(t, e.at(t, p))
		s.Mask = mask
		spans = append(spans, s)
	}
	return spans
}

// ranged compares what is read of several spans with the range of each.
func (e *env) ranged(ctx context.Context, s driver.Ranger, spans []driver.Span) {
	rows := make([][]driver.Row, len(spans))
	e.OK("ranges", s.Ranges(ctx, spans, func(i int, r *driver.Row) bool {
		e.That(i >= 0 && i < len(spans), "the index of a span", "%d of %d", i, len(spans))
		rows[i] = append(rows[i], double.CopyRow(r))
		e.That(len(rows[i]) <= rangedRows, "the range to end", "%d rows", len(rows[i]))
		return true
	}))
	for i := range spans {
		want := slices.DeleteFunc(e.rows(ctx, spans[i]), func(r driver.Row) bool { return !spans[i].Wants(r.Key.Sort) })
		rule.Equal(e, fmt.Sprintf("the rows of span %d of %d", i, len(spans)), sorts(rows[i]), sorts(want))
		for j := range want {
			got := &rows[i][j]
			rule.Equal(e, "the partition of its row", got.Key.Partition, want[j].Key.Partition)
			rule.Equal(e, "a row of several ranges", show(got), show(&want[j]))
			e.That(got.Rev == want[j].Rev && slices.Equal(got.Ring, want[j].Ring), "its Rev and Ring", "%s, %s", got.Rev, got.Ring)
		}
	}
}

// rangesNot has ranges that end early, or cannot begin.
func (e *env) rangesNot(ctx context.Context, s driver.Ranger, t, other *driver.Table) {
	n := 0
	one := span(t, e.at(t, "p", ""))
	none := func(int, *driver.Row) bool { n++; return true }
	e.OK("ranges of nothing", s.Ranges(ctx, nil, none))
	e.OK("ranges of some", s.Ranges(ctx, []driver.Span{one, one}, func(int, *driver.Row) bool { n++; return n < 5 }))
	rule.Equal(e, "the rows of ranges that were ended after 5", n, 5)
	over, cancel := context.WithCancel(ctx)
	cancel()
	err := s.Ranges(over, []driver.Span{one, one}, none)
	e.That(errors.Is(err, driver.ErrTimeout) && errors.Is(err, context.Canceled), "ranges with a context that is over to be ErrTimeout", "%v", err)
	e.Is("ranges of a table that is not known", s.Ranges(ctx, []driver.Span{{Table: &driver.Table{Name: "nobody"}}}, none), driver.ErrInvalid)
	e.Is("ranges of two tables", s.Ranges(ctx, []driver.Span{one, span(other, e.at(other, "p", ""))}, none), driver.ErrInvalid)
	masked := one
	masked.Mask = []int{}
	e.Is("ranges of two masks", s.Ranges(ctx, []driver.Span{one, masked}, none), driver.ErrInvalid)
	rule.Equal(e, "the rows after that", n, 5)
}
