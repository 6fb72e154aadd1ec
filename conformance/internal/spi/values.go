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

// recordRules are those of the values and rows that a store keeps, then those of
// the records that package repo makes of them.
func recordRules() []entry {
	return slices.Concat(valueRules(), fieldRules(), rowRules())
}

// valueRules keep values of one kind each, and read them in every way.
func valueRules() []entry {
	kinds := edges()
	list := []struct {
		name, sentence string
		values         []driver.Value
	}{
		{"bools", "True and false are kept, and false is not absent.", kinds[0]},
		{"integers", "Integers of 64 bits are kept exactly.", kinds[1]},
		{"floats", "Floats are kept bit by bit, infinities too.", append(kinds[2], floatVal(math.Pi), floatVal(1<<53), floatVal(1.0/3), floatVal(float64(math.MaxFloat32)))},
		{"texts", "Any valid UTF-8 is a text, and the empty text is a value.", append(kinds[3], texts(" x ", "1", "null", "\r\n", "\\", `"`, "é", "e\u0301", "\ufeff", "\ufefftext", "text\ufeff", strings.Repeat("長", 5000))...)},
		{"bytes", "Any run of bytes is kept.", append(kinds[4], bin(allBytes()), bin("\xed\xa0\x80"), bin("text"), bin("\ufefftext"), bin(strings.Repeat("\x00", 3000)))},
		{"times", "Times are kept to the millisecond, at any distance.", kinds[5]},
		{"lists", "Lists keep order, repetitions, and elements of every kind.", listValues()},
		{"maps", "Maps keep every key, and values of every kind.", mapValues()},
	}
	var rules []entry
	for _, l := range list {
		rules = append(rules, entry{Name: l.name, Sentence: l.sentence, Check: func(ctx context.Context, e *env) { keeps(ctx, e, l.values) }})
	}
	return append(rules, entry{Name: "long lists", Sentence: "Lists and maps may have more than 65,536 elements.", Needs: takesMegabytes, Check: longLists})
}

func allBytes() string {
	var b []byte
	for c := range 256 {
		b = append(b, byte(c))
	}
	return string(b)
}

func listOf(vals ...driver.Value) driver.Value { return driver.ListValue(vals) }
func mapOf(pairs ...driver.Value) driver.Value { return driver.MapValue(pairs) }

func listValues() []driver.Value {
	deep := str("bottom")
	for range 30 {
		deep = listOf(deep)
	}
	return []driver.Value{
		listOf(str("")), listOf(str("b"), str("a"), str("b"), str("b")), listOf(num(1), num(1)),
		listOf(driver.BoolValue(false), num(0), floatVal(0), str("0"), bin("0"), driver.TimeValue(0), listOf(num(0)), mapOf(str("0"), num(0))),
		listOf(num(1), floatVal(1), str("1")), listOf(num(math.MaxInt64), num(math.MinInt64)), listOf(floatVal(math.Inf(1))), deep,
	}
}

func mapValues() []driver.Value {
	return []driver.Value{
		mapOf(str(""), str("")), mapOf(str("$set"), num(1), str("a.b"), num(2), str("b c"), num(3)),
		mapOf(str("A"), num(1), str("a"), num(2), str("é"), num(3), str("\U0010ffff"), num(4)),
		mapOf(str("bool"), driver.BoolValue(false), str("bytes"), bin("\x00\xff"), str("float"), floatVal(1), str("int"), num(1),
			str("list"), listOf(str("x"), str("")), str("map"), mapOf(str("_id"), num(1)), str("time"), driver.TimeValue(1521080087123)),
	}
}

