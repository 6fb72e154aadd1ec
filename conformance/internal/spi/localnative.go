package spi

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/conformance/internal/tested"
	"github.com/polystore/polystore/repo/driver"
)

// localRules are about native indexes that find by equality in the partition of the records, in the order
// of their keys. Every store that has native indexes can keep them.
func localRules() []entry {
	list := []entry{
		{Name: "local native definitions", Sentence: "A local native index is defined again as it is, and dropped; with other columns it is ErrSchema.", Check: localDefinitions},
		{Name: "local native spans", Sentence: "A local native index yields those that have its values, in the order of their keys, of any span, backwards too.", Check: localSpans},
		{Name: "local native values", Sentence: "A native index finds the values of every kind that it takes, and no others for them.", Check: localValues},
	}
	for i := range list {
		list[i].Needs = tested.HasNative
	}
	return list
}

// localTable returns a table of records, and a native index of it by the partition and
// some fields, in the order of the keys.
func localTable(ctx context.Context, e *env, fields ...int) (home, index *driver.Table) {
	home = e.ownTable(table.Fields()...)
	e.define(ctx, home)
	return home, defineLocal(ctx, e, home, fields...)
}

func defineLocal(ctx context.Context, e *env, home *driver.Table, fields ...int) *driver.Table {
	index := &driver.Table{Name: e.freshTable(), Native: true, Class: driver.Rows, Home: home, Partition: slices.Clone(home.Partition), Sort: home.Sort}
	for _, at := range fields {
		index.Partition = append(index.Partition, home.Fields[at])
	}
	e.define(ctx, index)
	return index
}

// foundLocally returns the ids of the records that an index finds in the partition "p" by some
// values, in a span.
func foundLocally(ctx context.Context, e *env, sp driver.Span, vals ...driver.Value) []string {
	part, err := driver.AppendParts(nil, sp.Table.Partition, append([]driver.Value{str(e.Tag), str("p")}, vals...))
	e.OK("key codec", err)
	sp.Key.Partition = string(part)
	list := []string{}
	for _, r := range e.rows(ctx, sp) {
		list = append(list, strings.TrimSuffix(r.Key.Sort, "#"))
	}
	return list
}

func localDefinitions(ctx context.Context, e *env) {
	home, index := localTable(ctx, e, table.String)
	e.define(ctx, home, index)
	twin := *index
	e.OK("attach of an index that is there", e.Store.Attach(ctx, []*driver.Table{&twin}))
	other := *index
	other.Partition = append(slices.Clone(home.Partition), home.Fields[table.Int])
	e.Is("define with other columns", e.Store.Define(ctx, []*driver.Table{&other}), driver.ErrSchema)
	lost := *index
	lost.Name = e.freshTable()
	e.Is("attach of one that is not there", e.Store.Attach(ctx, []*driver.Table{&lost}), driver.ErrSchema)
	e.commit(ctx, put(home, driver.Row{Key: e.at(home, "p", "1"), Fields: []driver.Value{table.String: str("x")}}))
	second := defineLocal(ctx, e, home, table.String, table.Int)
	e.OK("drop", e.Store.Drop(ctx, []*driver.Table{second}))
	e.Is("attach after drop", e.Store.Attach(ctx, []*driver.Table{second}), driver.ErrSchema)
	rule.Equal(e, "what the other finds by the same field", foundLocally(ctx, e, driver.Span{Table: &twin}, str("x")), []string{"1"})
	key := driver.Key{Partition: e.Tag + "#p#x#", Sort: "1#"}
	e.Is("get", e.Store.Get(ctx, index, []driver.Key{key}, nil, make([]driver.Row, 1)), driver.ErrInvalid)
	_, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{put(index, driver.Row{Key: key})})
	e.Is("commit", err, driver.ErrInvalid)
	if _, err = firstChunk(ctx, e.Store, index, ""); err != nil {
		e.Is("walk", err, driver.ErrUnsupported)
	}
}

