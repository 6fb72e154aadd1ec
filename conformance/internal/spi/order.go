package spi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

func orderRules() []entry {
	return []entry{
		{Name: "text order", Sentence: "Range yields the rows of a partition in byte order of Key.Sort.", Check: textOrder},
		{Name: "code point order", Sentence: "Byte order of UTF-8 is the order of code points, beyond U+FFFF too.", Check: codePointOrder},
		{Name: "values ascending", Sentence: "Byte order of keys is the order of their values, for every kind.", Check: func(ctx context.Context, e *env) { valueOrder(ctx, e, e.Tables.Asc) }},
		{Name: "values descending", Sentence: "A sort column marked Desc has greater values first, for every kind.", Check: func(ctx context.Context, e *env) { valueOrder(ctx, e, e.Tables.Desc) }},
		{Name: "reverse", Sentence: "Range with Reverse yields the same rows against the order.", Check: reverse},
		{Name: "thousands", Sentence: "Range yields all rows of a partition, thousands of them too.", Check: thousands},
	}
}

// fill puts a row for each order text into the partition p, in one order or
// another, and returns the sort texts ascending.
func (e *env) fill(ctx context.Context, t *driver.Table, p string, orders ...string) []string {
	var want []string
	for i := range orders {
		key := e.at(t, p, orders[(i*7+3)%len(orders)]) // not in order; 7 divides no length used here
		e.commit(ctx, put(t, row(key, key.Sort)))
	}
	for _, o := range orders {
		want = append(want, e.at(t, p, o).Sort)
	}
	slices.Sort(want)
	return want
}

func textOrder(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	want := e.fill(ctx, t, "p", "", "a", "B", "b", "A", "ab", "a!", "a b", "a/b", "a-b", "a_b", "a.b", "a~", "Z", "_", "z", "10", "9", "{", "}", "|", "%", "é", "e", "f")
	rule.Equal(e, "the order of the rows", sorts(e.rows(ctx, span(t, e.at(t, "p", "")))), want)
}

func codePointOrder(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	want := e.fill(ctx, t, "p", "\U0010ffff", "\uffff", "\U00010000", "\ud7ff", "\ue000", "\U0001f600", "\ufffd", "z")
	rule.Equal(e, "the order of the rows", sorts(e.rows(ctx, span(t, e.at(t, "p", "")))), want)
}

func valueOrder(ctx context.Context, e *env, t *driver.Table) {
	between := []driver.Value{driver.BoolValue(true), num(7), floatVal(7), str("m"), bin("m"), driver.TimeValue(7)}
	list := variants(between)
	for i := range list { // one partition a kind, so that only that kind decides
		tuple := list[(i*31+5)%len(list)]
		e.commit(ctx, put(t, row(e.key(t, append(texts(kindOf(tuple, between)), tuple...)...), rule.Brief(tuple))))
	}
	for kind, vals := range edges() {
		var want []string
		for _, v := range vals {
			tuple := slices.Clone(between)
			tuple[kind] = v
			if !v.Equal(between[kind]) {
				want = append(want, rule.Brief(tuple))
			}
		}
		if t.Sort[0].Desc {
			slices.Reverse(want)
		}
		p := fmt.Sprint(kind)
		var got []string
		for _, r := range e.rows(ctx, span(t, e.key(t, append(texts(p), between...)...))) {
			got = append(got, textOf(&r))
		}
		rule.Equal(e, "the order of values of the kind "+t.Sort[kind].Kind.String(), got, want)
	}
}

// kindOf returns which value of a tuple differs from between.
func kindOf(tuple, between []driver.Value) string {
	for i := range tuple {
		if !tuple[i].Equal(between[i]) {
			return fmt.Sprint(i)
		}
	}
	return "none"
}

func reverse(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	want := e.fill(ctx, t, "p", "a", "b", "c", "c#", "d", "")
	slices.Reverse(want)
	sp := span(t, e.at(t, "p", ""))
	sp.Reverse = true
	rule.Equal(e, "the order of the rows read backwards", sorts(e.rows(ctx, sp)), want)
	sp.From, sp.To = "b#", "d#"
	rule.Equal(e, "the rows from b below d read backwards", sorts(e.rows(ctx, sp)), []string{"c%23#", "c#", "b#"})
}

