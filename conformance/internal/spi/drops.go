package spi

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// fillTables defines tables, each with rows of its own under the same keys.
func fillTables(ctx context.Context, e *env, tables ...*driver.Table) {
	e.define(ctx, tables...)
	for _, t := range tables {
		for _, sort := range []string{"a", "b"} {
			e.commit(ctx, put(t, row(e.at(t, "p", sort), t.Name)))
		}
	}
}

// areFilled sees that tables have their rows, and no others.
func areFilled(ctx context.Context, e *env, when string, tables ...*driver.Table) {
	for _, t := range tables {
		e.OK(fmt.Sprintf("attach of %s %s", t.Name, when), e.Store.Attach(ctx, []*driver.Table{t}))
		rule.Equal(e, fmt.Sprintf("the row of %s by get %s", t.Name, when), e.text(ctx, t, e.at(t, "p", "a")), t.Name)
		for way, rows := range map[string][]driver.Row{"range": e.rows(ctx, span(t, e.at(t, "p", ""))), "walk": e.walk(ctx, t)} {
			rule.Equal(e, fmt.Sprintf("the number of rows of %s by %s %s", t.Name, way, when), len(rows), 2)
			for i := range rows {
				rule.Equal(e, fmt.Sprintf("a row of %s by %s %s", t.Name, way, when), textOf(&rows[i]), t.Name)
			}
		}
	}
}

// areGone sees that there are no such tables, and no rows when they are made again.
func areGone(ctx context.Context, e *env, when string, tables ...*driver.Table) {
	for _, t := range tables {
		e.Is(fmt.Sprintf("attach of %s %s", t.Name, when), e.Store.Attach(ctx, []*driver.Table{t}), driver.ErrSchema)
	}
	e.define(ctx, tables...)
	for _, t := range tables {
		rule.Equal(e, fmt.Sprintf("the row of %s, defined again %s", t.Name, when), e.text(ctx, t, e.at(t, "p", "a")), "no row")
		rule.Equal(e, fmt.Sprintf("the rows of %s, defined again %s, by walk", t.Name, when), len(e.walk(ctx, t)), 0)
	}
}

func dropSeveral(ctx context.Context, e *env) {
	var tables []*driver.Table
	for range 4 {
		tables = append(tables, e.ownTable(table.Fields()...))
	}
	fillTables(ctx, e, tables...)
	dropped := tables[:3]
	e.OK("drop", e.Store.Drop(ctx, append([]*driver.Table{{Name: e.freshTable()}}, dropped...)))
	areFilled(ctx, e, "after a drop of others", tables[3])
	areGone(ctx, e, "after a drop of it and others", dropped...)
}

// namesAlike has names of which one begins another, or fits it where a store takes a dot or
// an underscore for any character.
func namesAlike(ctx context.Context, e *env) {
	first := e.ownTable(table.Fields()...)
	tables := []*driver.Table{first}
	for _, end := range []string{"_old", ".old", "0old"} {
		t := *first
		t.Name += end
		e.Drops(&t)
		tables = append(tables, &t)
	}
	fillTables(ctx, e, tables...)
	areFilled(ctx, e, "beside others", tables...)
	for i := range tables[:2] {
		when := "after a drop of " + tables[i].Name
		e.OK("drop", e.Store.Drop(ctx, tables[i:i+1]))
		areFilled(ctx, e, when, tables[i+1:]...)
		areGone(ctx, e, when, tables[i])
		e.OK("drop", e.Store.Drop(ctx, tables[i:i+1]))
	}
}
