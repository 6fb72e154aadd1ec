package spi

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

// outcomeRules are those of the tokens that a store keeps, by which it knows a commit that is
// sent again, and of commits that end on their way.
func outcomeRules() []entry {
	return append(resentRules(), []entry{
		{Name: "ring", Sentence: "A row keeps the tokens of its last commits, newest first, at most Table.Ring of them.", Check: ring},
		{Name: "fences in the ring", Sentence: "The Ring leaves fences out.", Check: ringFences},
		{Name: "ring of the dead", Sentence: "A row that dies, and is written again, keeps the tokens from before.", Check: ringOfDead},
		{Name: "ring of the caller", Sentence: "A Ring that comes with an op counts for nothing unless the op is AtRev.", Check: callersRing},
		{Name: "no ring", Sentence: "A row of a table without a Ring keeps no tokens.", Check: noRing},
		{Name: "sent again", Sentence: "A commit that is sent again with its token answers as the first time and does nothing twice.", Check: sentAgain},
		{Name: "tokens alike", Sentence: "Tokens are told apart by every bit of them.", Check: tokensAlike},
		{Name: "sent again later", Sentence: "That holds as long as the token is in the Ring of the first op's row.", Check: sentAgainLater},
		{Name: "short deadlines", Sentence: "A commit whose context ends on its way was done if it succeeded, and was not if it failed, unless its outcome is unknown.", Check: shortDeadlines},
		{Name: "cut commits", Sentence: "A commit of many ops whose context ends on its way is done whole, or not at all.", Needs: tested.ChangesPartition, Check: cutCommits},
	}...)
}

func ring(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	key := e.at(t, "p", "a")
	var want []driver.Token
	for i := range 7 {
		op := put(t, row(key, fmt.Sprint(i)))
		if i%3 == 2 {
			op = driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{addTo(table.Int, 1)}}
		}
		want = append([]driver.Token{e.commit(ctx, op)}, want...)
		want = want[:min(len(want), table.RingSize)]
		got := e.get(ctx, t, key)
		rule.Equal(e, "the Ring by get", got.Ring, want)
		rule.Equal(e, "the Ring by range", rule.At(e, "the rows by range", e.rows(ctx, span(t, key)), 0).Ring, want)
		rule.Equal(e, "the Ring by walk", rule.At(e, "the rows by walk", e.walk(ctx, t), 0).Ring, want)
	}
	dead := driver.Row{Key: key, Dead: true, Expires: 1}
	want = append([]driver.Token{e.commit(ctx, put(t, dead))}, want[:table.RingSize-1]...)
	got := e.getAll(ctx, t, []int{}, key)
	rule.Equal(e, "the Ring of a dead row, read with a mask", got[0].Ring, want)
}

func ringFences(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	key := e.at(t, "p", "a")
	first := e.commit(ctx, put(t, row(key, "x")))
	e.fence(ctx, t, key, first)
	e.commit(ctx, driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: key}, If: driver.Present})
	second := e.commit(ctx, put(t, row(key, "y")))
	fence := e.fence(ctx, t, key, second)
	got := e.get(ctx, t, key)
	rule.Equal(e, "the Ring", got.Ring, []driver.Token{second, first})
	rule.Equal(e, "the Rev", got.Rev, fence)
}

func noRing(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	e.commit(ctx, put(t, row(key, "y")))
	rule.Equal(e, "the length of the Ring", len(e.get(ctx, t, key).Ring), 0)
}

// commitTwice sends a commit twice with one token.
func commitTwice(ctx context.Context, e *env, token driver.Token, ops ...driver.Op) {
	for range 2 {
		refusal, err := e.Store.Commit(ctx, token, ops)
		e.OK("commit", err)
		e.That(refusal == nil, "a commit that is sent again to succeed", "a refusal")
	}
}

func sentAgain(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	key := e.at(t, "p", "a")
	insert := put(t, row(key, "x"))
	insert.If = driver.Absent
	commitTwice(ctx, e, driver.NewToken(), insert)
	before := e.get(ctx, t, key)
	token := driver.NewToken()
	commitTwice(ctx, e, token, driver.Op{Do: driver.Patch, Table: t, If: driver.AtRev, Rev: before.Rev, Row: driver.Row{Key: key}, Edits: []driver.Edit{addTo(table.Int, 5)}})
	got := e.get(ctx, t, key)
	rule.Equal(e, "the sum", rule.KindText(field(&got, table.Int)), rule.KindText(num(5)))
	rule.Equal(e, "Rev and Ring", fmt.Sprint(got.Rev, got.Ring), fmt.Sprint(token, []driver.Token{token, before.Rev}))
}

func sentAgainLater(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	token := driver.NewToken()
	add := []driver.Op{{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{addTo(table.Int, 1)}}}
	for range table.RingSize {
		refusal, err := e.Store.Commit(ctx, token, add)
		e.That(err == nil && refusal == nil, "a commit that is sent again to succeed", "%v, refusal %v", err, refusal != nil)
		e.commit(ctx, driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{set(table.Bool, driver.BoolValue(true))}})
	}
	got := e.get(ctx, t, key)
	rule.Equal(e, "the sum", rule.KindText(field(&got, table.Int)), rule.KindText(num(1)))
	e.fence(ctx, t, key, got.Rev)
	e.commit(ctx, add...)
	got = e.get(ctx, t, key)
	rule.Equal(e, "the sum after another Add", rule.KindText(field(&got, table.Int)), rule.KindText(num(2)))
}
