package spi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// deadRows is how many dead rows lie before the next live one: more than any page of a
// store holds.
const deadRows = 2000

// pagesOfDead reads a partition in which live rows stand at either end of many dead ones.
func pagesOfDead(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	var ops []driver.Op
	var live []string
	for i := range deadRows + 10 {
		key := e.at(t, "p", fmt.Sprintf("%05d", i))
		r := row(key, "live")
		if i < 5 || i >= deadRows+5 {
			live = append(live, key.Sort)
		} else {
			r = driver.Row{Key: key, Dead: true, Expires: 1}
		}
		ops = append(ops, put(t, r))
	}
	e.commitMany(ctx, ops)
	all := span(t, e.at(t, "p", ""))
	for _, bounds := range [][2]string{{"", ""}, {"00006", ""}, {"", "01900"}, {"00006", "01900"}, {"00004", "02006"}} {
		for _, limit := range []int{0, 1, 7} {
			for _, reverse := range []bool{false, true} {
				sp := all
				sp.From, sp.To, sp.Limit, sp.Reverse = bounds[0], bounds[1], limit, reverse
				spanHas(ctx, e, sp, live)
			}
		}
	}
}

// retention sees that what may go by itself is there until it may, and what came back stays.
func retention(ctx context.Context, e *env) {
	const stays = 400 * time.Millisecond
	t := e.ownTable(table.Fields()...)
	t.Ring, t.Retention = table.RingSize, stays
	e.define(ctx, t)
	dead := func(id string) driver.Op { return put(t, driver.Row{Key: e.at(t, "p", id), Dead: true, Expires: 1}) }
	life := func(id string) driver.Op { return put(t, row(e.at(t, "p", id), "live")) }
	is := func(id string, since time.Time) {
		r := e.get(ctx, t, e.at(t, "p", id))
		if time.Since(since) < stays { // else it may have gone
			e.That(!r.Rev.IsZero() && r.Dead, fmt.Sprintf("%s, dead for less than %v, to be there", id, stays), "%s", rule.Brief(r))
		}
	}
	dies := time.Now()
	e.commit(ctx, dead("dies"))
	e.commit(ctx, dead("fenced"))
	e.commit(ctx, dead("back"))
	e.commit(ctx, life("back"))
	e.commit(ctx, life("again"))
	at := driver.Op{Do: driver.Put, Table: t, Row: driver.Row{Key: e.at(t, "p", "again"), Dead: true, Expires: 1}}
	expectRow(ctx, e, "at its Rev, with its Ring", &at)
	e.commit(ctx, at)
	e.commit(ctx, life("again"))
	is("dies", dies)
	pause(ctx, stays/2)
	is("dies", dies)
	fenced := time.Now()
	fence := driver.Op{Do: driver.Fence, Table: t, Row: driver.Row{Key: e.at(t, "p", "fenced"), Expires: 1}}
	if expectRow(ctx, e, "at its Rev", &fence); !fence.Rev.IsZero() {
		refusal, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{fence})
		e.OK("fence", err)
		pause(ctx, stays*3/4)
		if refusal == nil {
			is("fenced", fenced)
		}
	}
	pause(ctx, stays)
	for _, id := range []string{"back", "again"} {
		rule.Equal(e, "what "+id+" has, longer after it came back", e.text(ctx, t, e.at(t, "p", id)), "live")
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// spanHas compares what a span yields and counts with the keys, ascending, that are there, and
// returns the rows.
func spanHas(ctx context.Context, e *env, sp driver.Span, keys []string) []driver.Row {
	want := []string{}
	for _, key := range keys {
		if sp.From <= key && (sp.To == "" || key < sp.To) {
			want = append(want, key)
		}
	}
	if sp.Reverse {
		slices.Reverse(want)
	}
	if sp.Limit > 0 {
		want = want[:min(sp.Limit, len(want))]
	}
	what := fmt.Sprintf("from %q below %q, limit %d, reverse %v", sp.From, sp.To, sp.Limit, sp.Reverse)
	rows := e.rows(ctx, sp)
	rule.Equal(e, "the rows "+what, sorts(rows), want)
	if c, ok := e.Store.(driver.Counter); ok && e.Facts.Counts.Has {
		n, err := c.Count(ctx, sp)
		e.OK("count", err)
		rule.Equal(e, "the count "+what, n, len(want))
	}
	return rows
}

// ringOfDead follows the tokens of a row that lives, dies and lives again.
func ringOfDead(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	dead := func(key driver.Key) driver.Row { return driver.Row{Key: key, Dead: true, Expires: 1} }
	for _, again := range []string{"whatever is there", "at its Rev", "at its Rev, with its Ring"} {
		key := e.at(t, "p", strings.ReplaceAll(again, " ", "-"))
		want := []driver.Token{e.commit(ctx, put(t, row(key, "first")))}
		for i := range table.RingSize {
			op := put(t, row(key, fmt.Sprint("life ", i)))
			if i%2 == 0 {
				op = put(t, dead(key))
			}
			expectRow(ctx, e, again, &op)
			want = append([]driver.Token{e.commit(ctx, op)}, want...)
			want = want[:min(len(want), table.RingSize)]
			got := e.get(ctx, t, key)
			rule.Equal(e, fmt.Sprintf("the Ring of a row, dead %v, that was written %s", op.Row.Dead, again), got.Ring, want)
		}
		death := want[1]
		refusal, err := e.Store.Commit(ctx, death, []driver.Op{put(t, dead(key))})
		e.That(err == nil && refusal == nil, "a death that is sent again to succeed", "%v, refused %v", err, refusal != nil)
		rule.Equal(e, "the row after a death that was sent again", e.text(ctx, t, key), fmt.Sprint("life ", table.RingSize-1))
	}
}

// expectRow gives an op the condition that is to hold of the row as it is.
func expectRow(ctx context.Context, e *env, how string, op *driver.Op) {
	now := e.get(ctx, op.Table, op.Row.Key)
	if how != "whatever is there" {
		op.If, op.Rev = driver.AtRev, now.Rev
	}
	if strings.HasSuffix(how, "Ring") {
		op.Row.Ring, op.Row.Hint = now.Ring, now.Hint
	}
}

// callersRing passes tokens with ops that no commit had.
func callersRing(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	for _, cond := range []driver.Cond{driver.Absent, driver.Any, driver.Present} {
		key := e.at(t, "p", cond.String())
		var want []driver.Token
		if cond != driver.Absent {
			want = []driver.Token{e.commit(ctx, put(t, row(key, "first")))}
		}
		op := put(t, row(key, "second"))
		op.If, op.Row.Ring = cond, []driver.Token{driver.NewToken(), driver.NewToken()}
		want = append([]driver.Token{e.commit(ctx, op)}, want...)
		got := e.get(ctx, t, key)
		rule.Equal(e, "the Ring after a put if "+cond.String()+" with a Ring of the caller's", got.Ring, want)
	}
}

// tokensAlike commits with tokens that differ in one bit.
func tokensAlike(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	key := e.at(t, "p", "a")
	token := e.commit(ctx, put(t, row(key, "x")))
	add := driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{addTo(table.Int, 1)}}
	for i := range token {
		other := token
		other[i] ^= 1
		late := add
		late.If, late.Rev = driver.AtRev, other
		e.refused(ctx, late)
		refusal, err := e.Store.Commit(ctx, other, []driver.Op{add})
		e.That(err == nil && refusal == nil, "a commit to be done whose token differs in one bit", "%v, refused %v", err, refusal != nil)
		got := e.get(ctx, t, key)
		rule.Equal(e, fmt.Sprintf("the sum after a token that differs in byte %d", i), rule.KindText(field(&got, table.Int)), rule.KindText(num(int64(i)+1)))
		e.That(got.Rev == other, "the Rev "+other.String(), "%s", got.Rev)
		token = other
	}
}
