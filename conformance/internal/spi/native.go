package spi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

// nativeRules are about indexes that the store keeps by itself.
func nativeRules() []entry {
	list := []entry{
		{Name: "native definitions", Sentence: "A native index is defined again as it is, and with other columns it is ErrSchema; it is read in order or walked, and not written.", Check: nativeDefinitions},
		{Name: "native spans", Sentence: "A native index yields the records that have entries in a span, in their order, each as it is.", Check: nativeSpans},
		{Name: "native walk", Sentence: "A walk of a native index has each entry once, with the key of its record and the values of its columns, or is ErrUnsupported.", Check: nativeWalk},
		{Name: "native elements", Sentence: "A native index over a list has an entry for each different element.", Check: nativeElements},
		{Name: "native unique", Sentence: "A commit that gives a record values which another one has in a unique native index is refused, with that other record.", Check: nativeUnique},
		{Name: "followed", Sentence: "A trail reaches what a search would that reads level by level, and no more.", Check: followed},
		{Name: "grouped", Sentence: "Records are grouped by the first columns of a native index, counted and summed, in its order, or it is ErrUnsupported.", Check: grouped},
		{Name: "followed at once", Sentence: "What a trail reaches, and what lies beside, is of one instant.", Check: followedAtOnce},
	}
	for i := range list {
		list[i].Needs = tested.HasEveryNative
	}
	return append(list, localRules()...)
}

// nativeTables returns a table of records, and native indexes of it: by text, then the
// greatest int first; by an element; and by a float, unique.
func nativeTables(ctx context.Context, e *env) (home, sorted, element, unique *driver.Table) {
	home = e.ownTable(table.Fields()...)
	native := func(class driver.Class, part, sort []driver.Column) *driver.Table {
		return &driver.Table{Name: e.freshTable(), Class: class, Native: true, Home: home, Partition: part, Sort: sort}
	}
	f := home.Fields
	least := f[table.Int]
	least.Desc = true
	sorted = native(driver.Rows, f[table.Bool:table.Bool+1], []driver.Column{f[table.String], least})
	element = native(driver.Rows, []driver.Column{{Name: f[table.List].Name + "[]", Kind: driver.String}}, f[table.Int:table.Int+1])
	unique = native(driver.Claims, f[table.Float:table.Float+1], nil)
	e.define(ctx, home, sorted, element, unique)
	return home, sorted, element, unique
}

// nativeRow returns a row of a home with the fields that native indexes look at.
func nativeRow(e *env, home *driver.Table, id, text string, n int64) driver.Row {
	r := driver.Row{Key: e.at(home, "p", id), Fields: make([]driver.Value, table.Map+1)}
	r.Fields[table.Bool], r.Fields[table.String], r.Fields[table.Int] = driver.BoolValue(true), str(text), num(n)
	return r
}

func nativeDefinitions(ctx context.Context, e *env) {
	home, sorted, _, unique := nativeTables(ctx, e)
	e.define(ctx, home, sorted)
	twin := *sorted
	e.OK("attach of an index that is there", e.Store.Attach(ctx, []*driver.Table{&twin}))
	other := *sorted
	other.Sort = sorted.Sort[:1]
	e.Is("define with other columns", e.Store.Define(ctx, []*driver.Table{&other}), driver.ErrSchema)
	lost := *sorted
	lost.Name = e.freshTable()
	e.Is("attach of one that is not there", e.Store.Attach(ctx, []*driver.Table{&lost}), driver.ErrSchema)
	stray := *sorted
	stray.Name, stray.Home = e.freshTable(), e.ownTable(table.Fields()...)
	e.Is("define without its home", e.Store.Define(ctx, []*driver.Table{&stray}), driver.ErrSchema)
	stray.Home = nil
	e.Is("define without any home", e.Store.Define(ctx, []*driver.Table{&stray}), driver.ErrInvalid)
	key := driver.Key{Partition: "t#", Sort: "a#1#"}
	e.Is("get", e.Store.Get(ctx, sorted, []driver.Key{key}, nil, make([]driver.Row, 1)), driver.ErrInvalid)
	_, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{put(sorted, driver.Row{Key: key})})
	e.Is("commit", err, driver.ErrInvalid)
	e.OK("drop", e.Store.Drop(ctx, []*driver.Table{sorted}))
	e.Is("attach after drop", e.Store.Attach(ctx, []*driver.Table{&twin}), driver.ErrSchema)
	e.OK("attach of another after that", e.Store.Attach(ctx, []*driver.Table{home, unique}))
	pair := []driver.Op{put(home, nativeRow(e, home, "1", "same", 1)), put(home, nativeRow(e, home, "2", "same", 2))}
	for _, op := range pair {
		e.commit(ctx, op)
	}
	alone := &driver.Table{Name: e.freshTable(), Class: driver.Claims, Native: true, Home: home, Partition: home.Fields[table.String : table.String+1]}
	e.Is("define of a unique index on two records with one value", e.Store.Define(ctx, []*driver.Table{alone}), driver.ErrExists)
}

