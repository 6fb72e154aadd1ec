package spi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

func rowRules() []entry {
	return []entry{
		{Name: "order of get", Sentence: "Get answers in the order of the keys, also for rows that are not there and for keys that come twice.", Check: getOrder},
		{Name: "reused rows", Sentence: "Get leaves nothing of what was in the rows before.", Check: reusedRows},
		{Name: "get sees", Sentence: "Get sees every commit that was acknowledged before it began.", Check: getSees},
		{Name: "many at once", Sentence: "Get reads any number of keys, thousands of them too.", Check: getMany},
		{Name: "rev", Sentence: "Rev is the token of the commit that last changed the row, all 128 bits of it.", Check: rev},
		{Name: "expires", Sentence: "A store neither hides nor drops a row because of Expires, which it keeps.", Check: expiresIsData},
		{Name: "dead", Sentence: "A dead row is read by key and by a walk, and marked; it is no row of a range, and is not counted.", Check: deadIsData},
		{Name: "retention", Sentence: "A dead row of a table with a Retention stays for that long after it was put or fenced, and one that is put to life again for good.", Check: retention},
		{Name: "pages of the dead", Sentence: "Thousands of dead rows end neither a range nor a count before the live ones behind them.", Check: pagesOfDead},
		{Name: "sweep", Sentence: "A sweep removes dead records that are old, each unless it has changed since it was read, and lists the others.", Check: sweep},
		{Name: "note", Sentence: "A store returns Meta as it was written.", Check: note},
		{Name: "keys of rows", Sentence: "Range yields rows with their Key.", Check: keysOfRows},
		{Name: "whole puts", Sentence: "Put writes the whole row; what was there before is gone.", Check: wholePut},
		{Name: "large rows", Sentence: "A row of 1 MiB is kept whole.", Check: largeRow},
		{Name: "arguments", Sentence: "A store does not keep slices of arguments after the method has returned, and does not change them.", Check: arguments},
		{Name: "values for good", Sentence: "Strings in rows that a store returned belong to the caller for good.", Check: valuesForGood},
		{Name: "goroutines", Sentence: "All methods may be called by many goroutines at once.", Check: goroutines},
	}
}

func getOrder(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for _, s := range []string{"a", "b", "c"} {
		e.commit(ctx, put(t, row(e.at(t, "p", s), s)))
	}
	e.commit(ctx, put(t, row(e.at(t, "q", "a"), "other")))
	keys := []driver.Key{e.at(t, "p", "c"), e.at(t, "p", "none"), e.at(t, "p", "a"), e.at(t, "q", "a"), e.at(t, "p", "c"), e.at(t, "q", "none"), e.at(t, "p", "b")}
	var got []string
	for _, r := range e.getAll(ctx, t, nil, keys...) {
		got = append(got, textOf(&r))
	}
	rule.Equal(e, "the rows", got, []string{"c", "no row", "a", "other", "c", "no row", "b"})
	e.getAll(ctx, t, nil)
}

func reusedRows(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	bare := driver.Row{Key: e.at(t, "p", "bare")}
	bare.Rev = e.commit(ctx, put(t, bare))
	dirty := func() driver.Row {
		return driver.Row{Rev: driver.NewToken(), Ring: []driver.Token{driver.NewToken()}, Fields: texts("1", "2", "3", "4", "5", "6", "7", "8"),
			Extra: []driver.Pair{{Name: "old", Value: num(1)}}, Expires: 7, Dead: true, Meta: "old"}
	}
	rows := []driver.Row{dirty(), dirty()}
	e.OK("get", e.Store.Get(ctx, t, []driver.Key{bare.Key, e.at(t, "p", "none")}, nil, rows))
	rule.Equal(e, "the row", show(&rows[0]), show(&bare))
	rule.Equal(e, "its Rev and Ring", fmt.Sprint(rows[0].Rev, rows[0].Ring), fmt.Sprint(bare.Rev, []driver.Token{bare.Rev}))
	rows[1].Rev = rows[0].Rev // shows what is in it
	rule.Equal(e, "the row that is not there", show(&rows[1]), show(&bare))
	rule.Equal(e, "its Ring", len(rows[1].Ring), 0)
}