const manyRows = 2500

func thousands(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var ops []driver.Op
	for i := range manyRows {
		ops = append(ops, put(t, row(e.at(t, "p", fmt.Sprintf("%05d", i*7919%100_003)), "x")))
	}
	e.commitMany(ctx, ops)
	for _, reverse := range []bool{false, true} {
		sp := span(t, e.at(t, "p", ""))
		sp.Reverse = reverse
		got := sorts(e.rows(ctx, sp))
		rule.Equal(e, "the number of rows", len(got), manyRows)
		if reverse {
			slices.Reverse(got)
		}
		e.That(slices.IsSorted(got), "the rows to be in order", "they are not")
		e.That(len(slices.Compact(got)) == manyRows, "no row twice", "some are")
	}
}

// commitMany does ops in commits of what the store can change at once, and some
// commits at a time.
func (e *env) commitMany(ctx context.Context, ops []driver.Op) {
	size := 100
	if e.Facts.Scope < driver.ScopePartition {
		size = 1
	}
	var chunks [][]driver.Op
	for chunk := range slices.Chunk(ops, size) {
		chunks = append(chunks, chunk)
	}
	e.Parallel(8, func(i int) error {
		for ; i < len(chunks); i += 8 {
			refusal, err := e.Store.Commit(ctx, driver.NewToken(), chunks[i])
			if err != nil || refusal != nil {
				return finding.Wanted(opsText(chunks[i])+" to succeed", fmt.Sprint(refusal, err))
			}
		}
		return nil
	})
}

// commitEach is commitMany for ops of several partitions and tables, of which a commit has one.
func (e *env) commitEach(ctx context.Context, ops []driver.Op) {
	type place struct{ table, partition string }
	var order []place
	of := map[place][]driver.Op{}
	for _, op := range ops {
		at := place{op.Table.Name, op.Row.Key.Partition}
		if of[at] == nil {
			order = append(order, at)
		}
		of[at] = append(of[at], op)
	}
	for _, at := range order {
		e.commitMany(ctx, of[at])
	}
}

func spanRules() []entry {
	return []entry{
		{Name: "half open", Sentence: "A row is in a span if From <= Sort and, unless To is empty, Sort < To.", Check: halfOpen},
		{Name: "begun bounds", Sentence: "From and To may be beginnings of order texts.", Check: begunBounds},
		{Name: "empty spans", Sentence: "A span that no order text can be in yields nothing.", Check: emptySpans},
		{Name: "limit", Sentence: "Range yields at most Limit rows, the first ones of its direction; 0 is no limit.", Check: limit},
		{Name: "later pages", Sentence: "Bounds, limit and mask hold of thousands of rows as of the first ones, and each row is whole.", Check: laterPages},
		{Name: "one partition", Sentence: "Range yields rows of one partition only.", Check: onePartition},
		{Name: "not read before the loop", Sentence: "Range is lazy: a row that is there when the loop begins is yielded.", Check: lazyRange},
		{Name: "ranges anew", Sentence: "Range sees every commit that was acknowledged before the call.", Check: rangeSees},
		{Name: "exactly once", Sentence: "A row that is there during the whole loop is yielded exactly once, while others come and go.", Check: exactlyOnce},
		{Name: "rows that go", Sentence: "A loop whose body deletes the rows that it is given misses none of the others.", Check: rowsThatGo},
		{Name: "left loops", Sentence: "Leaving the loop releases everything.", Check: leftLoops},
		{Name: "goroutines of left loops", Sentence: "Leaving a loop leaves no goroutine.", Check: leftGoroutines},
		{Name: "panics in loops", Sentence: "A loop whose body panics, or ends its goroutine, holds no lock.", Check: panickedLoops},
		{Name: "strings for good", Sentence: "The strings of a row that Range yielded stay as they are.", Check: stringsForGood},
	}
}

