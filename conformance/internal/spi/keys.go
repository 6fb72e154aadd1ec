package spi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

func keyRules() []entry {
	return slices.Concat(textKeyRules(), []entry{
		{Name: "long keys", Sentence: "A key of 1,024 bytes is kept whole.", Check: longKeys},
		{Name: "beginnings", Sentence: "Keys whose parts begin one another's are different.", Check: beginnings},
		{Name: "typed partitions", Sentence: "Partitions are told apart by every kind of value, at its edges too.", Check: typedPartitions},
		{Name: "no order", Sentence: "A table without sort columns has one row a partition.", Check: noOrder},
		{Name: "gathered", Sentence: "What a store gathers from tables that lie together are the rows that a range of each has.", Check: gather},
		{Name: "several ranges", Sentence: "What a store reads of several spans together are the rows that a range of each has.", Check: ranges},
	}, orderRules(), spanRules())
}

// textKeyRules are about texts that stores tend to confuse.
func textKeyRules() []entry {
	list := []struct {
		name, sentence string
		texts          []string
	}{
		{"case", "Keys that differ only in case are different.", []string{"a", "A", "straße", "STRASSE", "é", "É", "ı", "I", "i"}},
		{"empty text", "The empty text is a key part like any other.", []string{"", "a", " "}},
		{"nul", "NUL is a character of a key like any other, wherever it stands.", []string{"x", "x\x00", "x\x00y", "\x00x", "\x00", "\x00\x00", "xy"}},
		{"separators", "Keys may hold any separator, and those that differ in one are different.", rule.Separators()},
		{"spaces", "Spaces and line ends in keys are kept, at either end too.", []string{"s", " s", "s ", "s\n", "s\r\n", "\ts", "s s", "ss"}},
		{"composed", "Keys are compared byte by byte, without normalisation.", []string{"\u00e9", "e\u0301", "\u212b", "\u00c5", "A\u030a", "\ufb01", "fi"}},
		{"last characters", "Keys may hold any character up to U+10FFFF.", []string{"\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "\ufffd", "\ufeff", "a\U0010ffff"}},
		{"byte order marks", "U+FEFF is a character of a key like any other, wherever it stands.", []string{"b", "\ufeffb", "b\ufeff", "\ufeff", "\ufeff\ufeffb", "b\ufeffb", "bb"}},
		{"numbers as text", "Texts that read as the same number are different keys.", []string{"1", "01", "1.0", "+1", "1e0", "١", "true", "null"}},
	}
	var rules []entry
	for _, l := range list {
		rules = append(rules, entry{Name: l.name, Sentence: l.sentence, Check: func(ctx context.Context, e *env) { distinct(ctx, e, l.texts) }})
	}
	return rules
}

// distinct puts a row under each text, as partition and as order, and finds each
// of them again.
func distinct(ctx context.Context, e *env, texts []string) {
	t := e.Tables.Sorted
	for _, text := range texts {
		e.commit(ctx, put(t, row(e.at(t, text, "x"), "partition "+text)))
		e.commit(ctx, put(t, row(e.at(t, "\u2028one", text), "order "+text)))
	}
	for _, text := range texts {
		rule.Equal(e, "the row in the partition "+rule.Brief(text), e.text(ctx, t, e.at(t, text, "x")), "partition "+text)
		rule.Equal(e, "the row with the order "+rule.Brief(text), e.text(ctx, t, e.at(t, "\u2028one", text)), "order "+text)
		rule.Equal(e, "the number of rows in the partition "+rule.Brief(text), len(e.rows(ctx, span(t, e.at(t, text, "x")))), 1)
	}
	rows := e.rows(ctx, span(t, e.at(t, "\u2028one", "")))
	rule.Equal(e, "the number of rows of the partition with all texts", len(rows), len(texts))
	rule.Equal(e, "the number of rows by walk", len(e.walk(ctx, t)), 2*len(texts))
	for i := range rows {
		vals, _, err := driver.ParseParts(nil, rows[i].Key.Sort, t.Sort)
		e.OK("parse of the key of row "+rule.Brief(rows[i].Key.Sort), err)
		rule.Equal(e, "the row with the order "+rule.Brief(vals[0].Str()), textOf(&rows[i]), "order "+vals[0].Str())
	}
}

// text returns what row wrote under a key, or what is there instead.
func (e *env) text(ctx context.Context, t *driver.Table, key driver.Key) string {
	r := e.get(ctx, t, key)
	return textOf(&r)
}

func textOf(r *driver.Row) string {
	if v := field(r, table.String); v.Kind() == driver.String {
		return v.Str()
	}
	return show(r)
}

// field returns a field of a row, absent if it is missing at the end.
func field(r *driver.Row, ordinal int) driver.Value {
	if ordinal < len(r.Fields) {
		return r.Fields[ordinal]
	}
	return driver.Value{}
}

func longKeys(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	rest := 1024 - len(e.at(t, "", "").Partition) - len("#")
	for _, n := range []int{rest, rest - 1, 512, 256, 255} {
		half := n / 2
		p, s := fmt.Sprintf("%0*d", half, n), strings.Repeat("s", n-half)
		e.commit(ctx, put(t, row(e.at(t, p, s), "whole")))
		e.commit(ctx, put(t, row(e.at(t, p, s[1:]+"z"), "other")))
		got := e.rows(ctx, span(t, e.at(t, p, "")))
		rule.Equal(e, "the rows under long keys", sorts(got), []string{s + "#", s[1:] + "z#"})
		e.commit(ctx, put(t, row(e.at(t, "one", strings.Repeat("s", n)), "alone")))
		rule.Equal(e, "the row under a long order", e.text(ctx, t, e.at(t, "one", strings.Repeat("s", n))), "alone")
	}
}

func beginnings(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	pairs := [][2]string{{"a", "b"}, {"ab", ""}, {"", "ab"}, {"a", ""}, {"", "a"}, {"a#", "b"}, {"a", "#b"}, {"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"", ""}}
	for _, p := range pairs {
		e.commit(ctx, put(t, row(e.at(t, p[0], p[1]), rule.Brief(p[:]))))
	}
	for _, p := range pairs {
		rule.Equal(e, "the row of "+rule.Brief(p[:]), e.text(ctx, t, e.at(t, p[0], p[1])), rule.Brief(p[:]))
	}
	rule.Equal(e, "the rows of the partition a", sorts(e.rows(ctx, span(t, e.at(t, "a", "")))), []string{"#", "%23b#", "b#", "bc#"})
}

// edges are values of each kind, in ascending order.
func edges() [][]driver.Value {
	return [][]driver.Value{
		{driver.BoolValue(false), driver.BoolValue(true)},
		{num(math.MinInt64), num(math.MinInt64 + 1), num(-1 << 53), num(-100), num(-99), num(-10), num(-9), num(-1), num(0), num(1), num(9), num(10), num(99), num(1<<53 - 1), num(1 << 53), num(1<<53 + 1), num(math.MaxInt64 - 1), num(math.MaxInt64)},
		{floatVal(math.Inf(-1)), floatVal(-math.MaxFloat64), floatVal(-1.5), floatVal(-1), floatVal(-math.SmallestNonzeroFloat64), floatVal(0), floatVal(math.SmallestNonzeroFloat64), floatVal(0.1), floatVal(1), floatVal(math.Nextafter(1, 2)), floatVal(1e300), floatVal(math.MaxFloat64), floatVal(math.Inf(1))},
		texts("", "\x00", "\x00a", "\x01", "!", "A", "B", "a", "a\x00", "a!", "aa", "b", "é", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"),
		{bin("\x00"), bin("\x00\x00"), bin("\x00\xff"), bin("\x01"), bin("a"), bin("a\x00"), bin("\x7f"), bin("\x80"), bin("\xff"), bin("\xff\x00"), bin("\xff\xff")},
		{driver.TimeValue(math.MinInt64), driver.TimeValue(-62135596800000), driver.TimeValue(-1), driver.TimeValue(0), driver.TimeValue(1), driver.TimeValue(1521080087000), driver.TimeValue(1521080087001), driver.TimeValue(253402300799999), driver.TimeValue(math.MaxInt64)},
	}
}

func floatVal(f float64) driver.Value { return driver.FloatValue(f) }
func bin(s string) driver.Value       { return driver.BytesValue(s) }

// variants returns tuples of one value of each kind, each with one value at an
// edge: the edges of the first kind, then those of the second, and so on.
func variants(between []driver.Value) [][]driver.Value {
	var list [][]driver.Value
	for kind, vals := range edges() {
		for _, v := range vals {
			tuple := slices.Clone(between)
			tuple[kind] = v
			list = append(list, tuple)
		}
	}
	return list
}

func typedPartitions(ctx context.Context, e *env) {
	t := e.Tables.Typed
	between := []driver.Value{driver.BoolValue(true), num(7), floatVal(7), str("m"), bin("m"), driver.TimeValue(7)}
	list := variants(between)
	for _, tuple := range list {
		e.commit(ctx, put(t, row(e.key(t, tuple...), rule.Brief(tuple))))
	}
	for _, tuple := range list {
		rule.Equal(e, "the row of the partition "+rule.Brief(tuple), e.text(ctx, t, e.key(t, tuple...)), rule.Brief(tuple))
		rule.Equal(e, "the number of rows in the partition "+rule.Brief(tuple), len(e.rows(ctx, span(t, e.key(t, tuple...)))), 1)
	}
}

func noOrder(ctx context.Context, e *env) {
	t := e.Tables.Plain
	for _, p := range []string{"a", "b", ""} {
		e.commit(ctx, put(t, row(e.at(t, p), "first")))
		e.commit(ctx, put(t, row(e.at(t, p), "second "+p)))
	}
	for _, p := range []string{"a", "b", ""} {
		rows := e.rows(ctx, span(t, e.at(t, p)))
		rule.Equal(e, "the number of rows of a partition", len(rows), 1)
		rule.Equal(e, "the row of the partition "+rule.Brief(p), textOf(&rows[0]), "second "+p)
		rule.Equal(e, "the order of a row without sort columns", rows[0].Key.Sort, "")
	}
}
