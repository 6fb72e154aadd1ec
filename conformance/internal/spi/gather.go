package spi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// gatheredRows is how many rows a table of a gathering has: several pages.
const gatheredRows = 700

// gather reads tables that lie together, among other rows, if the store is a Gatherer.
func gather(ctx context.Context, e *env) {
	s, ok := e.Store.(driver.Gatherer)
	if !ok {
		return
	}
	host, many, one := e.gatherTables(ctx)
	var ops []driver.Op
	for i := range gatheredRows {
		name := fmt.Sprintf("%04d", i)
		ops = append(ops, put(host, row(e.at(host, "p", name), "host "+name)),
			put(many, driver.Row{Key: e.at(many, "p", name), Fields: []driver.Value{num(int64(i))}}))
	}
	ops = append(ops, put(one, row(e.at(one, "p"), "one")))
	for _, other := range []string{"o", "p\x00", "pp", ""} {
		e.commit(ctx, put(host, row(e.at(host, other, "x"), other)), put(one, row(e.at(one, other), other)))
	}
	for _, t := range []*driver.Table{host, many} {
		ops = append(ops, put(t, driver.Row{Key: e.at(t, "p", "0100 dead"), Dead: true, Expires: 1}))
	}
	e.commitMany(ctx, ops)
	for _, tables := range [][]*driver.Table{{host, many, one}, {one, host}, {many, one}, {many}} {
		for _, p := range []string{"p", "pp", "nobody's"} {
			e.gathered(ctx, s, tables, p)
		}
	}
	e.gathersNot(ctx, s, host, many)
}

// gatherTables makes tables that lie together: two with an order, of which the fields of a name have different kinds,
// and one without; and an index of each that lies with them, too, and has rows.
func (e *env) gatherTables(ctx context.Context) (host, many, one *driver.Table) {
	host = e.ownTable(table.Fields()...)
	many, one = e.ownTable(driver.Column{Name: "f_string", Kind: driver.Int}), e.ownTable(table.Fields()...)
	many.Home, one.Home, one.Sort = host, host, nil
	e.define(ctx, host)
	e.define(ctx, many)
	e.define(ctx, one)
	if e.Facts.Scope < driver.ScopePartition {
		return host, many, one
	}
	for _, t := range []*driver.Table{host, many} {
		index := &driver.Table{Name: t.Name + ".index", Class: driver.Rows, Partition: t.Partition, Sort: t.Sort, Home: t}
		e.define(ctx, index)
		e.commit(ctx, put(index, driver.Row{Key: e.at(index, "p", "0500")}))
	}
	return host, many, one
}

// gathered compares what is gathered of tables in a partition with the range of each.
func (e *env) gathered(ctx context.Context, s driver.Gatherer, tables []*driver.Table, p string) {
	partition := e.at(tables[0], p, "")
	rows := make([][]driver.Row, len(tables))
	e.OK("gather", s.Gather(ctx, tables, partition.Partition, func(i int, r *driver.Row) bool {
		e.That(i >= 0 && i < len(tables), "the index of a table", "%d of %d", i, len(tables))
		rows[i] = append(rows[i], double.CopyRow(r))
		e.That(len(rows[i]) <= table.MostRows, "the gathering to end", "%d rows", len(rows[i]))
		return true
	}))
	for i, t := range tables {
		want := e.rows(ctx, span(t, partition))
		rule.Equal(e, fmt.Sprintf("the rows gathered of table %d of %d in %q", i, len(tables), p), sorts(rows[i]), sorts(want))
		for j := range want {
			got := &rows[i][j]
			rule.Equal(e, "the partition of a row that was gathered", got.Key.Partition, partition.Partition)
			rule.Equal(e, "a row that was gathered", show(got), show(&want[j]))
			e.That(got.Rev == want[j].Rev && slices.Equal(got.Ring, want[j].Ring), "its Rev and Ring", "%s, %s", got.Rev, got.Ring)
		}
	}
}

// gathersNot has gatherings that end early, or cannot begin.
func (e *env) gathersNot(ctx context.Context, s driver.Gatherer, host, many *driver.Table) {
	partition, n := e.at(host, "p", "").Partition, 0
	e.OK("gather of some", s.Gather(ctx, []*driver.Table{host, many}, partition, func(int, *driver.Row) bool { n++; return n < 5 }))
	rule.Equal(e, "the rows of a gathering that was ended after 5", n, 5)
	over, cancel := context.WithCancel(ctx)
	cancel()
	none := func(int, *driver.Row) bool { n++; return true }
	err := s.Gather(over, []*driver.Table{host, many}, partition, none)
	e.That(errors.Is(err, driver.ErrTimeout) && errors.Is(err, context.Canceled), "gather with a context that is over to be ErrTimeout", "%v", err)
	rule.Equal(e, "the rows after that", n, 5)
	e.Is("gather from a table that is not known", s.Gather(ctx, []*driver.Table{host, {Name: "nobody"}}, partition, none), driver.ErrInvalid)
}