// A nativeEntry is an entry that a record should have, and its record.
type nativeEntry struct {
	text string
	n    int64
	id   string
}

func nativeSpans(ctx context.Context, e *env) {
	home, index, _, _ := nativeTables(ctx, e)
	var all []nativeEntry
	for i, text := range []string{"", "a", "a", "a#", "a~", "ab", "b", "é", "\U0010ffff", "a"} {
		for _, n := range []int64{-3, 0, int64(i) + 5, 1 << 40} {
			id := fmt.Sprintf("%02d.%d", i, n)
			e.commit(ctx, put(home, nativeRow(e, home, id, text, n)))
			all = append(all, nativeEntry{text, n, id})
		}
	}
	dead := driver.Row{Key: e.at(home, "p", "dead"), Dead: true, Expires: 1}
	lacks := nativeRow(e, home, "lacks", "a", 1)
	lacks.Fields[table.Int] = driver.Value{}
	elsewhere := nativeRow(e, home, "elsewhere", "a", 1)
	elsewhere.Fields[table.Bool] = driver.BoolValue(false)
	for _, r := range []driver.Row{dead, lacks, elsewhere} {
		e.commit(ctx, put(home, r))
	}
	slices.SortFunc(all, func(a, b nativeEntry) int { return strings.Compare(entryText(e, index, a), entryText(e, index, b)) })
	bounds := []*driver.Bound{nil}
	for _, over := range []bool{false, true} {
		for _, vals := range [][]driver.Value{nil, texts("a"), texts("a~"), texts("aa"), {str("a"), num(0)}, {str("a"), num(7)}, {str("b"), num(1 << 40)}} {
			bounds = append(bounds, &driver.Bound{Values: vals, Over: over})
		}
		key := e.at(home, "p", "01.0")
		bounds = append(bounds, &driver.Bound{Values: []driver.Value{str("a"), num(0)}, Record: &key, Over: over})
	}
	for _, low := range bounds {
		for _, high := range bounds {
			nativeSpan(ctx, e, index, all, low, high)
		}
	}
}

// entryText returns the text of an entry, by which a span has it or not.
func entryText(e *env, t *driver.Table, x nativeEntry) string {
	key := e.at(t.Home, "p", x.id)
	text, err := driver.AppendParts(nil, t.Sort, []driver.Value{str(x.text), num(x.n)})
	e.OK("key codec", err)
	return string(text) + key.Partition + key.Sort
}

// boundText returns the text that a bound stands for; end is that of nil.
func boundText(e *env, t *driver.Table, b *driver.Bound, end string) string {
	if b == nil {
		return end
	}
	text, err := driver.AppendParts(nil, t.Sort[:len(b.Values)], b.Values)
	e.OK("key codec", err)
	if b.Record != nil {
		text = append(text, b.Record.Partition+b.Record.Sort...)
	}
	if b.Over {
		return driver.After(string(text))
	}
	return string(text)
}

// nativeSpan reads one span in both directions, with a limit and without.
func nativeSpan(ctx context.Context, e *env, t *driver.Table, all []nativeEntry, low, high *driver.Bound) {
	if low != nil && low.Over && len(low.Values) == 0 || high != nil && !high.Over && len(high.Values) == 0 {
		return // there is no text for the end of a partition as a beginning, or the reverse
	}
	sp := driver.Span{Table: t, Key: driver.Key{Partition: "t#"}, Low: low, High: high, Mask: []int{table.String, table.Int}}
	sp.From, sp.To = boundText(e, t, low, ""), boundText(e, t, high, "")
	var want []string
	for _, x := range all {
		if text := entryText(e, t, x); text >= sp.From && (sp.To == "" || text < sp.To) {
			want = append(want, fmt.Sprintf("%s %q %d", x.id, x.text, x.n))
		}
	}
	for _, sp.Reverse = range []bool{false, true} {
		for _, sp.Limit = range []int{0, 3} {
			var got []string
			for _, r := range e.rows(ctx, sp) {
				got = append(got, fmt.Sprintf("%s %q %d", strings.TrimSuffix(r.Key.Sort, "#"), r.Fields[0].Str(), r.Fields[1].Int()))
			}
			some := slices.Clone(want)
			if sp.Reverse {
				slices.Reverse(some)
			}
			if sp.Limit > 0 {
				some = some[:min(len(some), sp.Limit)]
			}
			rule.Equal(e, fmt.Sprintf("the span from %q to %q, backwards %v, limit %d", sp.From, sp.To, sp.Reverse, sp.Limit), fmt.Sprint(got), fmt.Sprint(some))
		}
	}
}