func getSees(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for i := range 30 {
		key := e.at(t, "p", fmt.Sprint(i%3))
		want := e.commit(ctx, put(t, row(key, fmt.Sprint(i))))
		got := e.get(ctx, t, key)
		rule.Equal(e, "the Rev after a put", got.Rev, want)
		rule.Equal(e, "the row after a put", textOf(&got), fmt.Sprint(i))
		if i%5 == 4 {
			e.commit(ctx, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: key}})
			rule.Equal(e, "the row after a delete", e.text(ctx, t, key), "no row")
		}
	}
}

// manyKeys is how many keys a Get is asked for: more than any batch of a store holds.
const manyKeys = 5000

func getMany(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var ops [3][]driver.Op // by partition
	keys := make([]driver.Key, manyKeys)
	for i := range keys {
		keys[i] = e.at(t, fmt.Sprint("p", i%len(ops)), fmt.Sprintf("%04d", i))
		if i%7 == 0 {
			ops[i%len(ops)] = append(ops[i%len(ops)], put(t, row(keys[i], fmt.Sprint(i))))
		}
	}
	for _, part := range ops {
		e.commitMany(ctx, part)
	}
	slices.Reverse(keys)
	for i, r := range e.getAll(ctx, t, []int{table.String}, keys...) {
		want := "no row"
		if n := manyKeys - 1 - i; n%7 == 0 {
			want = fmt.Sprint(n)
		}
		got := show(&r)
		if !r.Rev.IsZero() {
			got = field(&r, 0).Str()
		}
		rule.Equal(e, "row "+fmt.Sprint(i), got, want)
	}
}

func rev(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for i, token := range []driver.Token{{15: 1}, {0: 1}, {0: 0xff, 15: 0xff}, {7: 0x80}, allSet(), driver.NewToken()} {
		key := e.at(t, "p", fmt.Sprint(i))
		refusal, err := e.Store.Commit(ctx, token, []driver.Op{put(t, row(key, "x"))})
		e.OK("put", err)
		e.That(refusal == nil, "no refusal", "one")
		got, ranged := e.get(ctx, t, key), e.rows(ctx, span(t, key))
		rule.Equal(e, "the Rev by get", got.Rev, token)
		rule.Equal(e, "the Rev by range", rule.At(e, "the rows by range", ranged, i).Rev, token)
		e.commit(ctx, driver.Op{Do: driver.Check, Table: t, Row: driver.Row{Key: key}, If: driver.AtRev, Rev: token})
	}
}

func allSet() driver.Token {
	var t driver.Token
	for i := range t {
		t[i] = 0xff
	}
	return t
}

// seenEverywhere finds a row by Get, Range, Walk and, if there is one, Count.
func seenEverywhere(ctx context.Context, e *env, t *driver.Table, want *driver.Row) {
	want.Rev = driver.NewToken()
	got := e.get(ctx, t, want.Key)
	rule.Equal(e, "the row by get", show(&got), show(want))
	rows := e.rows(ctx, span(t, want.Key))
	rule.Equal(e, "the number of rows by range", len(rows), 1)
	rule.Equal(e, "the row by range", show(&rows[0]), show(want))
	for _, r := range e.walk(ctx, t) {
		if r.Key.Partition == want.Key.Partition {
			rule.Equal(e, "the row by walk", show(&r), show(want))
			rows = nil
		}
	}
	e.That(rows == nil, "the row by walk", "nothing")
	if c, ok := e.Store.(driver.Counter); ok {
		n, err := c.Count(ctx, span(t, want.Key))
		e.OK("count", err)
		rule.Equal(e, "the number of rows by count", n, 1)
	}
}

