package spi

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

func verbRules() []entry {
	return []entry{
		{Name: "check", Sentence: "Check changes nothing, but tests its condition.", Needs: tested.ChangesPartition, Check: checkVerb},
		{Name: "checks alone", Sentence: "A commit of nothing but checks tests them all.", Needs: tested.ChangesPartition, Check: checksOnly},
		{Name: "delete", Sentence: "Delete removes the row.", Check: deleteVerb},
		{Name: "fence", Sentence: "Fence gives the row a new Rev and nothing else.", Check: fenceVerb},
		{Name: "fence of nothing", Sentence: "A missing row that is fenced comes to be, dead, with Row.Expires.", Check: fenceNothing},
		{Name: "edits", Sentence: "Patch applies its edits and leaves all else as it is.", Check: editVerbs},
		{Name: "edits of undeclared fields", Sentence: "An edit may name an undeclared field.", Check: extraEdits},
		{Name: "patch meta", Sentence: "Patch replaces expiry and note if PatchMeta is set, and only then.", Check: patchMeta},
		{Name: "add", Sentence: "Add grows an integer; an absent one counts as 0.", Check: addEdit},
		{Name: "overflow", Sentence: "An Add that leaves the range of int64, or meets no integer, is a Refusal with Overflow that changes nothing.", Check: overflow},
		{Name: "overflow among others", Sentence: "A commit with an Add that overflows changes nothing, and the Refusal names op and edit.", Needs: tested.ChangesPartition, Check: overflowAmongOthers},
	}
}

func checkVerb(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	a, b := e.at(t, "p", "a"), e.at(t, "p", "b")
	rev := e.commit(ctx, put(t, row(a, "a")))
	check := driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: a}, If: driver.AtRev, Rev: rev}
	e.commit(ctx, check, put(t, row(b, "b")))
	got := e.get(ctx, t, a)
	rule.Equal(e, "the row that was checked", textOf(&got)+got.Rev.String(), "a"+rev.String())
	check.Rev = driver.NewToken()
	refusal := e.refused(ctx, put(t, row(b, "new")), check)
	rule.Equal(e, "the op refused", refusal.Op, 1)
	rule.Equal(e, "the other row", e.text(ctx, t, b), "b")
	missing := driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: e.at(t, "p", "c")}, If: driver.Absent}
	e.commit(ctx, missing)
	rule.Equal(e, "a row that was checked to be absent", e.text(ctx, t, missing.Row.Key), "no row")
}

func checksOnly(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var right, wrong []driver.Op
	for i, s := range []string{"a", "b", "c"} {
		key := e.at(t, "p", s)
		check := driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: key}, If: driver.Absent}
		if i > 0 {
			check.If, check.Rev = driver.AtRev, e.commit(ctx, put(t, row(key, s)))
		}
		right = append(right, check)
		check.If, check.Rev = driver.AtRev, driver.NewToken()
		wrong = append(wrong, check)
	}
	e.commit(ctx, right...)
	for i := range right {
		e.commit(ctx, right[i])
		rule.Equal(e, "the op refused of one", e.refused(ctx, wrong[i]).Op, 0)
		ops := slices.Clone(right)
		ops[i] = wrong[i]
		rule.Equal(e, "the op refused of three", e.refused(ctx, ops...).Op, i)
		ops = append([]driver.Op{put(t, row(e.at(t, "p", "d"), "d"))}, ops...)
		rule.Equal(e, "the op refused of three behind a put", e.refused(ctx, ops...).Op, i+1)
	}
	rule.Equal(e, "the rows", sorts(e.rows(ctx, span(t, right[0].Row.Key))), []string{"b#", "c#"})
	e.commit(ctx, right...)
}

func deleteVerb(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for _, s := range []string{"a", "b", "c"} {
		e.commit(ctx, put(t, row(e.at(t, "p", s), s)))
	}
	del := driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: e.at(t, "p", "b")}}
	e.commit(ctx, del)
	rule.Equal(e, "the row that was deleted", e.text(ctx, t, del.Row.Key), "no row")
	rule.Equal(e, "the rows that are left", sorts(e.rows(ctx, span(t, del.Row.Key))), []string{"a#", "c#"})
	rule.Equal(e, "the number of rows by walk", len(e.walk(ctx, t)), 2)
	e.commit(ctx, del)
	again := opOf(driver.Put, t, del.Row.Key)
	again.If = driver.Absent
	e.commit(ctx, again)
	rule.Equal(e, "the row that came again", e.text(ctx, t, del.Row.Key), "new")
}

func fenceVerb(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	r := maskedRow(e, t)
	first := e.commit(ctx, put(t, r))
	token := first
	for range 2 {
		token = e.fence(ctx, t, r.Key, token)
		got := e.get(ctx, t, r.Key)
		r.Rev = token
		rule.Equal(e, "the row after a fence", show(&got), show(&r))
		rule.Equal(e, "its Rev", got.Rev, token)
		rule.Equal(e, "its Ring", got.Ring, []driver.Token{first})
	}
	old := opOf(driver.Put, t, r.Key)
	old.If, old.Rev = driver.AtRev, first
	e.refused(ctx, old)
}

