package conformance

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// nativeRules are about indexes that the store keeps by itself.
func nativeRules() []rule {
	list := []rule{
		{name: "native definitions", sentence: "A native index is defined again as it is, and with other columns it is ErrSchema; it is read in order or walked, and not written.", check: nativeDefinitions},
		{name: "native spans", sentence: "A native index yields the records that have entries in a span, in their order, each as it is.", check: nativeSpans},
		{name: "native walk", sentence: "A walk of a native index has each entry once, with the key of its record and the values of its columns, or is ErrUnsupported.", check: nativeWalk},
		{name: "native elements", sentence: "A native index over a list has an entry for each different element.", check: nativeElements},
		{name: "native unique", sentence: "A commit that gives a record values which another one has in a unique native index is refused, with that other record.", check: nativeUnique},
		{name: "native verify", sentence: "Verify counts the records that a native index does not find.", check: nativeVerify},
	}
	for i := range list {
		list[i].needs = hasEveryNative
	}
	return append(list, nearRules()...)
}

func hasNative(f driver.Facts) string {
	if !f.Native.Has {
		return f.Native.Reason
	}
	return ""
}

// hasEveryNative says which native indexes a store cannot keep that has some.
func hasEveryNative(f driver.Facts) string {
	if len(f.NativeNear) > 0 {
		return "a native index of " + f.Name + " finds by equality near the records, in their order: " + f.Native.Reason
	}
	return hasNative(f)
}

// nativeTables returns a table of records, and native indexes of it: by text, then the
// greatest int first; by an element; and by a float, unique.
func nativeTables(ctx context.Context, e *env) (home, sorted, element, unique *driver.Table) {
	home = e.ownTable(fieldColumns()...)
	native := func(class driver.Class, part, sort []driver.Column) *driver.Table {
		return &driver.Table{Name: e.freshTable(), Class: class, Native: true, Home: home, Partition: part, Sort: sort}
	}
	f := home.Fields
	least := f[fInt]
	least.Desc = true
	sorted = native(driver.Rows, f[fBool:fBool+1], []driver.Column{f[fString], least})
	element = native(driver.Rows, []driver.Column{{Name: f[fList].Name + "[]", Kind: driver.String}}, f[fInt:fInt+1])
	unique = native(driver.Claims, f[fFloat:fFloat+1], nil)
	e.define(ctx, home, sorted, element, unique)
	return home, sorted, element, unique
}

// nativeRow returns a row of a home with the fields that native indexes look at.
func nativeRow(e *env, home *driver.Table, id, text string, n int64) driver.Row {
	r := driver.Row{Key: e.at(home, "p", id), Fields: make([]driver.Value, fMap+1)}
	r.Fields[fBool], r.Fields[fString], r.Fields[fInt] = driver.BoolValue(true), str(text), num(n)
	return r
}

func nativeDefinitions(ctx context.Context, e *env) {
	home, sorted, _, unique := nativeTables(ctx, e)
	e.define(ctx, home, sorted)
	twin := *sorted
	e.ok("attach of an index that is there", e.store.Attach(ctx, []*driver.Table{&twin}))
	other := *sorted
	other.Sort = sorted.Sort[:1]
	e.is("define with other columns", e.store.Define(ctx, []*driver.Table{&other}), driver.ErrSchema)
	lost := *sorted
	lost.Name = e.freshTable()
	e.is("attach of one that is not there", e.store.Attach(ctx, []*driver.Table{&lost}), driver.ErrSchema)
	stray := *sorted
	stray.Name, stray.Home = e.freshTable(), e.ownTable(fieldColumns()...)
	e.is("define without its home", e.store.Define(ctx, []*driver.Table{&stray}), driver.ErrSchema)
	stray.Home = nil
	e.is("define without any home", e.store.Define(ctx, []*driver.Table{&stray}), driver.ErrInvalid)
	key := driver.Key{Partition: "t#", Sort: "a#1#"}
	e.is("get", e.store.Get(ctx, sorted, []driver.Key{key}, nil, make([]driver.Row, 1)), driver.ErrInvalid)
	_, err := e.store.Commit(ctx, driver.NewToken(), []driver.Op{put(sorted, driver.Row{Key: key})})
	e.is("commit", err, driver.ErrInvalid)
	e.ok("drop", e.store.Drop(ctx, []*driver.Table{sorted}))
	e.is("attach after drop", e.store.Attach(ctx, []*driver.Table{&twin}), driver.ErrSchema)
	e.ok("attach of another after that", e.store.Attach(ctx, []*driver.Table{home, unique}))
	pair := []driver.Op{put(home, nativeRow(e, home, "1", "same", 1)), put(home, nativeRow(e, home, "2", "same", 2))}
	for _, op := range pair {
		e.commit(ctx, op)
	}
	alone := &driver.Table{Name: e.freshTable(), Class: driver.Claims, Native: true, Home: home, Partition: home.Fields[fString : fString+1]}
	e.is("define of a unique index on two records with one value", e.store.Define(ctx, []*driver.Table{alone}), driver.ErrExists)
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
	lacks.Fields[fInt] = driver.Value{}
	elsewhere := nativeRow(e, home, "elsewhere", "a", 1)
	elsewhere.Fields[fBool] = driver.BoolValue(false)
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
	e.ok("key codec", err)
	return string(text) + key.Partition + key.Sort
}

