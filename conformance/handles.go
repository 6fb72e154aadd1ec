package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/history"
	"github.com/polystore/polystore/conformance/internal/record"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// handleRules open the store once more while it is open, as another program does: what a
// handle keeps to itself, a lock or rows that it read, is not known to the other one.
func handleRules() []rule {
	list := []rule{
		{name: "commits", sentence: "Of commits at once by two programs each sees the ones before it.", check: onTwo(commitsOfTwo)},
		{name: "unique values", sentence: "Of inserts at once with one unique value, by two programs, one succeeds.", needs: tested.KeepsFar, check: onTwo(valuesOfTwo)},
		{name: "read after write", sentence: "What one program wrote the other reads, as soon as it was acknowledged: by key, in order and counted.", check: onTwo(readsOfTwo)},
		{name: "tables", sentence: "Attach and Define know what another program has defined, extended or dropped meanwhile.", check: onTwo(tablesOfTwo)},
		{name: "histories", sentence: "What clients of two programs see at once is explained by some order of their calls.", check: onTwo(historiesOfTwo)},
		{name: "close", sentence: "Close of one handle leaves the other open.", check: closeOfTwo},
	}
	for i := range list {
		needs := list[i].needs
		list[i].needs = tested.Others
		if needs != nil {
			list[i].needs = tested.Both(tested.Others, needs)
		}
	}
	return list
}

// on returns an env of the rule on another handle. It makes no names.
func (e *env) on(store driver.Store) *env {
	s := &suite{open: e.open, store: store, facts: store.Facts(), repo: repo.NewStore(store, nil), id: e.id, limits: e.limits, tables: e.tables, shared: map[string]*sharing{}}
	return &env{suite: s, tag: e.tag, base: e.base, dog: e.dog}
}

// second opens the store once more. The caller closes it.
func (e *env) second(ctx context.Context) *env {
	store, err := e.open(ctx)
	e.ok("open of a store that is open", err)
	return e.on(store)
}

// onTwo calls check with a second handle that knows the tables of the suite.
func onTwo(check func(ctx context.Context, one, two *env)) func(context.Context, *env) {
	return func(ctx context.Context, e *env) {
		two := e.second(ctx)
		defer two.store.Close()
		e.ok("attach by the second handle", two.store.Attach(ctx, e.tables.all(e.facts)))
		check(ctx, e, two)
		e.ok("close of the second handle", two.store.Close())
	}
}

// turns returns a function that returns one handle and the other by turns.
func turns(one, two *env) func(i int) *env {
	return func(i int) *env { return []*env{one, two}[i%2] }
}

func commitsOfTwo(ctx context.Context, one, two *env) {
	t, of := one.tables.ringed, turns(one, two)
	for round := range 15 {
		key := one.at(t, "p", fmt.Sprint(round))
		insert := put(t, row(key, "insert"))
		insert.If = driver.Absent
		equal(one, "the number of inserts by two programs that were done", len(winnersOf(ctx, of, 8, insert)), 1)
		update := put(t, row(key, "update"))
		update.If, update.Rev = driver.AtRev, of(round).get(ctx, t, key).Rev
		equal(one, "the number of updates of one Rev, by two programs, that were done", len(winnersOf(ctx, of, 8, update)), 1)
	}
	sum := one.at(t, "p", "sum")
	one.commit(ctx, put(t, row(sum, "sum")))
	add := driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: sum}, Edits: []driver.Edit{addTo(fInt, 1)}}
	for range 10 {
		equal(one, "the number of Adds by two programs that were done", len(winnersOf(ctx, of, 8, add)), 8)
	}
	for i := range 2 {
		got := of(i).get(ctx, t, sum)
		equal(one, "the sum", kindText(field(&got, fInt)), kindText(num(80)))
	}
}