// fence gives a row another Rev.
func (e *env) fence(ctx context.Context, t *driver.Table, key driver.Key, rev driver.Token) driver.Token {
	op := opOf(driver.Fence, t, key)
	op.If, op.Rev = driver.AtRev, rev
	return e.commit(ctx, op)
}

func fenceNothing(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	key := e.at(t, "p", "a")
	fence := opOf(driver.Fence, t, key)
	fence.If, fence.Row.Expires = driver.Absent, 12345
	want := driver.Row{Key: key, Dead: true, Expires: 12345}
	want.Rev = e.commit(ctx, fence)
	got := e.get(ctx, t, key)
	rule.Equal(e, "the row", show(&got), show(&want))
	rule.Equal(e, "its Rev and Ring", fmt.Sprint(got.Rev, len(got.Ring)), fmt.Sprint(want.Rev, 0))
}

func set(field int, v driver.Value) driver.Edit {
	return driver.Edit{Do: driver.Set, Field: field, Value: v}
}

func unset(field int) driver.Edit { return driver.Edit{Do: driver.Unset, Field: field} }

func addTo(field int, n int64) driver.Edit {
	return driver.Edit{Do: driver.Add, Field: field, Value: num(n)}
}

// patch applies edits to the row under a key, which is there.
func (e *env) patch(ctx context.Context, t *driver.Table, key driver.Key, edits ...driver.Edit) driver.Token {
	return e.commit(ctx, driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: edits})
}

func editVerbs(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	r := maskedRow(e, t)
	r.Fields = append(r.Fields, bin("b"), driver.TimeValue(1), listOf(num(1)), mapOf(str("k"), num(1)))
	e.commit(ctx, put(t, r))
	steps := []struct {
		edits []driver.Edit
		want  map[int]driver.Value
	}{
		{[]driver.Edit{set(table.String, str("new"))}, map[int]driver.Value{table.String: str("new")}},
		{[]driver.Edit{set(table.String, str("")), unset(table.Int)}, map[int]driver.Value{table.String: str(""), table.Int: {}}},
		{[]driver.Edit{set(table.Bytes, driver.Value{}), set(table.Float, floatVal(0))}, map[int]driver.Value{table.Bytes: {}, table.Float: floatVal(0)}},
		{[]driver.Edit{unset(table.Bytes), addTo(table.Int, -3), set(table.List, listOf(str("a"), str("b")))}, map[int]driver.Value{table.Int: num(-3), table.List: listOf(str("a"), str("b"))}},
		{[]driver.Edit{set(table.Map, mapOf(str("z"), str("y"))), set(table.Bool, driver.BoolValue(false)), set(table.Time, driver.TimeValue(-5))},
			map[int]driver.Value{table.Map: mapOf(str("z"), str("y")), table.Bool: driver.BoolValue(false), table.Time: driver.TimeValue(-5)}},
	}
	for i, step := range steps {
		r.Rev = e.patch(ctx, t, r.Key, step.edits...)
		for field, v := range step.want {
			for len(r.Fields) <= field {
				r.Fields = append(r.Fields, driver.Value{})
			}
			r.Fields[field] = v
		}
		got := e.get(ctx, t, r.Key)
		rule.Equal(e, fmt.Sprintf("the row after patch %d", i), exact(&got), exact(&r))
		rule.Equal(e, "its Rev", got.Rev, r.Rev)
	}
}

func extraEdits(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	r := maskedRow(e, t)
	e.commit(ctx, put(t, r))
	extra := func(do driver.EditVerb, name string, v driver.Value) driver.Edit {
		return driver.Edit{Do: do, Field: -1, Name: name, Value: v}
	}
	e.patch(ctx, t, r.Key, extra(driver.Set, "b", str("text")), extra(driver.Add, "x", num(4)), extra(driver.Add, "new", num(2)), extra(driver.Unset, "none", driver.Value{}))
	r.Extra = []driver.Pair{{Name: "b", Value: str("text")}, {Name: "new", Value: num(2)}, {Name: "x", Value: num(5)}}
	seenEverywhere(ctx, e, t, &r)
	e.patch(ctx, t, r.Key, extra(driver.Unset, "b", driver.Value{}), extra(driver.Set, "new", driver.Value{}), extra(driver.Set, "a.b", driver.BoolValue(true)))
	r.Extra = []driver.Pair{{Name: "a.b", Value: driver.BoolValue(true)}, {Name: "x", Value: num(5)}}
	seenEverywhere(ctx, e, t, &r)
	e.patch(ctx, t, r.Key, extra(driver.Unset, "x", driver.Value{}), extra(driver.Unset, "a.b", driver.Value{}))
	r.Extra = nil
	for _, name := range extraNames() {
		e.patch(ctx, t, r.Key, extra(driver.Add, name, num(3)))
		r.Extra = append(r.Extra, driver.Pair{Name: name, Value: num(3)})
	}
	seenEverywhere(ctx, e, t, &r)
	for _, name := range extraNames()[1:] {
		e.patch(ctx, t, r.Key, extra(driver.Unset, name, driver.Value{}))
	}
	r.Extra = r.Extra[:1]
	seenEverywhere(ctx, e, t, &r)
}