func localSpans(ctx context.Context, e *env) {
	home, index := localTable(ctx, e, table.String, table.Int)
	var all []string
	for i := range 25 {
		id := fmt.Sprintf("%02d", i)
		r := driver.Row{Key: e.at(home, "p", id), Fields: []driver.Value{table.String: str("a"), table.Int: num(1)}}
		switch i % 5 {
		case 3:
			r.Fields[table.Int] = num(2)
		case 4:
			r.Fields[table.String] = driver.Value{}
		default:
			all = append(all, id)
		}
		e.commit(ctx, put(home, r))
	}
	e.commit(ctx, put(home, driver.Row{Key: e.at(home, "p", "10x"), Dead: true, Expires: 1}))
	e.commit(ctx, put(home, driver.Row{Key: e.at(home, "q", "11"), Fields: []driver.Value{table.String: str("a"), table.Int: num(1)}}))
	key := e.at(home, "p", "11")
	bounds := []*driver.Bound{nil, {Values: texts("11")}, {Values: texts("11"), Over: true}, {Values: texts("1")},
		{Values: texts("11"), Record: &key}, {Values: texts("11"), Record: &key, Over: true}, {Values: texts("20")}}
	for _, low := range bounds {
		for _, high := range bounds {
			localSpan(ctx, e, index, all, low, high)
		}
	}
	whole := e.rows(ctx, driver.Span{Table: index, Key: driver.Key{Partition: e.Tag + "#p#a#" + intText(e, 1)}, Limit: 1})
	rule.Equal(e, "the first record", show(&whole[0]), show(new(e.get(ctx, home, e.at(home, "p", "00")))))
}

func intText(e *env, n int64) string {
	text, err := driver.AppendParts(nil, []driver.Column{{Kind: driver.Int}}, []driver.Value{num(n)})
	e.OK("key codec", err)
	return string(text)
}

// localSpan reads one span in both directions, with a limit and without, and counts it.
func localSpan(ctx context.Context, e *env, index *driver.Table, all []string, low, high *driver.Bound) {
	sp := driver.Span{Table: index, Low: low, High: high, Mask: []int{table.Int}}
	sp.From, sp.To = boundText(e, index, low, ""), boundText(e, index, high, "")
	want := []string{}
	for _, id := range all {
		key := e.at(index.Home, "p", id)
		if text := key.Sort + key.Partition + key.Sort; text >= sp.From && (sp.To == "" || text < sp.To) {
			want = append(want, id)
		}
	}
	for _, sp.Reverse = range []bool{false, true} {
		for _, sp.Limit = range []int{0, 3} {
			some := slices.Clone(want)
			if sp.Reverse {
				slices.Reverse(some)
			}
			if sp.Limit > 0 {
				some = some[:min(len(some), sp.Limit)]
			}
			rule.Equal(e, fmt.Sprintf("the span from %q to %q, backwards %v, limit %d", sp.From, sp.To, sp.Reverse, sp.Limit), foundLocally(ctx, e, sp, str("a"), num(1)), some)
		}
	}
}

// localEdges are values of the kinds that a native index may take, by ordinal of the field.
func localEdges() map[int][]driver.Value {
	all := map[int][]driver.Value{
		table.Bool: {driver.BoolValue(false), driver.BoolValue(true)},
		table.Time: {driver.TimeValue(math.MinInt64 / 2), driver.TimeValue(-1), driver.TimeValue(0), driver.TimeValue(1), driver.TimeValue(math.MaxInt64 / 2)},
	}
	for _, n := range []int64{math.MinInt64, -10, -1, 0, 1, 9, math.MaxInt64} {
		all[table.Int] = append(all[table.Int], num(n))
	}
	for _, x := range []float64{math.Inf(-1), -math.MaxFloat64, -1.5, 0, 5e-324, 0.1, math.MaxFloat64, math.Inf(1)} {
		all[table.Float] = append(all[table.Float], driver.FloatValue(x))
	}
	for _, s := range append(rule.Separators(), "", "a\x00b", "\x00", "a", "A", "ä", "é", "e\u0301", "\ud7ff", "\ue000", "\U0010ffff", " a", "a ", strings.Repeat("x", 900)) {
		all[table.String] = append(all[table.String], str(s))
	}
	return all
}

func localValues(ctx context.Context, e *env) {
	home := e.ownTable(table.Fields()...)
	e.define(ctx, home)
	rows := map[string]driver.Row{}
	edges := localEdges()
	for at, vals := range edges {
		for i, v := range vals {
			id := fmt.Sprintf("%02d", i)
			r, ok := rows[id]
			if !ok {
				r = driver.Row{Key: e.at(home, "p", id), Fields: make([]driver.Value, table.Map+1)}
			}
			r.Fields[at] = v
			rows[id] = r
		}
	}
	for _, r := range rows {
		e.commit(ctx, put(home, r))
	}
	for at, vals := range edges {
		if kinds := e.Facts.NativeLocal; len(kinds) > 0 && !slices.Contains(kinds, home.Fields[at].Kind) {
			continue
		}
		index := defineLocal(ctx, e, home, at)
		for i, v := range vals {
			rule.Equal(e, "the records with "+rule.Brief(v.String()), foundLocally(ctx, e, driver.Span{Table: index, Mask: []int{}}, v), []string{fmt.Sprintf("%02d", i)})
		}
	}
}