// keeps writes each value as a declared field, as an undeclared one, and into an
// element of a list, and reads it by Get, Range and Walk.
func keeps(ctx context.Context, e *env, values []driver.Value) {
	t := e.Tables.Sorted
	want := map[string]string{}
	for i, v := range values {
		r := driver.Row{Key: e.at(t, "p", fmt.Sprintf("%03d", i)), Fields: make([]driver.Value, table.Map+1)}
		r.Fields[v.Kind()-driver.Bool] = v
		r.Fields[table.List] = listOf(v, str("end"))
		r.Extra = []driver.Pair{{Name: "undeclared", Value: v}}
		if v.Kind() == driver.List {
			r.Fields[table.List] = v
		}
		e.commit(ctx, put(t, r))
		r.Rev = driver.NewToken()
		want[r.Key.Sort] = exact(&r)
	}
	compare := func(way string, rows []driver.Row) {
		rule.Equal(e, "the number of rows by "+way, len(rows), len(values))
		for i := range rows {
			rule.Equal(e, "the row by "+way, exact(&rows[i]), want[rows[i].Key.Sort])
		}
	}
	compare("range", e.rows(ctx, span(t, e.at(t, "p", ""))))
	compare("walk", e.walk(ctx, t))
	for i := range values {
		key := e.at(t, "p", fmt.Sprintf("%03d", i))
		got := e.get(ctx, t, key)
		rule.Equal(e, "the row by get", exact(&got), want[key.Sort])
	}
}

// exact returns what is in a row as text that differs wherever the rows do.
func exact(r *driver.Row) string {
	return fmt.Sprint(show(r), rule.Plainly(r.Fields), rule.Plainly(r.Extra))
}

// longList is more elements than 16 bits count.
const longList = 70_000

// takesMegabytes says why a commit cannot hold several.
func takesMegabytes(f driver.Facts) string {
	if f.MaxCommit > 0 && f.MaxCommit < 4<<20 {
		return fmt.Sprintf("a commit of %s has at most %d bytes", f.Name, f.MaxCommit)
	}
	return ""
}

func longLists(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	list, pairs := make([]driver.Value, longList), make([]driver.Value, 0, 2*longList)
	for i := range list {
		list[i] = num(int64(i))
		pairs = append(pairs, str(fmt.Sprintf("%05d", i)), driver.BoolValue(i%2 == 0))
	}
	for field, long := range map[int]driver.Value{table.List: listOf(list...), table.Map: mapOf(pairs...)} {
		r := driver.Row{Key: e.at(t, "p", t.Fields[field].Name), Fields: make([]driver.Value, table.Map+1)}
		r.Fields[field] = long
		e.commit(ctx, put(t, r))
		sp := span(t, r.Key)
		sp.From, sp.To = r.Key.Sort, driver.After(r.Key.Sort)
		hasLong(ctx, e, "written", sp, field, long)
		r.Fields[field] = driver.Value{}
		e.commit(ctx, put(t, r))
		edit := driver.Edit{Do: driver.Set, Field: field, Value: long}
		e.commit(ctx, driver.Op{Do: driver.Patch, Table: t, If: driver.Present, Row: driver.Row{Key: r.Key}, Edits: []driver.Edit{edit}})
		hasLong(ctx, e, "set", sp, field, long)
	}
}

// hasLong reads a long value in every way.
func hasLong(ctx context.Context, e *env, when string, sp driver.Span, field int, want driver.Value) {
	rows := map[string]driver.Row{"get": e.get(ctx, sp.Table, driver.Key{Partition: sp.Key.Partition, Sort: sp.From}), "range": rule.At(e, "the rows by range", e.rows(ctx, sp), 0)}
	for _, r := range e.walk(ctx, sp.Table) {
		if r.Key.Sort == sp.From {
			rows["walk"] = r
		}
	}
	for way, r := range rows {
		got := rule.At(e, "the fields by "+way, r.Fields, field)
		e.That(got.Equal(want), fmt.Sprintf("a %s of %d elements, as %s, by %s", want.Kind(), longList, when, way), "another %s, of %d parts", got.Kind(), len(got.List()))
	}
	e.That(len(rows) == 3, "the row by a walk", "none")
}

