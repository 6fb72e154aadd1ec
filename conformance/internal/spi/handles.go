package spi

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

// handleRules open the store once more while it is open, as another program does: what a
// handle keeps to itself, a lock or rows that it read, is not known to the other one.
func handleRules() []entry {
	list := []entry{
		{Name: "commits", Sentence: "Of commits at once by two programs each sees the ones before it.", Check: onTwo(commitsOfTwo)},
		{Name: "read after write", Sentence: "What one program wrote the other reads, as soon as it was acknowledged: by key, in order and counted.", Check: onTwo(readsOfTwo)},
		{Name: "tables", Sentence: "Attach and Define know what another program has defined, extended or dropped meanwhile.", Check: onTwo(tablesOfTwo)},
		{Name: "close", Sentence: "Close of one handle leaves the other open.", Check: closeOfTwo},
	}
	for i := range list {
		list[i].Needs = tested.Others
	}
	return list
}

// onTwo calls check with a second handle that knows the tables of the suite.
func onTwo(check func(ctx context.Context, one, two *env)) func(context.Context, *env) {
	return func(ctx context.Context, e *env) {
		e.WithSecond(ctx, func(two *rule.Env) { check(ctx, e, newEnv(two)) })
	}
}

// turns returns a function that returns one handle and the other by turns.
func turns(one, two *env) func(i int) *env {
	return func(i int) *env { return []*env{one, two}[i%2] }
}

func commitsOfTwo(ctx context.Context, one, two *env) {
	t, of := one.Tables.Ringed, turns(one, two)
	for round := range 15 {
		key := one.at(t, "p", fmt.Sprint(round))
		insert := put(t, row(key, "insert"))
		insert.If = driver.Absent
		rule.Equal(one, "the number of inserts by two programs that were done", len(winnersOf(ctx, of, 8, insert)), 1)
		update := put(t, row(key, "update"))
		update.If, update.Rev = driver.AtRev, of(round).get(ctx, t, key).Rev
		rule.Equal(one, "the number of updates of one Rev, by two programs, that were done", len(winnersOf(ctx, of, 8, update)), 1)
	}
	sum := one.at(t, "p", "sum")
	one.commit(ctx, put(t, row(sum, "sum")))
	add := driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: sum}, Edits: []driver.Edit{addTo(table.Int, 1)}}
	for range 10 {
		rule.Equal(one, "the number of Adds by two programs that were done", len(winnersOf(ctx, of, 8, add)), 8)
	}
	for i := range 2 {
		got := of(i).get(ctx, t, sum)
		rule.Equal(one, "the sum", rule.KindText(field(&got, table.Int)), rule.KindText(num(80)))
	}
}

// winnersOf returns which of n commits of one op, at once and by two handles, are done.
func winnersOf(ctx context.Context, of func(i int) *env, n int, op driver.Op) (won []int) {
	done := make([]bool, n)
	of(0).Parallel(n, func(i int) error {
		refusal, err := of(i).Store.Commit(ctx, driver.NewToken(), []driver.Op{op})
		done[i] = err == nil && refusal == nil
		return err
	})
	for i := range done {
		if done[i] {
			won = append(won, i)
		}
	}
	return won
}

// readsOfTwo lets one handle write and the other read, by turns.
func readsOfTwo(ctx context.Context, one, two *env) {
	t := one.Tables.Ringed
	there := map[string]string{}
	for i := range 40 {
		writer, reader := turns(one, two)(i/8), turns(one, two)(i/8+1)
		key := one.at(t, "p", fmt.Sprint(i%3))
		op := put(t, row(key, fmt.Sprint(i)))
		there[key.Sort] = fmt.Sprint(i)
		if i%5 == 4 {
			op = driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: key}}
			delete(there, key.Sort)
		}
		rev := writer.commit(ctx, op)
		got := reader.get(ctx, t, key)
		if op.Do == driver.Put {
			rule.Equal(one, "the Rev of what the other program wrote", got.Rev, rev)
		}
		rule.Equal(one, "the row after a "+op.Do.String()+" by the other program", got.Rev.IsZero(), op.Do == driver.Delete)
		seen := map[string]string{}
		for _, r := range reader.rows(ctx, span(t, key)) {
			seen[r.Key.Sort] = textOf(&r)
		}
		rule.Equal(one, "the rows by range", seen, there)
		if c, ok := reader.Store.(driver.Counter); ok && one.Facts.Counts.Has {
			n, err := c.Count(ctx, span(t, key))
			one.OK("count", err)
			rule.Equal(one, "the count", n, len(there))
		}
	}
}

// tablesOfTwo defines, extends and drops a table by one handle, all of which the other one
// learns by Attach.
func tablesOfTwo(ctx context.Context, one, two *env) {
	t := one.ownTable(table.Fields()[:4]...)
	twin, wide := *t, *t
	wide.Fields = table.Fields()
	attach := func(t *driver.Table) error { return two.Store.Attach(ctx, []*driver.Table{t}) }
	one.Is("attach of a table that there is not", attach(&twin), driver.ErrSchema)
	one.define(ctx, t)
	key, other := one.at(t, "p", "a"), one.at(t, "p", "b")
	one.commit(ctx, put(t, row(key, "one")))
	one.OK("attach of a table that another program has defined", attach(&twin))
	rule.Equal(one, "the row of the other program", two.text(ctx, &twin, key), "one")
	two.commit(ctx, put(&twin, row(other, "two")))
	rule.Equal(one, "the row of the other program", one.text(ctx, t, other), "two")
	full := wide
	one.define(ctx, &full)
	one.commit(ctx, put(&full, driver.Row{Key: key, Fields: []driver.Value{table.String: str("wide"), table.Bytes: bin("more")}}))
	got := two.get(ctx, &twin, key)
	rule.Equal(one, "the row, by a program that does not know the new field", textOf(&got)+fmt.Sprint(got.Extra), "wide"+fmt.Sprint([]driver.Pair{{Name: "f_bytes", Value: bin("more")}}))
	one.OK("attach of a table that another program has extended", attach(&wide))
	got = two.get(ctx, &wide, key)
	rule.Equal(one, "the new field", rule.KindText(field(&got, table.Bytes)), rule.KindText(bin("more")))
	one.OK("drop", one.Store.Drop(ctx, []*driver.Table{t}))
	late := *t
	one.Is("attach of a table that another program has dropped", attach(&late), driver.ErrSchema)
	two.define(ctx, &late)
	rule.Equal(one, "the row of a table that was dropped and defined anew", two.text(ctx, &late, key), "no row")
}

func closeOfTwo(ctx context.Context, e *env) {
	t, key := e.Tables.Sorted, e.at(e.Tables.Sorted, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	two := newEnv(e.Second(ctx))
	one := newEnv(e.Second(ctx))
	for _, other := range []*env{two, one} {
		e.OK("attach", other.Store.Attach(ctx, e.Tables.All(e.Facts)))
	}
	e.OK("close of one handle", two.Store.Close())
	rule.Equal(e, "the row by a handle that was opened later", one.text(ctx, t, key), "x")
	one.commit(ctx, put(t, row(key, "y")))
	rule.Equal(e, "the row by a handle that was opened before", e.text(ctx, t, key), "y")
	e.Is("get by the handle that was closed", two.Store.Get(ctx, t, []driver.Key{key}, nil, make([]driver.Row, 1)), driver.ErrClosed)
	e.OK("close of another handle", one.Store.Close())
	e.commit(ctx, put(t, row(key, "z")))
}
