package spi

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

// conditionRules are those of commits: what they ask, what they change, and that
// they do all or nothing.
func conditionRules() []entry {
	return slices.Concat([]entry{
		{Name: "any", Sentence: "If Any holds whatever is there.", Check: func(ctx context.Context, e *env) { condition(ctx, e, driver.Any) }},
		{Name: "absent", Sentence: "If Absent holds where there is no row, not even a dead one.", Check: func(ctx context.Context, e *env) { condition(ctx, e, driver.Absent) }},
		{Name: "present", Sentence: "If Present holds where there is a row that is not dead.", Check: func(ctx context.Context, e *env) { condition(ctx, e, driver.Present) }},
		{Name: "at rev", Sentence: "If AtRev holds where there is a row with that Rev, dead or not.", Check: func(ctx context.Context, e *env) { condition(ctx, e, driver.AtRev) }},
		{Name: "first refused", Sentence: "A Refusal names the first op whose condition did not hold.", Needs: tested.ChangesPartition, Check: firstRefused},
		{Name: "refused row", Sentence: "A Refusal has what is there, whole, and a zero Rev when there is no row.", Check: refusedRow},
		{Name: "refusals for good", Sentence: "The row of a Refusal belongs to the caller for good.", Check: refusalsForGood},
		{Name: "none after a refusal", Sentence: "After a Refusal nothing has changed.", Needs: tested.ChangesPartition, Check: noneAfterRefusal},
		{Name: "stale hints", Sentence: "A Hint from an earlier Get does not make a condition hold.", Check: staleHints},
	}, verbRules(), commitRules())
}

// The rows of a test of conditions: one of each state that a row can have.
func states(ctx context.Context, e *env, t *driver.Table, prefix string) map[string]driver.Key {
	keys := map[string]driver.Key{}
	for _, state := range []string{"missing", "live", "dead"} {
		keys[state] = e.at(t, prefix, state)
	}
	e.commit(ctx, put(t, row(keys["live"], "old")))
	e.commit(ctx, put(t, driver.Row{Key: keys["dead"], Dead: true, Expires: 9}))
	return keys
}

// opOf returns an op of a verb that would change what is there.
func opOf(do driver.Verb, t *driver.Table, key driver.Key) driver.Op {
	op := driver.Op{Do: do, Table: t, Row: driver.Row{Key: key}}
	switch do {
	case driver.Put:
		op.Row = row(key, "new")
	case driver.Patch:
		op.Edits = []driver.Edit{{Do: driver.Set, Field: table.Int, Value: num(1)}}
	case driver.Fence:
		op.Row.Expires = 8
	}
	return op
}

// condition tries every verb under one condition on a row of each state.
func condition(ctx context.Context, e *env, cond driver.Cond) {
	t := e.Tables.Ringed
	holds := map[driver.Cond][]string{driver.Any: {"missing", "live", "dead"}, driver.Absent: {"missing"}, driver.Present: {"live"}, driver.AtRev: {"live", "dead"}}
	for do := driver.Check; do <= driver.Fence; do++ {
		if op := opOf(do, t, driver.Key{}); !mayBe(&op, cond) {
			continue
		}
		for state, key := range states(ctx, e, t, fmt.Sprint(do)) {
			before := e.get(ctx, t, key)
			op := opOf(do, t, key)
			op.If = cond
			if cond == driver.AtRev {
				op.Rev = driver.NewToken()
				e.refused(ctx, op)
				op.Rev = before.Rev
			}
			what := fmt.Sprintf("%s if %s on a row that is %s", do, cond, state)
			if slices.Contains(holds[cond], state) {
				token := e.commit(ctx, op)
				changedTo(ctx, e, what, op, token, before)
				continue
			}
			refusal := e.refused(ctx, op)
			rule.Equal(e, what+": the row of the refusal", show(&refusal.Row), show(&before))
			after := e.get(ctx, t, key)
			rule.Equal(e, what+": the row after the refusal", show(&after)+after.Rev.String(), show(&before)+before.Rev.String())
		}
	}
}

// mayBe reports whether an op may have a condition.
func mayBe(op *driver.Op, cond driver.Cond) bool {
	op.If = cond
	return op.Validate() == nil
}

// changedTo compares what is there after an op with what it should have made of
// what was there before.
func changedTo(ctx context.Context, e *env, what string, op driver.Op, token driver.Token, before driver.Row) {
	want := double.CopyRow(&before)
	want.Rev = token
	switch op.Do {
	case driver.Check:
		want.Rev = before.Rev
	case driver.Put:
		want = op.Row
		want.Rev = token
	case driver.Patch:
		for len(want.Fields) <= table.Int {
			want.Fields = append(want.Fields, driver.Value{})
		}
		want.Fields[table.Int] = num(1)
	case driver.Delete:
		want = driver.Row{}
	case driver.Fence:
		if before.Rev.IsZero() {
			want.Dead, want.Expires = true, op.Row.Expires
		}
	}
	after := e.get(ctx, op.Table, op.Row.Key)
	rule.Equal(e, what+": the row after it", show(&after), show(&want))
	rule.Equal(e, what+": its Rev", after.Rev, want.Rev)
}