func fieldRules() []entry {
	return []entry{
		{Name: "absent fields", Sentence: "An absent field is no value: not false, not 0, not the empty text.", Check: absentFields},
		{Name: "undeclared fields", Sentence: "Fields that the table does not declare are kept under any name, ascending by it.", Check: undeclared},
		{Name: "fields of others", Sentence: "A field that another program has declared comes as an undeclared one.", Check: fieldsOfOthers},
		{Name: "declared later", Sentence: "A field that is declared after it was written comes in its place.", Check: declaredLater},
		{Name: "masks", Sentence: "Fields are limited to the mask, in its order; an empty mask reads none, and undeclared fields are left out.", Check: masks},
		{Name: "masks of ranges", Sentence: "Range limits fields to the mask of its span.", Check: rangeMasks},
	}
}

func absentFields(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	zero := []driver.Value{driver.BoolValue(false), num(0), floatVal(0), str(""), {}, driver.TimeValue(0), {}, {}}
	rows := map[string][]driver.Value{"none": nil, "zero": zero, "some": {{}, num(0), {}, str("")}}
	for name, fields := range rows {
		e.commit(ctx, put(t, driver.Row{Key: e.at(t, "p", name), Fields: fields}))
	}
	for name, fields := range rows {
		got := e.get(ctx, t, e.at(t, "p", name))
		for i := range table.Fields() {
			want := driver.Value{}
			if i < len(fields) {
				want = fields[i]
			}
			rule.Equal(e, "the "+t.Fields[i].Name+" of "+name, rule.KindText(field(&got, i)), rule.KindText(want))
		}
	}
}

// extraNames are names that undeclared fields may have, ascending.
func extraNames() []string {
	names := []string{" ", "$", "$set", "A", "Z", "a", "a b", "a.b", "a:b", "b", "f", strings.Repeat("n", 300), "rev", "zz", "é", "\ue000", "\U0010ffff", "\ufeff", "\ufeffa"}
	slices.Sort(names)
	return names
}

func undeclared(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	names := extraNames()
	r := row(e.at(t, "p", "a"), "declared")
	for i, name := range names {
		r.Extra = append(r.Extra, driver.Pair{Name: name, Value: num(int64(i))})
	}
	e.commit(ctx, put(t, r))
	got := e.get(ctx, t, r.Key)
	rule.Equal(e, "the undeclared fields", got.Extra, r.Extra)
	r.Extra = r.Extra[3:5]
	e.commit(ctx, put(t, r))
	got = e.get(ctx, t, r.Key)
	rule.Equal(e, "the undeclared fields of a row written anew", got.Extra, r.Extra)
}

// ownTable returns a new table like sorted, with some of its fields.
func (e *env) ownTable(fields ...driver.Column) *driver.Table {
	t := *e.Tables.Sorted
	t.Name, t.Fields = e.freshTable(), fields
	return &t
}

// freshTable returns the name of a table that the suite drops.
func (e *env) freshTable() string {
	name := fmt.Sprintf("%s.t%d", e.ID, e.Number())
	e.Drops(&driver.Table{Name: name})
	return name
}

func (e *env) define(ctx context.Context, tables ...*driver.Table) {
	e.OK("define", e.Store.Define(ctx, tables))
}

func fieldsOfOthers(ctx context.Context, e *env) {
	a, b := driver.Column{Name: "a", Kind: driver.String}, driver.Column{Name: "b", Kind: driver.Int}
	newer := e.ownTable(a, b)
	older := &driver.Table{Name: newer.Name, Partition: newer.Partition, Sort: newer.Sort, Fields: []driver.Column{b}}
	e.define(ctx, newer)
	e.define(ctx, older)
	key := e.at(newer, "p", "a")
	e.commit(ctx, put(newer, driver.Row{Key: key, Fields: []driver.Value{str("x"), num(1)}}))
	got := e.get(ctx, older, key)
	rule.Equal(e, "the declared fields, as the older program sees them", got.Fields, []driver.Value{num(1)})
	rule.Equal(e, "the undeclared ones", got.Extra, []driver.Pair{{Name: "a", Value: str("x")}})
	e.commit(ctx, put(older, driver.Row{Key: key, Fields: []driver.Value{num(2)}, Extra: got.Extra}))
	got = e.get(ctx, newer, key)
	rule.Equal(e, "the fields, as the newer program sees what the older one wrote", got.Fields, []driver.Value{str("x"), num(2)})
}