func halfOpen(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	e.fill(ctx, t, "p", "a", "b", "bb", "c", "d")
	for _, tt := range []struct {
		from, to string
		want     []string
	}{
		{"b#", "d#", []string{"b#", "bb#", "c#"}},
		{"a#", "a#", []string{}},
		{"a#", "b#", []string{"a#"}},
		{"", "c#", []string{"a#", "b#", "bb#"}},
		{"c#", "", []string{"c#", "d#"}},
		{driver.After("b#"), "c#", []string{"bb#"}},
		{"e#", "", []string{}},
	} {
		sp := span(t, e.at(t, "p", ""))
		sp.From, sp.To = tt.from, tt.to
		rule.Equal(e, fmt.Sprintf("the rows from %q below %q", tt.from, tt.to), sorts(e.rows(ctx, sp)), tt.want)
	}
}

func begunBounds(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	e.fill(ctx, t, "p", "ab", "abc", "abd", "ac", "a", "b", "\U0010ffff", "\U0010ffffa")
	for prefix, want := range map[string][]string{
		"ab": {"ab#", "abc#", "abd#"}, "a": {"a#", "ab#", "abc#", "abd#", "ac#"}, "abc": {"abc#"}, "abcd": {},
		"\U0010ffff": {"\U0010ffff#", "\U0010ffffa#"},
	} {
		sp := span(t, e.at(t, "p", ""))
		sp.From, sp.To = prefix, driver.After(prefix)
		rule.Equal(e, fmt.Sprintf("the rows from %q below %q", sp.From, sp.To), sorts(e.rows(ctx, sp)), want)
	}
}

func emptySpans(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	e.fill(ctx, t, "p", "a", "b", "c")
	for _, b := range [][2]string{{"b#", "b#"}, {"c#", "a#"}, {"b", "a"}, {driver.After("c#"), driver.After("c#")}, {"d", ""}} {
		for _, reverse := range []bool{false, true} {
			sp := span(t, e.at(t, "p", ""))
			sp.From, sp.To, sp.Reverse = b[0], b[1], reverse
			rule.Equal(e, fmt.Sprintf("the rows from %q below %q, reverse %v", b[0], b[1], reverse), sorts(e.rows(ctx, sp)), []string{})
		}
	}
	rule.Equal(e, "the rows of a partition that has none", sorts(e.rows(ctx, span(t, e.at(t, "none", "")))), []string{})
}

func limit(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	all := e.fill(ctx, t, "p", "a", "b", "c", "d", "e")
	for n := range len(all) + 2 {
		for _, reverse := range []bool{false, true} {
			sp := span(t, e.at(t, "p", ""))
			sp.Limit, sp.Reverse = n, reverse
			want := slices.Clone(all)
			if reverse {
				slices.Reverse(want)
			}
			if n > 0 {
				want = want[:min(n, len(want))]
			}
			rule.Equal(e, fmt.Sprintf("the rows with limit %d, reverse %v", n, reverse), sorts(e.rows(ctx, sp)), want)
		}
	}
	sp := span(t, e.at(t, "p", ""))
	sp.From, sp.To, sp.Limit = "b#", "e#", 2
	rule.Equal(e, "the first two rows from b below e", sorts(e.rows(ctx, sp)), []string{"b#", "c#"})
}

func onePartition(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	for _, p := range []string{"a", "aa", "a#", "", "b"} {
		e.fill(ctx, t, p, "x"+p, "y")
	}
	for _, p := range []string{"a", "aa", "a#", "", "b"} {
		for _, reverse := range []bool{false, true} {
			sp := span(t, e.at(t, p, ""))
			sp.Reverse = reverse
			rows := e.rows(ctx, sp)
			rule.Equal(e, "the number of rows of the partition "+rule.Brief(p), len(rows), 2)
			for i := range rows {
				rule.Equal(e, "the partition of a row", rows[i].Key.Partition, sp.Key.Partition)
			}
		}
	}
}

func lazyRange(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	e.fill(ctx, t, "p", "a", "b")
	seq := e.Store.Range(ctx, span(t, e.at(t, "p", "")))
	e.fill(ctx, t, "p", "c")
	var got []string
	for r, err := range seq {
		e.OK("range", err)
		got = append(got, r.Key.Sort)
	}
	rule.Equal(e, "the rows of a loop that began after the third commit", got, []string{"a#", "b#", "c#"})
}

