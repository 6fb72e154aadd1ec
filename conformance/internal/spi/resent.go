package spi

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

// resentRules are those of commits of several ops that are sent again with their token.
func resentRules() []entry {
	list := []entry{
		{Name: "puts sent again", Sentence: "A commit of puts over rows that are there, without conditions, answers as the first time when it is sent again.", Check: putsAgain},
		{Name: "inserts sent again", Sentence: "A commit of inserts that is sent again is not refused for what it has made.", Check: insertsAgain},
		{Name: "patches sent again", Sentence: "A commit of patches that is sent again changes no row twice.", Check: patchesAgain},
		{Name: "deletes sent again", Sentence: "A commit with a delete that is sent again is not refused for what it has removed.", Check: deletesAgain},
		{Name: "rows sent again", Sentence: "A commit with rows that keep no tokens leaves them as others have made them since, when it is sent again.", Check: rowsAgain},
	}
	for i := range list {
		list[i].Needs = tested.ChangesPartition
	}
	return list
}

// stateOf returns what is under the keys of ops.
func stateOf(ctx context.Context, e *env, ops []driver.Op) []string {
	var list []string
	for i := range ops {
		r := e.get(ctx, ops[i].Table, ops[i].Row.Key)
		text := show(&r)
		if !ops[i].Table.KeyOnly { // the Rev of such a row is any
			text += fmt.Sprint(" ", r.Rev, r.Ring)
		}
		list = append(list, text)
	}
	return list
}

// resend does a commit, lets others do theirs, and sends the first again: nothing changes.
func resend(ctx context.Context, e *env, ops []driver.Op, others ...driver.Op) {
	token := driver.NewToken()
	sendAs(ctx, e, "the first time", token, ops)
	if len(others) > 0 {
		e.commit(ctx, others...)
	}
	for range 2 {
		before := stateOf(ctx, e, ops)
		sendAs(ctx, e, "sent again", token, ops)
		rule.Equal(e, "what is there after a commit was sent again", stateOf(ctx, e, ops), before)
	}
}

func sendAs(ctx context.Context, e *env, when string, token driver.Token, ops []driver.Op) {
	refusal, err := e.Store.Commit(ctx, token, ops)
	e.OK(opsText(ops)+", "+when, err)
	e.That(refusal == nil, opsText(ops)+", "+when+", to succeed", "a refusal")
}

// ringedPair puts two rows that keep tokens, in one partition, and returns their keys.
func ringedPair(ctx context.Context, e *env) (a, b driver.Key) {
	t := e.Tables.Ringed
	a, b = e.at(t, "p", "a"), e.at(t, "p", "b")
	e.commit(ctx, put(t, row(a, "a")), put(t, row(b, "b")))
	return a, b
}

func putsAgain(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	a, b := ringedPair(ctx, e)
	resend(ctx, e, []driver.Op{put(t, row(a, "new a")), put(t, row(b, "new b")), put(e.Tables.KeyOnly, driver.Row{Key: e.at(e.Tables.KeyOnly, "p", "v", "a")})})
	dead := driver.Op{Do: driver.Put, Table: t, Row: driver.Row{Key: b, Dead: true, Expires: 1}, If: driver.Present}
	resend(ctx, e, []driver.Op{put(t, row(a, "newest a")), dead})
}

func insertsAgain(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	var ops []driver.Op
	for _, id := range []string{"c", "d", "e"} {
		op := put(t, row(e.at(t, "p", id), id))
		op.If = driver.Absent
		ops = append(ops, op)
	}
	resend(ctx, e, ops)
}

func patchesAgain(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	a, b := ringedPair(ctx, e)
	rev := e.get(ctx, t, b).Rev
	resend(ctx, e, []driver.Op{
		{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: a}, Edits: []driver.Edit{addTo(table.Int, 5)}},
		{Do: driver.Patch, Table: t, If: driver.AtRev, Rev: rev, Row: driver.Row{Key: b}, Edits: []driver.Edit{addTo(table.Int, 7)}},
	})
	rule.Equal(e, "both sums", shownPair(ctx, e, t, a)+", "+shownPair(ctx, e, t, b), `1:5 3:"a" expires 0, 1:7 3:"b" expires 0`)
	resend(ctx, e, []driver.Op{
		put(t, row(a, "whole")),
		{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: b}, Edits: []driver.Edit{addTo(table.Int, 7)}},
	})
}

func shownPair(ctx context.Context, e *env, t *driver.Table, key driver.Key) string {
	r := e.get(ctx, t, key)
	return show(&r)
}

func deletesAgain(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	a, b := ringedPair(ctx, e)
	first := put(t, row(a, "new a"))
	first.If, first.Rev = driver.AtRev, e.get(ctx, t, a).Rev
	resend(ctx, e, []driver.Op{first, {Do: driver.Delete, Table: t, If: driver.Present, Row: driver.Row{Key: b}}})
	e.commit(ctx, put(t, row(b, "b again")))
	last := driver.Op{Do: driver.Delete, Table: t, If: driver.AtRev, Rev: e.get(ctx, t, b).Rev, Row: driver.Row{Key: b}}
	resend(ctx, e, []driver.Op{put(t, row(a, "newest a")), last})
}

func rowsAgain(ctx context.Context, e *env) {
	t, bare := e.Tables.Ringed, e.Tables.KeyOnly
	a, b := ringedPair(ctx, e)
	x, z := driver.Row{Key: e.at(bare, "p", "x", "a")}, driver.Row{Key: e.at(bare, "p", "z", "a")}
	drop := func(r driver.Row) driver.Op { return driver.Op{Do: driver.Delete, Table: bare, Row: r} }
	e.commit(ctx, put(t, row(b, "b")), put(bare, z))
	resend(ctx, e, []driver.Op{put(t, row(a, "moved")), put(bare, x), drop(z)},
		put(t, row(a, "moved back")), drop(x), put(bare, z))
	rule.Equal(e, "the rows", shownPair(ctx, e, bare, x.Key)+", "+shownPair(ctx, e, bare, z.Key), "no row, expires 0")
}
