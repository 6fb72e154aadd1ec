package spi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

func commitRules() []entry {
	return []entry{
		{Name: "one insert wins", Sentence: "Of commits at once on one key, each sees the ones before it: one insert wins.", Check: oneInsertWins},
		{Name: "no lost update", Sentence: "Of commits at once that expect the same Rev, one is done.", Check: noLostUpdate},
		{Name: "adds at once", Sentence: "Of Adds at once every one counts, and none twice.", Check: addsAtOnce},
		{Name: "isolation", Sentence: "Commits of several rows are isolated from one another.", Needs: tested.ChangesPartition, Check: isolation},
		{Name: "readers at once", Sentence: "Who reads sees nothing of a commit that is refused, and of one that is done no row without those read after it.", Needs: tested.ChangesPartition, Check: readersAtOnce},
		{Name: "write skew", Sentence: "A Check is isolated like a write: of two commits at once that each check what the other one writes, one is refused.", Needs: tested.ChangesPartition, Check: writeSkew},
		{Name: "many ops", Sentence: "A commit may have hundreds of ops.", Needs: tested.ChangesPartition, Check: manyOps},
		{Name: "megabytes", Sentence: "A commit of several megabytes is done whole, or not at all.", Needs: tested.Both(tested.ChangesPartition, takesMegabytes), Check: manyBytes},
		{Name: "rows with records", Sentence: "A commit changes a record and the rows of its indexes.", Needs: tested.ChangesPartition, Check: rowsWithRecords},
		{Name: "key-only rows", Sentence: "Key-only rows are their keys: one that is there may be put again, and one that is not may be deleted.", Needs: tested.ChangesPartition, Check: keysAsRows},
		{Name: "several partitions", Sentence: "Where the commit scope is the store, a commit changes rows of any partitions and tables.", Needs: tested.ChangesStore, Check: severalPartitions},
		{Name: "beyond the commit scope", Sentence: "Ops outside the commit scope are refused with an error and leave no trace.", Needs: hasBeyond, Check: beyondScope},
		{Name: "what cannot be done", Sentence: "A commit with an op that Validate refuses, without a token, or with two ops on one key is ErrInvalid, and nothing is done.", Check: cannotBeDone},
		{Name: "ended context", Sentence: "A commit whose context has ended is ErrTimeout and the context's error, and nothing is done.", Check: endedCommit},
	}
}

func cannotBeDone(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	extra := put(t, row(key, "x"))
	extra.Row.Extra = []driver.Pair{{Name: t.Fields[table.Int].Name, Value: num(1)}}
	patch := opOf(driver.Patch, t, key)
	patch.If, patch.Edits = driver.Present, []driver.Edit{addTo(table.Int, 1), addTo(table.Int, 1)}
	tests := map[string][]driver.Op{
		"an unknown verb":           {opOf(driver.Fence+1, t, key)},
		"a patch if any":            {opOf(driver.Patch, t, key)},
		"two edits of one field":    {patch},
		"a declared field as extra": {extra},
		"two ops on one key":        {put(t, row(key, "x")), opOf(driver.Delete, t, key)},
	}
	e.commit(ctx, put(t, row(key, "old")))
	beside := e.at(t, "p", "b")
	for what, ops := range tests {
		if e.Facts.Scope > driver.ScopeRecord {
			ops = append([]driver.Op{put(t, row(beside, "new"))}, ops...)
		}
		_, err := e.Store.Commit(ctx, driver.NewToken(), ops)
		e.Is("a commit with "+what, err, driver.ErrInvalid)
	}
	_, err := e.Store.Commit(ctx, driver.Token{}, []driver.Op{put(t, row(key, "new"))})
	e.Is("a commit without a token", err, driver.ErrInvalid)
	rule.Equal(e, "the row after all that", e.text(ctx, t, key), "old")
	rule.Equal(e, "the row beside it", e.text(ctx, t, beside), "no row")
}

// winners returns which of n commits at once are done.
func winners(ctx context.Context, e *env, n int, op func(i int) driver.Op) []int {
	return groupWinners(ctx, e, n, func(i int) []driver.Op { return []driver.Op{op(i)} })
}