func expiresIsData(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for i, ms := range []int64{1, 1000, 1521080087000, math.MaxInt64, -1, math.MinInt64, 0} {
		r := row(e.at(t, fmt.Sprint(i), "a"), "x")
		r.Expires = ms
		e.commit(ctx, put(t, r))
		seenEverywhere(ctx, e, t, &r)
	}
}

func deadIsData(ctx context.Context, e *env) {
	t := e.Tables.Ringed
	r := row(e.at(t, "p", "a"), "x")
	r.Dead, r.Expires = true, 5
	e.commit(ctx, put(t, r))
	r.Rev = driver.NewToken()
	got := e.get(ctx, t, r.Key)
	rule.Equal(e, "the row by get", show(&got), show(&r))
	walked := e.walk(ctx, t)
	rule.Equal(e, "the number of rows by walk", len(walked), 1)
	rule.Equal(e, "the row by walk", show(&walked[0]), show(&r))
	rule.Equal(e, "the number of rows by range", len(e.rows(ctx, span(t, r.Key))), 0)
	beside := e.at(t, "p", "b")
	e.commit(ctx, put(t, row(beside, "y")))
	sp := span(t, r.Key)
	sp.Limit = 1
	rule.Equal(e, "the rows by range beside it, with a limit", sorts(e.rows(ctx, sp)), []string{beside.Sort})
	both := e.getAll(ctx, t, nil, beside, r.Key)
	rule.Equal(e, "the row by a get of two", show(&both[1]), show(&r))
	if c, ok := e.Store.(driver.Counter); ok {
		n, err := c.Count(ctx, span(t, r.Key))
		e.OK("count", err)
		rule.Equal(e, "the number of rows by count", n, 1)
	}
	e.commit(ctx, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: beside}})
	r.Dead = false
	e.commit(ctx, put(t, r))
	seenEverywhere(ctx, e, t, &r)
	bare := driver.Row{Key: r.Key, Dead: true, Expires: 6}
	e.commit(ctx, put(t, bare))
	got = e.get(ctx, t, r.Key)
	bare.Rev = got.Rev
	rule.Equal(e, "the row that died and had fields before", show(&got), show(&bare))
}

func note(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for i, text := range []string{"n", "", " ", "\x00", "a\x00b", "é", "{}", strings.Repeat("n", 5000)} {
		r := row(e.at(t, fmt.Sprint(i), "a"), "x")
		r.Meta = text
		e.commit(ctx, put(t, r))
		seenEverywhere(ctx, e, t, &r)
	}
}

func keysOfRows(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	keys := []driver.Key{e.at(t, "p", ""), e.at(t, "p", "a#"), e.at(t, "p", "b c")}
	for _, k := range keys {
		e.commit(ctx, put(t, row(k, "x")))
	}
	for i, r := range e.rows(ctx, span(t, keys[0])) {
		rule.Equal(e, "the key of a row", []string{r.Key.Partition, r.Key.Sort}, []string{keys[i].Partition, keys[i].Sort})
	}
}

func wholePut(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	r := maskedRow(e, t)
	e.commit(ctx, put(t, r))
	next := driver.Row{Key: r.Key, Fields: []driver.Value{{}, num(6)}}
	e.commit(ctx, put(t, next))
	seenEverywhere(ctx, e, t, &next)
	empty := driver.Row{Key: r.Key}
	e.commit(ctx, put(t, empty))
	seenEverywhere(ctx, e, t, &empty)
}

func largeRow(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	r := driver.Row{Key: e.at(t, "p", "a"), Fields: make([]driver.Value, table.Map+1)}
	r.Fields[table.Bytes] = bin(strings.Repeat("\x00\xff", 1<<18))
	r.Fields[table.String] = str(strings.Repeat("x", 1<<18))
	var list []driver.Value
	for i := range 1 << 14 {
		list = append(list, num(int64(i)))
	}
	r.Fields[table.List] = listOf(list...)
	e.commit(ctx, put(t, r))
	got := e.get(ctx, t, r.Key)
	for i := range r.Fields {
		e.That(field(&got, i).Equal(r.Fields[i]), "field "+t.Fields[i].Name+" as written", "%s", rule.Brief(field(&got, i).String()))
	}
}