// boundText returns the text that a bound stands for; end is that of nil.
func boundText(e *env, t *driver.Table, b *driver.Bound, end string) string {
	if b == nil {
		return end
	}
	text, err := driver.AppendParts(nil, t.Sort[:len(b.Values)], b.Values)
	e.ok("key codec", err)
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
	sp := driver.Span{Table: t, Key: driver.Key{Partition: "t#"}, Low: low, High: high, Mask: []int{fString, fInt}}
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
			equal(e, fmt.Sprintf("the span from %q to %q, backwards %v, limit %d", sp.From, sp.To, sp.Reverse, sp.Limit), fmt.Sprint(got), fmt.Sprint(some))
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
		r.Fields[fFloat] = driver.FloatValue(float64(i) / 2)
		expect(unique, id, r.Fields[fFloat])
		if i%100 == 99 {
			r.Fields[fInt] = driver.Value{}
		} else {
			expect(sorted, id, r.Fields[fBool], r.Fields[fString], r.Fields[fInt])
			r.Fields[fList] = driver.ListValue(texts("x", id))
			expect(element, id, str("x"), r.Fields[fInt])
			expect(element, id, str(id), r.Fields[fInt])
		}
		e.commit(ctx, put(home, r))
	}
	e.commit(ctx, put(home, driver.Row{Key: e.at(home, "p", "dead"), Dead: true, Expires: 1}))
	for t, entries := range want {
		var got []string
		for mark := ""; ; { // each chunk by a walk of its own
			chunk, err := firstChunk(ctx, e.store, t, mark)
			if errors.Is(err, driver.ErrUnsupported) && mark == "" {
				got = entries
				break
			}
			e.ok("walk", err)
			for _, r := range chunk.Rows {
				got = append(got, fmt.Sprint(r.Key.Sort, r.Fields))
			}
			if mark = chunk.Mark; mark == "" {
				break
			}
		}
		slices.Sort(got)
		slices.Sort(entries)
		equal(e, "the entries of "+t.Name, fmt.Sprint(got), fmt.Sprint(entries))
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
			r.Fields[fList] = driver.ListValue(texts(list...))
		}
		e.commit(ctx, put(home, r))
	}
	for elem, want := range map[string][]string{"x": {"4", "1", "0"}, "y": {"2", "1"}, "z": {"4"}, "": nil} {
		var got []string
		for _, r := range e.rows(ctx, driver.Span{Table: index, Key: driver.Key{Partition: elem + "#"}, Mask: []int{}}) {
			got = append(got, strings.TrimSuffix(r.Key.Sort, "#"))
		}
		equal(e, fmt.Sprintf("the records with the element %q", elem), fmt.Sprint(got), fmt.Sprint(want))
	}
}

func nativeUnique(ctx context.Context, e *env) {
	home, _, _, index := nativeTables(ctx, e)
	with := func(id string, v driver.Value) driver.Row {
		r := nativeRow(e, home, id, "of "+id, 1)
		r.Fields[fFloat] = v
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
		"patch":  {Do: driver.Patch, Table: home, Row: driver.Row{Key: e.at(home, "p", "none")}, If: driver.Present, Edits: []driver.Edit{{Do: driver.Set, Field: fFloat, Value: half}}},
	} {
		refusal := e.refused(ctx, op)
		equal(e, "the index that refused the "+what, refusal.Native, index.Name)
		equal(e, "the record that has the value at the "+what, fmt.Sprint(refusal.Row.Key, refusal.Row.Rev), fmt.Sprint(e.at(home, "p", "owner"), rev))
	}
	equal(e, "the record that was refused", e.get(ctx, home, e.at(home, "p", "none")).Fields[fFloat].IsNone(), true)
	e.commit(ctx, put(home, with("owner", half)))
	e.commit(ctx, put(home, with("owner", driver.FloatValue(0.25))))
	e.commit(ctx, put(home, with("none", half)))
	if tested.ChangesPartition(e.facts) != "" {
		return
	}
	e.commit(ctx, put(home, with("none", driver.FloatValue(0.25))), put(home, with("owner", half))) // they swap
	refusal := e.refused(ctx, put(home, with("third", driver.FloatValue(0.75))), put(home, with("neither", half)))
	equal(e, "op and index of a commit of two", fmt.Sprint(refusal.Op, refusal.Native), fmt.Sprint(1, index.Name))
	equal(e, "the first of them", e.get(ctx, home, e.at(home, "p", "third")).Rev.IsZero(), true)
}

// A blind store overlooks the first record of each run of a native index, and all in a walk.
type blind struct{ driver.Store }

func (b *blind) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	if t.Native {
		return func(func(driver.Chunk, error) bool) {}
	}
	return b.Store.Walk(ctx, t, mark)
}

func (b *blind) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	rows := b.Store.Range(ctx, span)
	if !span.Table.Native {
		return rows
	}
	return func(yield func(*driver.Row, error) bool) {
		first := true
		for row, err := range rows {
			if (!first || err != nil) && !yield(row, err) {
				return
			}
			first = false
		}
	}
}

func nativeVerify(ctx context.Context, e *env) {
	schema := messageSchema()
	schema.Collection = e.freshName()
	for i := range schema.Indexes {
		schema.Indexes[i].Kind = "native"
	}
	r, err := repo.Open[message](ctx, repo.NewStore(e.store, nil), schema)
	e.ok("open", err)
	for i := range 5 {
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i), Level: "info", Text: fmt.Sprint(i)})
	}
	clean(ctx, e, r)
	half, err := repo.Open[message](ctx, repo.NewStore(&blind{e.store}, nil), schema)
	e.ok("open", err)
	reports, err := half.Verify(ctx)
	e.ok("verify", err)
	equal(e, "records, rows, missing", fmt.Sprint(reports[0].Records, reports[0].Rows, reports[0].Missing), "5 0 5")
	e.ok("rebuild", r.Rebuild(ctx, reports[0].Index))
	clean(ctx, e, r)
}
