package gate_test

import (
	"context"
	"fmt"
	"math"

	"github.com/polystore/polystore/repo/driver"
)

// patches edits fields, with sums up to the ends of int64 and beyond.
func patches(ctx context.Context, p *play) error {
	for i, edits := range editLists() {
		k := p.post(p.author, fmt.Sprint(i))
		rev, err := p.do(ctx, driver.Op{Do: driver.Put, Table: p.posts, If: driver.Absent, Row: driver.Row{Key: k,
			Fields: titled("old"), Expires: 9, Meta: "note", Extra: []driver.Pair{
				{Name: "big", Value: driver.IntValue(math.MaxInt64)}, {Name: "gone", Value: text("x")},
				{Name: "half", Value: driver.FloatValue(0.5)}, {Name: "whole", Value: driver.FloatValue(2)}}}})
		if err != nil {
			return err
		}
		op := driver.Op{Do: driver.Patch, Table: p.posts, Row: driver.Row{Key: k}, If: driver.Present, Edits: edits}
		if _, err := p.do(ctx, op); err != nil {
			return fmt.Errorf("edits %d: %w", i, err)
		}
		op.If, op.Rev = driver.AtRev, rev // refused, unless the edits were
		if _, err := p.do(ctx, op); err != nil {
			return fmt.Errorf("edits %d at rev: %w", i, err)
		}
		op.If, op.PatchMeta, op.Edits = driver.Present, true, nil
		if i%2 == 0 {
			op.Row.Expires, op.Row.Meta = 77, "other"
		}
		if _, err := p.do(ctx, op); err != nil {
			return fmt.Errorf("meta %d: %w", i, err)
		}
	}
	return nil
}

func editLists() [][]driver.Edit {
	add := func(field int, n int64) driver.Edit {
		return driver.Edit{Do: driver.Add, Field: field, Value: driver.IntValue(n)}
	}
	set := func(field int, v driver.Value) driver.Edit {
		return driver.Edit{Do: driver.Set, Field: field, Value: v}
	}
	unset := func(field int) driver.Edit { return driver.Edit{Do: driver.Unset, Field: field} }
	extra := func(do driver.EditVerb, name string, v driver.Value) driver.Edit {
		return driver.Edit{Do: do, Field: -1, Name: name, Value: v}
	}
	return [][]driver.Edit{
		{set(title, text("new")), set(sel, text("$title")), set(Sel, text(""))},
		{set(title, driver.Value{}), unset(views), set(meta, hostileMap())},
		{add(views, 1)},
		{add(views, math.MaxInt64-7)},
		{add(views, math.MaxInt64-6)}, // beyond the greatest
		{set(title, text("new")), add(views, math.MaxInt64), unset(sel)}, // the same, among others
		{add(views, math.MinInt64)},
		{extra(driver.Add, "big", driver.IntValue(1))},
		{extra(driver.Add, "big", driver.IntValue(math.MinInt64)), add(views, -8)},
		{extra(driver.Add, "half", driver.IntValue(1))},  // no integer
		{extra(driver.Add, "whole", driver.IntValue(1))}, // a number without a fraction, and no integer
		{extra(driver.Add, "gone", driver.IntValue(1))},
		{extra(driver.Add, "new", driver.IntValue(-3)), extra(driver.Unset, "gone", driver.Value{}), extra(driver.Unset, "none", driver.Value{})},
		{extra(driver.Set, "a.b", text("dot")), extra(driver.Set, "$set", driver.IntValue(1)), extra(driver.Set, "%2E", text("percent")),
			extra(driver.Set, "0", text("number")), extra(driver.Set, "{}\n\"'", hostileMap())},
		{add(views, 2), extra(driver.Add, "big", driver.IntValue(5))}, // the second one refused, the first undone
	}
}

// hostileMap returns a map whose keys mean something to one store or another.
func hostileMap() driver.Value {
	return driver.MapValue([]driver.Value{
		text(""), driver.IntValue(1), text("$bytes"), text("x"), text("$ref"), driver.IntValue(math.MinInt64),
		text("$set"), driver.BoolValue(true), text("_id"), driver.FloatValue(3), text("a.b"), driver.TimeValue(-1),
		text("list"), driver.ListValue([]driver.Value{driver.BytesValue("\x00\xff"), text("\x00\u2028\U0010FFFF"), driver.FloatValue(math.Inf(1)),
			driver.MapValue([]driver.Value{text("$time"), driver.IntValue(5)})}),
	})
}