func nativeWalk(ctx context.Context, e *env) {
	home, sorted, element, unique := nativeTables(ctx, e)
	want := map[*driver.Table][]string{}
	expect := func(t *driver.Table, id string, vals ...driver.Value) {
		want[t] = append(want[t], fmt.Sprint(e.at(home, "p", id).Sort, vals))
	}
	for i := range 600 { // more than a chunk has
		id := fmt.Sprintf("%03d", i)
		r := nativeRow(e, home, id, fmt.Sprint("t", i%7), int64(i%50))
		r.Fields[table.Float] = driver.FloatValue(float64(i) / 2)
		expect(unique, id, r.Fields[table.Float])
		if i%100 == 99 {
			r.Fields[table.Int] = driver.Value{}
		} else {
			expect(sorted, id, r.Fields[table.Bool], r.Fields[table.String], r.Fields[table.Int])
			r.Fields[table.List] = driver.ListValue(texts("x", id))
			expect(element, id, str("x"), r.Fields[table.Int])
			expect(element, id, str(id), r.Fields[table.Int])
		}
		e.commit(ctx, put(home, r))
	}
	e.commit(ctx, put(home, driver.Row{Key: e.at(home, "p", "dead"), Dead: true, Expires: 1}))
	for t, entries := range want {
		var got []string
		for mark := ""; ; { // each chunk by a walk of its own
			chunk, err := firstChunk(ctx, e.Store, t, mark)
			if errors.Is(err, driver.ErrUnsupported) && mark == "" {
				got = entries
				break
			}
			e.OK("walk", err)
			for _, r := range chunk.Rows {
				got = append(got, fmt.Sprint(r.Key.Sort, r.Fields))
			}
			if mark = chunk.Mark; mark == "" {
				break
			}
		}
		slices.Sort(got)
		slices.Sort(entries)
		rule.Equal(e, "the entries of "+t.Name, fmt.Sprint(got), fmt.Sprint(entries))
	}
}

// firstChunk returns the first chunk of a walk, an empty one if there is none.
func firstChunk(ctx context.Context, s driver.Store, t *driver.Table, mark string) (driver.Chunk, error) {
	for chunk, err := range s.Walk(ctx, t, mark) {
		return chunk, err
	}
	return driver.Chunk{}, nil
}

func nativeElements(ctx context.Context, e *env) {
	home, _, index, _ := nativeTables(ctx, e)
	for i, list := range [][]string{{"x"}, {"x", "y", "x"}, {"y"}, {}, {"z", "x"}} {
		r := nativeRow(e, home, fmt.Sprint(i), "", int64(9-i))
		if len(list) > 0 {
			r.Fields[table.List] = driver.ListValue(texts(list...))
		}
		e.commit(ctx, put(home, r))
	}
	for elem, want := range map[string][]string{"x": {"4", "1", "0"}, "y": {"2", "1"}, "z": {"4"}, "": nil} {
		var got []string
		for _, r := range e.rows(ctx, driver.Span{Table: index, Key: driver.Key{Partition: elem + "#"}, Mask: []int{}}) {
			got = append(got, strings.TrimSuffix(r.Key.Sort, "#"))
		}
		rule.Equal(e, fmt.Sprintf("the records with the element %q", elem), fmt.Sprint(got), fmt.Sprint(want))
	}
}

func nativeUnique(ctx context.Context, e *env) {
	home, _, _, index := nativeTables(ctx, e)
	with := func(id string, v driver.Value) driver.Row {
		r := nativeRow(e, home, id, "of "+id, 1)
		r.Fields[table.Float] = v
		return r
	}
	half := driver.FloatValue(0.5)
	for _, id := range []string{"none", "neither"} {
		e.commit(ctx, put(home, with(id, driver.Value{})))
	}
	rev := e.commit(ctx, put(home, with("owner", half)))
	for what, op := range map[string]driver.Op{
		"insert": {Do: driver.Put, Table: home, Row: with("new", half), If: driver.Absent},
		"put":    put(home, with("none", half)),
		"patch":  {Do: driver.Patch, Table: home, Row: driver.Row{Key: e.at(home, "p", "none")}, If: driver.Present, Edits: []driver.Edit{{Do: driver.Set, Field: table.Float, Value: half}}},
	} {
		refusal := e.refused(ctx, op)
		rule.Equal(e, "the index that refused the "+what, refusal.Native, index.Name)
		rule.Equal(e, "the record that has the value at the "+what, fmt.Sprint(refusal.Row.Key, refusal.Row.Rev), fmt.Sprint(e.at(home, "p", "owner"), rev))
	}
	rule.Equal(e, "the record that was refused", e.get(ctx, home, e.at(home, "p", "none")).Fields[table.Float].IsNone(), true)
	e.commit(ctx, put(home, with("owner", half)))
	e.commit(ctx, put(home, with("owner", driver.FloatValue(0.25))))
	e.commit(ctx, put(home, with("none", half)))
	if tested.ChangesPartition(e.Facts) != "" {
		return
	}
	e.commit(ctx, put(home, with("none", driver.FloatValue(0.25))), put(home, with("owner", half))) // they swap
	refusal := e.refused(ctx, put(home, with("third", driver.FloatValue(0.75))), put(home, with("neither", half)))
	rule.Equal(e, "op and index of a commit of two", fmt.Sprint(refusal.Op, refusal.Native), fmt.Sprint(1, index.Name))
	rule.Equal(e, "the first of them", e.get(ctx, home, e.at(home, "p", "third")).Rev.IsZero(), true)
}