func patchMeta(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	r := maskedRow(e, t)
	e.commit(ctx, put(t, r))
	op := driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: r.Key, Expires: 555, Meta: "other"}, Edits: []driver.Edit{set(table.Int, num(6))}}
	e.commit(ctx, op)
	r.Fields[table.Int] = num(6)
	seenEverywhere(ctx, e, t, &r)
	op.PatchMeta = true
	e.commit(ctx, op)
	r.Expires, r.Meta = 555, "other"
	seenEverywhere(ctx, e, t, &r)
	op.Row.Expires, op.Row.Meta, op.Edits = 556, "third", []driver.Edit{unset(table.Bool)}
	e.commit(ctx, op)
	r.Expires, r.Meta, r.Fields[table.Bool] = 556, "third", driver.Value{}
	seenEverywhere(ctx, e, t, &r)
	op.Row.Expires, op.Row.Meta, op.Edits = 0, "", nil
	e.commit(ctx, op)
	r.Expires, r.Meta = 0, ""
	seenEverywhere(ctx, e, t, &r)
}

func addEdit(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	for _, step := range []struct{ add, want int64 }{
		{5, 5}, {-7, -2}, {0, -2}, {math.MaxInt64, math.MaxInt64 - 2}, {2, math.MaxInt64}, {-math.MaxInt64, 0}, {math.MinInt64, math.MinInt64},
		{math.MaxInt64, -1}, {-math.MaxInt64, math.MinInt64}, {1<<53 + 1, math.MinInt64 + 1<<53 + 1},
	} {
		e.patch(ctx, t, key, addTo(table.Int, step.add))
		got := e.get(ctx, t, key)
		rule.Equal(e, fmt.Sprintf("the sum after %+d", step.add), rule.KindText(field(&got, table.Int)), rule.KindText(num(step.want)))
	}
}

func overflow(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for i, tt := range []struct {
		have driver.Value
		add  int64
	}{{num(math.MaxInt64), 1}, {num(math.MinInt64), -1}, {num(2), math.MaxInt64 - 1}, {num(-1), math.MinInt64}, {num(math.MinInt64), math.MinInt64}} {
		r := row(e.at(t, "p", fmt.Sprint(i)), "x")
		r.Fields[table.Int] = tt.have
		e.commit(ctx, put(t, r))
		before := e.get(ctx, t, r.Key)
		op := driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: r.Key}, Edits: []driver.Edit{set(table.Bool, driver.BoolValue(true)), addTo(table.Int, tt.add)}}
		refusal := e.refused(ctx, op)
		rule.Equal(e, fmt.Sprintf("overflow and edit of the refusal of %v%+d", tt.have, tt.add), fmt.Sprint(refusal.Overflow, refusal.Edit), "true 1")
		rule.Equal(e, "the row of the refusal", show(&refusal.Row), show(&before))
		after := e.get(ctx, t, r.Key)
		rule.Equal(e, "the row after the refusal", show(&after)+after.Rev.String(), show(&before)+before.Rev.String())
	}
	for _, v := range []driver.Value{str("1"), num(math.MaxInt64)} {
		r := row(e.at(t, "p", "undeclared "+v.Kind().String()), "x")
		r.Extra = []driver.Pair{{Name: "x", Value: v}}
		e.commit(ctx, put(t, r))
		op := driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: r.Key}, Edits: []driver.Edit{{Do: driver.Add, Field: -1, Name: "x", Value: num(1)}}}
		refusal := e.refused(ctx, op)
		e.That(refusal.Overflow, fmt.Sprintf("an Add of 1 to the undeclared field %s to be refused as an overflow", rule.KindText(v)), "Overflow false")
	}
}

func overflowAmongOthers(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	a, b := e.at(t, "p", "a"), e.at(t, "p", "b")
	full := row(b, "full")
	full.Fields[table.Int] = num(math.MaxInt64)
	e.commit(ctx, put(t, row(a, "old")), put(t, full))
	patch := driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: b}, Edits: []driver.Edit{unset(table.String), set(table.Bool, driver.BoolValue(true)), addTo(table.Int, 1)}}
	refusal := e.refused(ctx, put(t, row(a, "new")), patch)
	rule.Equal(e, "op, overflow and edit of the refusal", fmt.Sprint(refusal.Op, refusal.Overflow, refusal.Edit), "1 true 2")
	rule.Equal(e, "the other row", e.text(ctx, t, a), "old")
	rule.Equal(e, "the row", e.text(ctx, t, b), "full")
}