// groupWinners is winners for commits of several ops.
func groupWinners(ctx context.Context, e *env, n int, ops func(i int) []driver.Op) (won []int) {
	done := make([]bool, n)
	e.Parallel(n, func(i int) error {
		refusal, err := e.Store.Commit(ctx, driver.NewToken(), ops(i))
		if err != nil {
			return finding.Wanted("success or a refusal", err.Error())
		}
		done[i] = refusal == nil
		return nil
	})
	for i, ok := range done {
		if ok {
			won = append(won, i)
		}
	}
	return won
}

func oneInsertWins(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for round := range 20 {
		key := e.at(t, "p", fmt.Sprint(round))
		won := winners(ctx, e, 8, func(i int) driver.Op {
			op := put(t, row(key, fmt.Sprint(i)))
			op.If = driver.Absent
			return op
		})
		rule.Equal(e, "the number of inserts that were done", len(won), 1)
		rule.Equal(e, "the row", e.text(ctx, t, key), fmt.Sprint(won[0]))
	}
}

func noLostUpdate(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	rev := e.commit(ctx, put(t, row(key, "start")))
	for range 20 {
		won := winners(ctx, e, 8, func(i int) driver.Op {
			op := put(t, row(key, fmt.Sprint(i)))
			op.If, op.Rev = driver.AtRev, rev
			return op
		})
		rule.Equal(e, "the number of updates of one Rev that were done", len(won), 1)
		got := e.get(ctx, t, key)
		rule.Equal(e, "the row", textOf(&got), fmt.Sprint(won[0]))
		rev = got.Rev
	}
}

func addsAtOnce(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	const writers, each = 8, 25
	e.Parallel(writers, func(int) error {
		for range each {
			op := driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{addTo(table.Int, 1)}}
			if refusal, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{op}); err != nil || refusal != nil {
				return finding.Wanted("an Add to be done", fmt.Sprint(refusal, err))
			}
		}
		return nil
	})
	got := e.get(ctx, t, key)
	rule.Equal(e, "the sum", rule.KindText(field(&got, table.Int)), rule.KindText(num(writers*each)))
}

// isolation moves amounts between rows by commits that expect what was read. A
// store that mixes two commits changes the sum.
func isolation(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	const rows, start = 4, 1000
	for i := range rows {
		r := row(e.at(t, "p", fmt.Sprint(i)), "account")
		r.Fields[table.Int] = num(start)
		e.commit(ctx, put(t, r))
	}
	e.Parallel(6, func(w int) error {
		for n := range 30 {
			from, to := e.at(t, "p", fmt.Sprint((w+n)%rows)), e.at(t, "p", fmt.Sprint((w+n+1+n%2)%rows))
			by := int64(30*w+n) * int64(30*w+n) // each another one, so that what goes wrong does not cancel out
			if err := transfer(ctx, e, t, from, to, by); err != nil {
				return err
			}
		}
		return nil
	})
	sum := int64(0)
	for _, r := range e.rows(ctx, span(t, e.at(t, "p", ""))) {
		sum += field(&r, table.Int).Int()
	}
	rule.Equal(e, "the sum of all rows", sum, int64(rows*start))
}

// transfer moves a sum from one row to the other, and gives up when they have changed
// since they were read.
func transfer(ctx context.Context, e *env, t *driver.Table, from, to driver.Key, by int64) error {
	rows := make([]driver.Row, 2)
	if err := e.Store.Get(ctx, t, []driver.Key{from, to}, nil, rows); err != nil {
		return err
	}
	ops := make([]driver.Op, 2)
	for i, key := range []driver.Key{from, to} {
		r := row(key, "account")
		r.Fields[table.Int] = num(field(&rows[i], table.Int).Int() + int64(2*i-1)*by)
		ops[i] = put(t, r)
		ops[i].If, ops[i].Rev = driver.AtRev, rows[i].Rev
	}
	_, err := e.Store.Commit(ctx, driver.NewToken(), ops)
	return err
}