func firstRefused(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	keys := make([]driver.Key, 6)
	for i := range keys {
		keys[i] = e.at(t, "p", fmt.Sprint(i))
		if i%2 == 0 {
			e.commit(ctx, put(t, row(keys[i], fmt.Sprint(i))))
		}
	}
	for first := range keys {
		ops := make([]driver.Op, len(keys))
		for i, k := range keys {
			holds := driver.Absent
			if i%2 == 0 {
				holds = driver.Present
			}
			fails := driver.Present + driver.Absent - holds
			ops[i] = put(t, row(k, "new"))
			ops[i].If = holds
			if i >= first {
				ops[i].If = fails
			}
		}
		refusal := e.refused(ctx, ops...)
		rule.Equal(e, fmt.Sprintf("the op refused when ops %d to 5 could not be done", first), refusal.Op, first)
		want := "no row"
		if first%2 == 0 {
			want = fmt.Sprint(first)
		}
		rule.Equal(e, "the row of the refusal", textOf(&refusal.Row), want)
	}
}

func refusedRow(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	r := maskedRow(e, t)
	r.Rev = e.commit(ctx, put(t, r))
	op := driver.Op{Do: driver.Patch, Table: t, Row: driver.Row{Key: r.Key}, If: driver.AtRev, Rev: driver.NewToken(), Edits: []driver.Edit{{Do: driver.Unset, Field: table.Int}}}
	refusal := e.refused(ctx, op)
	rule.Equal(e, "the row of the refusal", show(&refusal.Row), show(&r))
	rule.Equal(e, "its Rev and Ring", fmt.Sprint(refusal.Row.Rev, refusal.Row.Ring), fmt.Sprint(r.Rev, []driver.Token{r.Rev}))
	e.That(!refusal.Overflow, "no overflow", "one")
	op.Row.Key = e.at(t, "p", "none")
	refusal = e.refused(ctx, op)
	e.That(refusal.Row.Rev.IsZero(), "a zero Rev where there is no row", "%s", refusal.Row.Rev)
}

func refusalsForGood(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var want, got []string
	var kept []*driver.Refusal
	for i := range 30 {
		r := row(e.at(t, "p", fmt.Sprint(i)), fmt.Sprintf("row %02d of thirty", i))
		r.Extra = []driver.Pair{{Name: fmt.Sprintf("extra %02d", i), Value: num(int64(i))}}
		e.commit(ctx, put(t, r))
		op := put(t, r)
		op.If = driver.Absent
		kept = append(kept, e.refused(ctx, op))
		r.Rev = driver.NewToken()
		want = append(want, show(&r))
	}
	for _, refusal := range kept {
		got = append(got, show(&refusal.Row))
	}
	rule.Equal(e, "the rows of refusals, looked at later", got, want)
}

func noneAfterRefusal(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	keys := []driver.Key{e.at(t, "p", "put"), e.at(t, "p", "patch"), e.at(t, "p", "delete"), e.at(t, "p", "fence"), e.at(t, "p", "refused")}
	for _, k := range keys {
		e.commit(ctx, put(t, row(k, "old")))
	}
	before := e.getAll(ctx, t, nil, keys...)
	ops := []driver.Op{opOf(driver.Put, t, keys[0]), opOf(driver.Patch, t, keys[1]), opOf(driver.Delete, t, keys[2]), opOf(driver.Fence, t, keys[3]), opOf(driver.Put, t, keys[4])}
	ops[1].If, ops[4].If = driver.Present, driver.Absent
	ops[3].If, ops[3].Rev = driver.AtRev, before[3].Rev
	for range len(ops) {
		ops = append(ops[1:], ops[0]) // the op that is refused stands at every place
		e.refused(ctx, ops...)
		for i, r := range e.getAll(ctx, t, nil, keys...) {
			rule.Equal(e, "the row "+keys[i].Sort+" after a refusal", show(&r)+r.Rev.String(), show(&before[i])+before[i].Rev.String())
		}
	}
	rule.Equal(e, "the number of rows", len(e.rows(ctx, span(t, keys[0]))), len(keys))
}

func staleHints(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "one")))
	one := e.get(ctx, t, key)
	two := e.commit(ctx, put(t, row(key, "two")))
	for _, do := range []driver.Verb{driver.Put, driver.Patch, driver.Delete, driver.Fence, driver.Check} {
		op := opOf(do, t, key)
		op.If, op.Rev, op.Row.Hint = driver.AtRev, one.Rev, one.Hint
		refusal := e.refused(ctx, op)
		rule.Equal(e, "the Rev of the refusal", refusal.Row.Rev, two)
	}
	e.commit(ctx, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: key, Hint: one.Hint}})
	op := opOf(driver.Put, t, key)
	op.If, op.Rev, op.Row.Hint = driver.AtRev, two, one.Hint
	e.refused(ctx, op)
	op.If = driver.Absent
	e.commit(ctx, op)
	rule.Equal(e, "the row at last", e.text(ctx, t, key), "new")
}