func arguments(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	key := e.at(t, "p", "a")
	fields := []driver.Value{{}, num(1), {}, str("text"), {}, {}, {}, {}}
	extra := []driver.Pair{{Name: "x", Value: num(1)}}
	edits := []driver.Edit{{Do: driver.Set, Field: table.Int, Value: num(2)}}
	ops := []driver.Op{{Do: driver.Put, Table: t, Row: driver.Row{Key: key, Fields: fields, Extra: extra}}}
	unchanged := func(want string) {
		rule.Equal(e, "the arguments after the call", fmt.Sprint(ops[0].Do, ops[0].Row.Fields, ops[0].Row.Extra, ops[0].Row.Rev, edits), want)
	}
	before := fmt.Sprint(ops[0].Do, fields, extra, ops[0].Row.Rev, edits)
	e.commit(ctx, ops...)
	unchanged(before)
	got := e.get(ctx, t, key)
	written := show(&got)
	for i := range fields {
		fields[i] = str("overwritten")
	}
	extra[0] = driver.Pair{Name: "overwritten"}
	got = e.get(ctx, t, key)
	rule.Equal(e, "the row after the caller wrote over its slices", show(&got), written)
	ops[0] = driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: key}, Edits: edits}
	before = fmt.Sprint(ops[0].Do, ops[0].Row.Fields, ops[0].Row.Extra, ops[0].Row.Rev, edits)
	e.commit(ctx, ops...)
	unchanged(before)
	keys, mask := []driver.Key{key, e.at(t, "p", "b")}, []int{table.String, table.Int}
	rows := make([]driver.Row, 2)
	e.OK("get", e.Store.Get(ctx, t, keys, mask, rows))
	rule.Equal(e, "the arguments after get", fmt.Sprint(keys, mask), fmt.Sprint([]driver.Key{key, e.at(t, "p", "b")}, []int{table.String, table.Int}))
}

func valuesForGood(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var want, got []string
	var kept []driver.Row
	read := make([]driver.Row, 1)
	for i := range 40 {
		r := row(e.at(t, "p", fmt.Sprint(i)), strings.Repeat(string(rune('a'+i%26)), 64))
		r.Fields = append(r.Fields, driver.Value{}, driver.Value{}, listOf(str(fmt.Sprintf("element %02d", i))))
		e.commit(ctx, put(t, r))
		e.OK("get", e.Store.Get(ctx, t, []driver.Key{r.Key}, nil, read))
		want, kept = append(want, textOf(&r)+rule.KindText(r.Fields[table.List])), append(kept, double.CopyRow(&read[0]))
	}
	for i := range kept {
		got = append(got, textOf(&kept[i])+rule.KindText(field(&kept[i], table.List)))
	}
	rule.Equal(e, "the values that get returned, looked at later", got, want)
}

// goroutines uses every method at once, each goroutine on rows of its own.
func goroutines(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	e.Parallel(16, func(i int) error {
		key := e.at(t, fmt.Sprintf("p%d", i), "a")
		for n := range 40 {
			r := row(key, fmt.Sprint(n))
			if refusal, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{put(t, r)}); err != nil || refusal != nil {
				return finding.Wanted("a commit among others to succeed", fmt.Sprint(refusal, err))
			}
			got, err := table.Rows(ctx, e.Store, span(t, key))
			if err != nil || len(got) != 1 || textOf(&got[0]) != fmt.Sprint(n) {
				return finding.Wanted("a goroutine to read what it wrote: "+fmt.Sprint(n), fmt.Sprintf("%d rows, %v", len(got), err))
			}
			if n%10 == 0 {
				if err := e.Store.Define(ctx, []*driver.Table{t}); err != nil {
					return finding.Wanted("define among other calls to succeed", err.Error())
				}
			}
		}
		return nil
	})
	rule.Equal(e, "the number of rows by walk", len(e.walk(ctx, t)), 16)
}