func manyOps(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var ops []driver.Op
	for i := range 512 {
		ops = append(ops, put(t, row(e.at(t, "p", fmt.Sprintf("%03d", i)), fmt.Sprint(i))))
	}
	e.commit(ctx, ops...)
	rows := e.rows(ctx, span(t, ops[0].Row.Key))
	rule.Equal(e, "the number of rows", len(rows), len(ops))
	for i := range rows {
		rule.Equal(e, "a row", textOf(&rows[i]), fmt.Sprint(i))
	}
	for _, cond := range []driver.Cond{driver.Absent, driver.AtRev} {
		ops[500].If, ops[500].Rev = cond, driver.NewToken()
		rule.Equal(e, "the op refused, if "+cond.String(), e.refused(ctx, ops...).Op, 500)
	}
}

// manyBytes commits 32 rows of 112 KiB.
func manyBytes(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var ops []driver.Op
	for i := range 32 {
		r := row(e.at(t, "p", fmt.Sprintf("%02d", i)), fmt.Sprint(i))
		r.Fields = append(r.Fields, bin(strings.Repeat(string(rune('a'+i)), 112<<10)))
		ops = append(ops, put(t, r))
	}
	e.commit(ctx, put(t, row(ops[31].Row.Key, "old")))
	ops[31].If = driver.Absent
	rule.Equal(e, "the op refused", e.refused(ctx, ops...).Op, 31)
	rule.Equal(e, "the rows after a refusal", sorts(e.rows(ctx, span(t, ops[0].Row.Key))), []string{"31#"})
	ops[31].If = driver.Any
	e.commit(ctx, ops...)
	rows := e.rows(ctx, span(t, ops[0].Row.Key))
	rule.Equal(e, "the number of rows", len(rows), len(ops))
	for i := range rows {
		e.That(field(&rows[i], table.Bytes).Equal(ops[i].Row.Fields[table.Bytes]), "the bytes of row "+fmt.Sprint(i)+" as written", "%s", rule.Brief(field(&rows[i], table.Bytes).String()))
	}
}

func rowsWithRecords(ctx context.Context, e *env) {
	t, x := e.Tables.Sorted, e.Tables.Local
	record, entry := e.at(t, "p", "a"), e.at(x, "p", "v", "a")
	e.commit(ctx, put(t, row(record, "record")), put(x, row(entry, "row")))
	rule.Equal(e, "the record and its row", e.text(ctx, t, record)+" "+e.text(ctx, x, entry), "record row")
	other := e.at(x, "p", "w", "a")
	move := []driver.Op{put(t, row(record, "moved")), {Do: driver.Delete, Table: x, Row: driver.Row{Key: entry}}, put(x, row(other, "row"))}
	move[0].If, move[0].Rev = driver.AtRev, driver.NewToken()
	e.refused(ctx, move...)
	rule.Equal(e, "the rows of the index after a refusal", sorts(e.rows(ctx, span(x, entry))), []string{entry.Sort})
	move[0].If = driver.Present
	e.commit(ctx, move...)
	rule.Equal(e, "the rows of the index after the move", sorts(e.rows(ctx, span(x, entry))), []string{other.Sort})
	rule.Equal(e, "the rows of the records", sorts(e.rows(ctx, span(t, record))), []string{"a#"})
}

func keysAsRows(ctx context.Context, e *env) {
	t, x := e.Tables.Ringed, e.Tables.KeyOnly
	record, other := e.at(t, "p", "a"), e.at(t, "p", "b")
	entry := func(v string) driver.Row { return driver.Row{Key: e.at(x, "p", v, "a")} }
	gone := func(v string) driver.Op { return driver.Op{Do: driver.Delete, Table: x, Row: entry(v)} }
	seen := func(when string, want ...string) {
		readKeyOnlyRows(ctx, e, when, e.at(x, "p", "", ""), want)
	}
	first := put(t, row(record, "first"))
	first.If = driver.Absent
	e.commit(ctx, first, put(x, entry("k1")))
	seen("after an insert", "k1#a#")
	rev := e.commit(ctx, put(t, row(record, "second")), put(x, entry("k1")), put(x, entry("k2")), gone("none"))
	seen("after a put with one that is there", "k1#a#", "k2#a#")
	patch := driver.Op{Do: driver.Patch, If: driver.AtRev, Rev: rev, Table: t, Row: driver.Row{Key: record}, Edits: []driver.Edit{addTo(table.Int, 1)}}
	rev = e.commit(ctx, patch, gone("k1"), put(x, entry("k2")), put(x, entry("k3")))
	seen("after a patch", "k2#a#", "k3#a#")
	e.refused(ctx, patch, gone("k2"), put(x, entry("k4")))
	seen("after a refusal", "k2#a#", "k3#a#")
	e.commit(ctx, put(t, row(other, "other")), put(x, entry("k3")), gone("k2"), put(t, row(e.at(t, "p", "c"), "c")))
	seen("after a commit of two records", "k3#a#")
	read := e.get(ctx, t, record)
	death := driver.Op{Do: driver.Put, If: driver.AtRev, Rev: rev, Table: t, Row: driver.Row{Key: record, Ring: read.Ring, Dead: true, Expires: 7}}
	e.commit(ctx, death, gone("k3"), gone("none"))
	seen("after a death")
}

