package spi

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// sweep sweeps a table whose records change meanwhile, if the store is a Sweeper.
func sweep(ctx context.Context, e *env) {
	s, ok := e.Store.(driver.Sweeper)
	if !ok {
		return
	}
	t := e.ownTable(table.Fields()...)
	t.Ring = table.RingSize
	e.define(ctx, t)
	key := func(i int) driver.Key { return e.at(t, fmt.Sprint("p", i%2), fmt.Sprintf("%03d", i)) }
	dead := func(i int) driver.Op { return put(t, driver.Row{Key: key(i), Dead: true, Expires: 1}) }
	const n, revived, fenced, kept, live = 60, 10, 21, 32, 43
	for i := range n {
		if e.commit(ctx, dead(i)); i == live {
			e.commit(ctx, put(t, row(key(i), "live")))
		}
	}
	old := func(r *driver.Row) bool {
		switch r.Key {
		case key(revived):
			e.commit(ctx, put(t, row(r.Key, "back")))
		case key(fenced):
			e.commit(ctx, driver.Op{Do: driver.Fence, Table: t, If: driver.AtRev, Rev: r.Rev, Row: driver.Row{Key: r.Key, Expires: 9}})
		}
		return r.Key != key(kept)
	}
	removed, listed := swept(ctx, e, s, t, old)
	e.That(removed >= n-4 && removed <= n-2, "a sweep to have removed all but the four that stay", "%d of %d", removed, n)
	for _, i := range []int{kept, live} {
		e.That(slices.Contains(listed, key(i)), "a sweep to list the rows that stay", "%d rows without %v", len(listed), key(i))
	}
	for i := range n {
		r := e.get(ctx, t, key(i))
		is := map[bool]string{true: "dead", false: textOf(&r)}[r.Dead]
		rule.Equal(e, fmt.Sprintf("record %d after a sweep", i), is, cmp.Or(map[int]string{revived: "back", fenced: "dead", kept: "dead", live: "live"}[i], "no row"))
	}
	e.commit(ctx, driver.Op{Do: driver.Put, Table: t, If: driver.Absent, Row: row(key(1), "anew")})
	rule.Equal(e, "what is inserted where a record was swept", e.text(ctx, t, key(1)), "anew")
	_, err := s.Sweep(ctx, t, "no mark", old)
	e.Is("a sweep from a bad mark", err, driver.ErrInvalid)
}

// swept sweeps a table to its end.
func swept(ctx context.Context, e *env, s driver.Sweeper, t *driver.Table, old func(*driver.Row) bool) (removed int, listed []driver.Key) {
	for mark, first := "", true; first || mark != ""; first = false {
		page, err := s.Sweep(ctx, t, mark, old)
		e.OK("sweep", err)
		for _, r := range page.Rows {
			listed = append(listed, r.Key)
		}
		removed, mark = removed+page.Dead, page.Mark
	}
	return removed, listed
}

// anewOverOthers has a program write where a newer one deleted, and where it deleted itself.
func anewOverOthers(ctx context.Context, e *env) {
	a := driver.Column{Name: "a", Kind: driver.String}
	older := e.ownTable(a)
	older.Ring = table.RingSize
	newer := *older
	newer.Fields = []driver.Column{a, {Name: "f", Kind: driver.Int}, {Name: "g", Kind: driver.String}}
	index := &driver.Table{Name: older.Name + ".index", Class: driver.Rows, Partition: older.Partition, Sort: older.Sort, Fields: older.Fields, Home: older}
	newIndex := *index
	newIndex.Fields, newIndex.Home = newer.Fields, &newer
	olds, news := []*driver.Table{older}, []*driver.Table{&newer}
	if e.Facts.Scope >= driver.ScopePartition {
		olds, news = append(olds, index), append(news, &newIndex)
	}
	e.define(ctx, olds...)
	e.define(ctx, news...)
	with := func(t *driver.Table, key driver.Key) driver.Row {
		return driver.Row{Key: key, Fields: []driver.Value{str("x"), num(5), str("y")}[:len(t.Fields)]}
	}
	for deleter := range 2 { // the newer program, then the older one, that has not met such a record
		keys := []driver.Key{e.at(older, "p", fmt.Sprint(deleter)), e.at(older, "p", fmt.Sprint(deleter))}[:len(olds)]
		for i, t := range news {
			e.commit(ctx, put(t, with(t, keys[i])))
		}
		by := [][]*driver.Table{news, olds}[deleter]
		death := put(by[0], driver.Row{Key: keys[0], Dead: true, Expires: 1})
		expectRow(ctx, e, "at its Rev, with its Ring", &death)
		ops := []driver.Op{death}
		if len(by) > 1 {
			ops = append(ops, driver.Op{Do: driver.Delete, Table: by[1], Row: driver.Row{Key: keys[1]}})
		}
		e.commit(ctx, ops...)
		writesAnew(ctx, e, olds, news, keys)
	}
}

// writesAnew puts rows as a program that knows less and compares what either sees.
func writesAnew(ctx context.Context, e *env, olds, news []*driver.Table, keys []driver.Key) {
	op := driver.Op{Do: driver.Put, Table: olds[0], If: driver.Absent, Row: driver.Row{Key: keys[0], Fields: texts("z")}}
	found := e.refused(ctx, op).Row
	op.If, op.Rev, op.Row.Ring, op.Row.Hint = driver.AtRev, found.Rev, found.Ring, found.Hint
	ops := []driver.Op{op}
	if len(olds) > 1 {
		ops = append(ops, put(olds[1], driver.Row{Key: keys[1], Fields: texts("z")}))
	}
	e.commit(ctx, ops...)
	for i, t := range news {
		got := e.get(ctx, t, keys[i])
		rule.Equal(e, "the fields in "+t.Class.String()+", as the newer program sees them", got.Fields, []driver.Value{str("z"), {}, {}})
		got = e.get(ctx, olds[i], keys[i])
		rule.Equal(e, "the undeclared fields in "+t.Class.String(), len(got.Extra), 0)
	}
}
