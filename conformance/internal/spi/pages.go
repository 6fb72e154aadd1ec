package spi

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// pagedRows is how many rows a partition has whose spans are of several pages.
const pagedRows = 1500

// pagedRow returns row i of them, in which everything is set.
func pagedRow(e *env, t *driver.Table, i int) driver.Row {
	r := row(e.at(t, "p", fmt.Sprintf("%05d", i)), fmt.Sprint("row ", i))
	r.Fields[table.Int], r.Extra = num(int64(i)), []driver.Pair{{Name: "x", Value: num(int64(-i))}}
	r.Meta, r.Expires = fmt.Sprint("note ", i), int64(i+1)
	return r
}

// laterPages reads spans of which the last rows are far from the first ones: bounds, limit
// and mask hold there, too, and each row is whole.
func laterPages(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	var ops []driver.Op
	var keys []string
	whole := map[string]driver.Row{}
	for i := range pagedRows {
		r := pagedRow(e, t, i)
		ops, keys, whole[r.Key.Sort] = append(ops, put(t, r)), append(keys, r.Key.Sort), r
	}
	e.commitMany(ctx, ops)
	for _, sp := range []driver.Span{
		{},
		{Limit: 1300},
		{From: "00100", To: "01400"},
		{From: "00100", To: "01400", Limit: 1299, Mask: []int{table.Int}},
		{From: "00001", Mask: []int{}},
		{To: "01499", Limit: 5000, Mask: []int{table.String, table.Bool}},
	} {
		sp.Table, sp.Key = t, ops[0].Row.Key
		for _, sp.Reverse = range []bool{false, true} {
			for _, r := range spanHas(ctx, e, sp, keys) {
				want := whole[r.Key.Sort]
				way := fmt.Sprintf("range from %q below %q, reverse %v, of row %s", sp.From, sp.To, sp.Reverse, r.Key.Sort)
				want.Rev = r.Rev
				checkMask(e, way, sp.Mask, &r, &want)
				e.That(!r.Rev.IsZero() && len(r.Ring) == 1 && r.Ring[0] == r.Rev, "Rev and Ring by "+way, "%s, %s", r.Rev, r.Ring)
				rule.Equal(e, "the partition by "+way, r.Key.Partition, want.Key.Partition)
			}
		}
	}
}

// rowsThatGo deletes every other row as soon as the loop has come to it: the last one of a page,
// too, behind which the next page begins.
func rowsThatGo(ctx context.Context, e *env) {
	const all = 600
	t := e.Tables.Sorted
	for _, reverse := range []bool{false, true} {
		var ops []driver.Op
		var want, got []string
		for i := range all {
			want = append(want, fmt.Sprint(i))
			ops = append(ops, put(t, row(e.at(t, "p", fmt.Sprintf("%04d", i)), want[i])))
		}
		e.commitMany(ctx, ops)
		if reverse {
			slices.Reverse(want)
		}
		sp := span(t, ops[0].Row.Key)
		sp.Reverse = reverse
		for r, err := range e.Store.Range(ctx, sp) {
			e.OK("range", err)
			e.That(len(got) < table.MostRows, "the range to end", "%d rows of %d", len(got), all)
			if got = append(got, textOf(r)); len(got)%2 == 0 {
				e.commit(ctx, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: r.Key}})
			}
		}
		rule.Equal(e, fmt.Sprintf("the rows of a loop that deletes every other one, reverse %v", reverse), got, want)
	}
}