// readKeyOnlyRows reads the rows of a partition of key-only ones in every way.
func readKeyOnlyRows(ctx context.Context, e *env, when string, at driver.Key, want []string) {
	x := e.Tables.KeyOnly
	rows := e.rows(ctx, span(x, at))
	rule.Equal(e, "the rows "+when, sorts(rows), append([]string{}, want...))
	back := span(x, at)
	back.Reverse, back.Mask = true, []int{}
	reversed := sorts(e.rows(ctx, back))
	slices.Reverse(reversed)
	rule.Equal(e, "the rows in reverse "+when, reversed, append([]string{}, want...))
	walked := sorts(e.walk(ctx, x))
	slices.Sort(walked)
	rule.Equal(e, "the rows of a walk "+when, walked, append([]string{}, want...))
	for i := range rows {
		got := e.get(ctx, x, rows[i].Key)
		e.That(!got.Rev.IsZero() && !rows[i].Rev.IsZero(), "a Rev of a row that is there", "none %s", when)
	}
}

func severalPartitions(ctx context.Context, e *env) {
	t, claims := e.Tables.Sorted, e.Tables.Claims
	a, b, c := e.at(t, "p", "a"), e.at(t, "q", "a"), e.at(claims, "v")
	e.commit(ctx, put(t, row(a, "a")), put(t, row(b, "b")), put(claims, row(c, "c")))
	rule.Equal(e, "the rows", e.text(ctx, t, a)+e.text(ctx, t, b)+e.text(ctx, claims, c), "abc")
	ops := []driver.Op{put(t, row(a, "new")), put(t, row(b, "new")), put(claims, row(c, "new"))}
	ops[2].If = driver.Absent
	rule.Equal(e, "the op refused", e.refused(ctx, ops...).Op, 2)
	rule.Equal(e, "the rows after the refusal", e.text(ctx, t, a)+e.text(ctx, t, b)+e.text(ctx, claims, c), "abc")
}

func hasBeyond(f driver.Facts) string {
	if f.Scope == driver.ScopeStore {
		return "the commit scope of " + f.Name + " is the whole store, so nothing lies beyond it"
	}
	return ""
}

func beyondScope(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	a, b := e.at(t, "p", "a"), e.at(t, "q", "a")
	refusal, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{put(t, row(a, "a")), put(t, row(b, "b"))})
	e.That(err != nil && refusal == nil && finding.IsSentinel(err), "an error of package driver", "%v, refusal %v", err, refusal != nil)
	rule.Equal(e, "the rows after it", e.text(ctx, t, a)+", "+e.text(ctx, t, b), "no row, no row")
}

func endedCommit(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	rev := e.commit(ctx, put(t, row(key, "old")))
	for _, want := range []error{context.Canceled, context.DeadlineExceeded} {
		refusal, err := e.Store.Commit(double.Ended(ctx, want), driver.NewToken(), []driver.Op{put(t, row(key, "new"))})
		e.That(refusal == nil, "no refusal", "one")
		e.Is("a commit whose context has ended", err, driver.ErrTimeout)
		e.Is("a commit whose context has ended", err, want)
		e.That(!errors.Is(err, driver.ErrUnknownOutcome), "a known outcome", "%v", err)
		got := e.get(ctx, t, key)
		rule.Equal(e, "the row", textOf(&got)+got.Rev.String(), "old"+rev.String())
	}
}