// winnersOf returns which of n commits of one op, at once and by two handles, are done.
func winnersOf(ctx context.Context, of func(i int) *env, n int, op driver.Op) (won []int) {
	done := make([]bool, n)
	of(0).parallel(n, func(i int) error {
		refusal, err := of(i).store.Commit(ctx, driver.NewToken(), []driver.Op{op})
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

func valuesOfTwo(ctx context.Context, one, two *env) {
	people := []*repo.Repo[person]{one.people(ctx), two.people(ctx)}
	for round := range 8 {
		mail, won := one.name(fmt.Sprint("mail", round)), make([]bool, 6)
		one.parallel(len(won), func(i int) error {
			p := one.person(fmt.Sprint(round, "-", i))
			p.Email = &mail
			err := people[i%2].Insert(ctx, &p)
			won[i] = err == nil
			if errors.Is(err, repo.ErrExists) {
				return nil
			}
			return err
		})
		owner := slices.Index(won, true)
		one.that(owner >= 0 && !slices.Contains(won[owner+1:], true), "one insert to succeed", "%v", won)
		for i := range 2 {
			equal(one, "the owner of the value", ownerOf(ctx, turns(one, two)(i), mail), one.name(fmt.Sprint(round, "-", owner)))
		}
		one.ok("delete by the other program", people[1-owner%2].Delete(ctx, repo.Key{one.name(fmt.Sprint(round, "-", owner))}))
		again := one.person(fmt.Sprint(round, "-again"))
		again.Email = &mail
		one.ok("insert of a value that the other program has freed", people[owner%2].Insert(ctx, &again))
	}
	clean(ctx, two, people[1])
}

// readsOfTwo lets one handle write and the other read, by turns.
func readsOfTwo(ctx context.Context, one, two *env) {
	t := one.tables.ringed
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
			equal(one, "the Rev of what the other program wrote", got.Rev, rev)
		}
		equal(one, "the row after a "+op.Do.String()+" by the other program", got.Rev.IsZero(), op.Do == driver.Delete)
		seen := map[string]string{}
		for _, r := range reader.rows(ctx, span(t, key)) {
			seen[r.Key.Sort] = textOf(&r)
		}
		equal(one, "the rows by range", seen, there)
		if c, ok := reader.store.(driver.Counter); ok && one.facts.Counts.Has {
			n, err := c.Count(ctx, span(t, key))
			one.ok("count", err)
			equal(one, "the count", n, len(there))
		}
	}
}

// tablesOfTwo defines, extends and drops a table by one handle, all of which the other one
// learns by Attach.
func tablesOfTwo(ctx context.Context, one, two *env) {
	t := one.ownTable(fieldColumns()[:4]...)
	twin, wide := *t, *t
	wide.Fields = fieldColumns()
	attach := func(t *driver.Table) error { return two.store.Attach(ctx, []*driver.Table{t}) }
	one.is("attach of a table that there is not", attach(&twin), driver.ErrSchema)
	one.define(ctx, t)
	key, other := one.at(t, "p", "a"), one.at(t, "p", "b")
	one.commit(ctx, put(t, row(key, "one")))
	one.ok("attach of a table that another program has defined", attach(&twin))
	equal(one, "the row of the other program", two.text(ctx, &twin, key), "one")
	two.commit(ctx, put(&twin, row(other, "two")))
	equal(one, "the row of the other program", one.text(ctx, t, other), "two")
	full := wide
	one.define(ctx, &full)
	one.commit(ctx, put(&full, driver.Row{Key: key, Fields: []driver.Value{fString: str("wide"), fBytes: bin("more")}}))
	got := two.get(ctx, &twin, key)
	equal(one, "the row, by a program that does not know the new field", textOf(&got)+fmt.Sprint(got.Extra), "wide"+fmt.Sprint([]driver.Pair{{Name: "f_bytes", Value: bin("more")}}))
	one.ok("attach of a table that another program has extended", attach(&wide))
	got = two.get(ctx, &wide, key)
	equal(one, "the new field", kindText(field(&got, fBytes)), kindText(bin("more")))
	one.ok("drop", one.store.Drop(ctx, []*driver.Table{t}))
	late := *t
	one.is("attach of a table that another program has dropped", attach(&late), driver.ErrSchema)
	two.define(ctx, &late)
	equal(one, "the row of a table that was dropped and defined anew", two.text(ctx, &late, key), "no row")
}

// historiesOfTwo makes histories of each kind whose clients are of one handle and the other.
func historiesOfTwo(ctx context.Context, one, two *env) {
	schema := record.Schema(one.facts, true)
	name := one.freshName()
	var repos []*repo.Repo[record.Entry]
	for _, e := range []*env{one, two} {
		schema.Collection = name
		r, err := repo.Open[record.Entry](ctx, repo.NewStore(double.Jittery{Store: e.store}, nil), schema)
		one.ok("open", err)
		repos = append(repos, r)
	}
	for i := range 2 {
		for k, kind := range history.KindsOf(tested.Reach(one.facts)) {
			h := history.NewHistory(repos[0], uint64(one.base), 3*i+k)
			h.Others = repos[1:]
			if err := h.Run(ctx, kind); err != nil {
				panic(finding.AsMismatch(err))
			}
		}
	}
}

func closeOfTwo(ctx context.Context, e *env) {
	t, key := e.tables.sorted, e.at(e.tables.sorted, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	two := e.second(ctx)
	one := e.second(ctx)
	for _, other := range []*env{two, one} {
		e.ok("attach", other.store.Attach(ctx, e.tables.all(e.facts)))
	}
	e.ok("close of one handle", two.store.Close())
	equal(e, "the row by a handle that was opened later", one.text(ctx, t, key), "x")
	one.commit(ctx, put(t, row(key, "y")))
	equal(e, "the row by a handle that was opened before", e.text(ctx, t, key), "y")
	e.is("get by the handle that was closed", two.store.Get(ctx, t, []driver.Key{key}, nil, make([]driver.Row, 1)), driver.ErrClosed)
	e.ok("close of another handle", one.store.Close())
	e.commit(ctx, put(t, row(key, "z")))
}