func declaredLater(ctx context.Context, e *env) {
	a, b := driver.Column{Name: "a", Kind: driver.String}, driver.Column{Name: "b", Kind: driver.Int}
	older := e.ownTable(a)
	e.define(ctx, older)
	key := e.at(older, "p", "a")
	e.commit(ctx, put(older, driver.Row{Key: key, Fields: texts("x"), Extra: []driver.Pair{{Name: "b", Value: num(7)}, {Name: "c", Value: num(8)}}}))
	newer := &driver.Table{Name: older.Name, Partition: older.Partition, Sort: older.Sort, Fields: []driver.Column{b, a}}
	e.define(ctx, newer)
	for way, got := range map[string]driver.Row{"get": e.get(ctx, newer, key), "range": rule.At(e, "the rows by range", e.rows(ctx, span(newer, key)), 0)} {
		rule.Equal(e, "the fields by "+way, got.Fields, []driver.Value{num(7), str("x")})
		rule.Equal(e, "the undeclared fields by "+way, got.Extra, []driver.Pair{{Name: "c", Value: num(8)}})
	}
	masked := e.getAll(ctx, newer, []int{0}, key)
	rule.Equal(e, "the field by a mask", masked[0].Fields, []driver.Value{num(7)})
	e.commit(ctx, driver.Op{Do: driver.Patch, Table: newer, If: driver.Present, Row: driver.Row{Key: key}, Edits: []driver.Edit{{Do: driver.Add, Field: 0, Value: num(1)}}})
	after := e.get(ctx, newer, key)
	rule.Equal(e, "the fields after an edit", after.Fields, []driver.Value{num(8), str("x")})
}

func maskedRow(e *env, t *driver.Table) driver.Row {
	r := row(e.at(t, "p", "a"), "text")
	r.Fields[table.Bool], r.Fields[table.Int] = driver.BoolValue(true), num(5)
	r.Extra, r.Meta, r.Expires = []driver.Pair{{Name: "x", Value: num(1)}}, "note", 99
	return r
}

func maskCases() [][]int {
	return [][]int{nil, {}, {table.Int}, {table.String, table.Bool}, {table.Bytes}, {table.Int, table.Bytes, table.String}}
}

// checkMask compares a row that was read with a mask.
func checkMask(e *env, way string, mask []int, got, whole *driver.Row) {
	what := fmt.Sprintf(" by %s with the mask %v", way, mask)
	rule.Equal(e, "the note and expiry"+what, fmt.Sprint(got.Meta, got.Expires), fmt.Sprint(whole.Meta, whole.Expires))
	if mask == nil {
		rule.Equal(e, "the row"+what, show(got), show(whole))
		return
	}
	var want, have []string
	for i, ordinal := range mask {
		want, have = append(want, rule.KindText(field(whole, ordinal))), append(have, rule.KindText(field(got, i)))
	}
	rule.Equal(e, "the fields"+what, have, want)
	e.That(len(got.Fields) <= len(mask), "no more fields than the mask has", "%d", len(got.Fields))
	rule.Equal(e, "the number of undeclared fields"+what, len(got.Extra), 0)
}

func masks(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	r := maskedRow(e, t)
	r.Rev = e.commit(ctx, put(t, r))
	for _, mask := range maskCases() {
		got := e.getAll(ctx, t, mask, r.Key)
		rule.Equal(e, "the Rev", got[0].Rev, r.Rev)
		checkMask(e, "get", mask, &got[0], &r)
	}
}

func rangeMasks(ctx context.Context, e *env) {
	t := e.Tables.Sorted
	r := maskedRow(e, t)
	r.Rev = e.commit(ctx, put(t, r))
	for _, mask := range maskCases() {
		sp := span(t, r.Key)
		sp.Mask = mask
		rows := e.rows(ctx, sp)
		rule.Equal(e, "the number of rows", len(rows), 1)
		checkMask(e, "range", mask, &rows[0], &r)
	}
}