func rangeSees(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	sp := span(t, e.at(t, "p", ""))
	for i := range 20 {
		key := e.at(t, "p", fmt.Sprintf("%02d", i))
		e.commit(ctx, put(t, row(key, "new")))
		rule.Equal(e, "the number of rows after an insert", len(e.rows(ctx, sp)), i%2+1)
		e.commit(ctx, put(t, row(key, "changed")))
		rows := e.rows(ctx, sp)
		rule.Equal(e, "the row after a change", textOf(new(rule.At(e, "the rows of the range", rows, len(rows)-1))), "changed")
		if i%2 == 1 {
			for j := i - 1; j <= i; j++ {
				e.commit(ctx, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: e.at(t, "p", fmt.Sprintf("%02d", j))}})
			}
		}
	}
}

// exactlyOnce reads a partition slowly, while rows between those that stay come
// and go.
func exactlyOnce(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var stay []driver.Op
	for i := range 300 {
		stay = append(stay, put(t, row(e.at(t, "p", fmt.Sprintf("%04d", i)), "stays")))
	}
	e.commitMany(ctx, stay)
	for _, reverse := range []bool{false, true} {
		sp := span(t, e.at(t, "p", ""))
		sp.Reverse = reverse
		got, n := []string{}, 0
		for r, err := range e.Store.Range(ctx, sp) {
			e.OK("range", err)
			if textOf(r) == "stays" {
				got = append(got, r.Key.Sort)
			}
			if n++; n%40 == 1 && n < 600 {
				churn(ctx, e, t, n)
			}
		}
		if reverse {
			slices.Reverse(got)
		}
		rule.Equal(e, "the number of rows that stayed, reverse "+fmt.Sprint(reverse), len(got), len(stay))
		e.That(slices.IsSorted(got) && len(slices.Compact(got)) == len(stay), "each row that stayed once, in order", "%v", rule.Brief(got))
	}
}

// churn adds and removes rows at places all over the partition p.
func churn(ctx context.Context, e *env, t *driver.Table, n int) {
	for i := range 12 {
		key := e.at(t, "p", fmt.Sprintf("%04d-%d", i*25, n%2))
		if (n/40)%2 == 0 {
			e.commit(ctx, put(t, row(key, "goes")))
		} else {
			e.commit(ctx, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: key}})
		}
	}
}

func leftLoops(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	e.fill(ctx, t, "p", "a", "b", "c")
	for range 150 {
		for _, err := range e.Store.Range(ctx, span(t, e.at(t, "p", ""))) {
			e.OK("range", err)
			break
		}
		for _, err := range e.Store.Walk(ctx, t, "") {
			e.OK("walk", err)
			break
		}
	}
	e.commit(ctx, put(t, row(e.at(t, "p", "d"), "after")))
	rule.Equal(e, "the number of rows after 300 loops were left", len(e.rows(ctx, span(t, e.at(t, "p", "")))), 4)
}

func stringsForGood(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	var want []string
	for i := range 50 {
		key := e.at(t, "p", fmt.Sprintf("%02d", i))
		r := row(key, strings.Repeat(fmt.Sprint(i%10), 100))
		r.Meta, r.Extra = fmt.Sprintf("note %d", i), []driver.Pair{{Name: fmt.Sprintf("x%02d", i), Value: bin(strings.Repeat("b", i+1))}}
		want = append(want, key.Sort+r.Fields[table.String].Str()+r.Meta+r.Extra[0].Name+r.Extra[0].Value.Str())
		e.commit(ctx, put(t, r))
	}
	var kept [][]string
	for r, err := range e.Store.Range(ctx, span(t, e.at(t, "p", ""))) {
		e.OK("range", err)
		if len(r.Extra) != 1 {
			e.Broken("one undeclared field", "%d", len(r.Extra))
		}
		kept = append(kept, []string{r.Key.Sort, textOf(r), r.Meta, r.Extra[0].Name, r.Extra[0].Value.Str()})
	}
	e.rows(ctx, span(t, e.at(t, "p", ""))) // a store that reuses buffers writes over the first ones
	var got []string
	for _, parts := range kept {
		got = append(got, strings.Join(parts, ""))
	}
	rule.Equal(e, "the strings of the rows, looked at after the loop", got, want)
}
