package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// nearRules are about native indexes that find by equality near the records, in the order
// of their keys. Every store that has native indexes can keep them.
func nearRules() []rule {
	list := []rule{
		{name: "near native definitions", sentence: "A native index near its records is defined again as it is, and dropped; with other columns it is ErrSchema.", check: nearDefinitions},
		{name: "near native spans", sentence: "A native index near its records yields those that have its values, in the order of their keys, of any span, backwards too.", check: nearSpans},
		{name: "near native values", sentence: "A native index finds the values of every kind that it takes, and no others for them.", check: nearValues},
		{name: "near native queries", sentence: "Queries by a native index near its records are answered as by a table: pages, counts and keys, in both directions.", check: nearQueries},
		{name: "near native on records", sentence: "A native index that is added to a collection finds the records that there were.", check: nearOnRecords},
	}
	for i := range list {
		list[i].needs = hasNative
	}
	return list
}

// nearTable returns a table of records, and a native index of it by the partition and
// some fields, in the order of the keys.
func nearTable(ctx context.Context, e *env, fields ...int) (home, index *driver.Table) {
	home = e.ownTable(fieldColumns()...)
	e.define(ctx, home)
	return home, defineNear(ctx, e, home, fields...)
}

func defineNear(ctx context.Context, e *env, home *driver.Table, fields ...int) *driver.Table {
	index := &driver.Table{Name: e.freshTable(), Native: true, Class: driver.Rows, Home: home, Partition: slices.Clone(home.Partition), Sort: home.Sort}
	for _, at := range fields {
		index.Partition = append(index.Partition, home.Fields[at])
	}
	e.define(ctx, index)
	return index
}

// foundNear returns the ids of the records that an index finds in the partition "p" by some
// values, in a span.
func foundNear(ctx context.Context, e *env, sp driver.Span, vals ...driver.Value) []string {
	part, err := driver.AppendParts(nil, sp.Table.Partition, append([]driver.Value{str(e.tag), str("p")}, vals...))
	e.ok("key codec", err)
	sp.Key.Partition = string(part)
	list := []string{}
	for _, r := range e.rows(ctx, sp) {
		list = append(list, strings.TrimSuffix(r.Key.Sort, "#"))
	}
	return list
}

func nearDefinitions(ctx context.Context, e *env) {
	home, index := nearTable(ctx, e, fString)
	e.define(ctx, home, index)
	twin := *index
	e.ok("attach of an index that is there", e.store.Attach(ctx, []*driver.Table{&twin}))
	other := *index
	other.Partition = append(slices.Clone(home.Partition), home.Fields[fInt])
	e.is("define with other columns", e.store.Define(ctx, []*driver.Table{&other}), driver.ErrSchema)
	lost := *index
	lost.Name = e.freshTable()
	e.is("attach of one that is not there", e.store.Attach(ctx, []*driver.Table{&lost}), driver.ErrSchema)
	e.commit(ctx, put(home, driver.Row{Key: e.at(home, "p", "1"), Fields: []driver.Value{fString: str("x")}}))
	second := defineNear(ctx, e, home, fString, fInt)
	e.ok("drop", e.store.Drop(ctx, []*driver.Table{second}))
	e.is("attach after drop", e.store.Attach(ctx, []*driver.Table{second}), driver.ErrSchema)
	equal(e, "what the other finds by the same field", foundNear(ctx, e, driver.Span{Table: &twin}, str("x")), []string{"1"})
	key := driver.Key{Partition: e.tag + "#p#x#", Sort: "1#"}
	e.is("get", e.store.Get(ctx, index, []driver.Key{key}, nil, make([]driver.Row, 1)), driver.ErrInvalid)
	_, err := e.store.Commit(ctx, driver.NewToken(), []driver.Op{put(index, driver.Row{Key: key})})
	e.is("commit", err, driver.ErrInvalid)
	if _, err = firstChunk(ctx, e.store, index, ""); err != nil {
		e.is("walk", err, driver.ErrUnsupported)
	}
}

func nearSpans(ctx context.Context, e *env) {
	home, index := nearTable(ctx, e, fString, fInt)
	var all []string
	for i := range 25 {
		id := fmt.Sprintf("%02d", i)
		r := driver.Row{Key: e.at(home, "p", id), Fields: []driver.Value{fString: str("a"), fInt: num(1)}}
		switch i % 5 {
		case 3:
			r.Fields[fInt] = num(2)
		case 4:
			r.Fields[fString] = driver.Value{}
		default:
			all = append(all, id)
		}
		e.commit(ctx, put(home, r))
	}
	e.commit(ctx, put(home, driver.Row{Key: e.at(home, "p", "10x"), Dead: true, Expires: 1}))
	e.commit(ctx, put(home, driver.Row{Key: e.at(home, "q", "11"), Fields: []driver.Value{fString: str("a"), fInt: num(1)}}))
	key := e.at(home, "p", "11")
	bounds := []*driver.Bound{nil, {Values: texts("11")}, {Values: texts("11"), Over: true}, {Values: texts("1")},
		{Values: texts("11"), Record: &key}, {Values: texts("11"), Record: &key, Over: true}, {Values: texts("20")}}
	for _, low := range bounds {
		for _, high := range bounds {
			nearSpan(ctx, e, index, all, low, high)
		}
	}
	whole := e.rows(ctx, driver.Span{Table: index, Key: driver.Key{Partition: e.tag + "#p#a#" + intText(e, 1)}, Limit: 1})
	equal(e, "the first record", show(&whole[0]), show(new(e.get(ctx, home, e.at(home, "p", "00")))))
}

func intText(e *env, n int64) string {
	text, err := driver.AppendParts(nil, []driver.Column{{Kind: driver.Int}}, []driver.Value{num(n)})
	e.ok("key codec", err)
	return string(text)
}

// nearSpan reads one span in both directions, with a limit and without, and counts it.
func nearSpan(ctx context.Context, e *env, index *driver.Table, all []string, low, high *driver.Bound) {
	sp := driver.Span{Table: index, Low: low, High: high, Mask: []int{fInt}}
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
			equal(e, fmt.Sprintf("the span from %q to %q, backwards %v, limit %d", sp.From, sp.To, sp.Reverse, sp.Limit), foundNear(ctx, e, sp, str("a"), num(1)), some)
		}
	}
}

// nearEdges are values of the kinds that a native index may take, by ordinal of the field.
func nearEdges() map[int][]driver.Value {
	all := map[int][]driver.Value{
		fBool: {driver.BoolValue(false), driver.BoolValue(true)},
		fTime: {driver.TimeValue(math.MinInt64 / 2), driver.TimeValue(-1), driver.TimeValue(0), driver.TimeValue(1), driver.TimeValue(math.MaxInt64 / 2)},
	}
	for _, n := range []int64{math.MinInt64, -10, -1, 0, 1, 9, math.MaxInt64} {
		all[fInt] = append(all[fInt], num(n))
	}
	for _, x := range []float64{math.Inf(-1), -math.MaxFloat64, -1.5, 0, 5e-324, 0.1, math.MaxFloat64, math.Inf(1)} {
		all[fFloat] = append(all[fFloat], driver.FloatValue(x))
	}
	for _, s := range append(separators(), "", "a\x00b", "\x00", "a", "A", "ä", "é", "e\u0301", "\ud7ff", "\ue000", "\U0010ffff", " a", "a ", strings.Repeat("x", 900)) {
		all[fString] = append(all[fString], str(s))
	}
	return all
}

func nearValues(ctx context.Context, e *env) {
	home := e.ownTable(fieldColumns()...)
	e.define(ctx, home)
	rows := map[string]driver.Row{}
	edges := nearEdges()
	for at, vals := range edges {
		for i, v := range vals {
			id := fmt.Sprintf("%02d", i)
			r, ok := rows[id]
			if !ok {
				r = driver.Row{Key: e.at(home, "p", id), Fields: make([]driver.Value, fMap+1)}
			}
			r.Fields[at] = v
			rows[id] = r
		}
	}
	for _, r := range rows {
		e.commit(ctx, put(home, r))
	}
	for at, vals := range edges {
		if kinds := e.facts.NativeNear; len(kinds) > 0 && !slices.Contains(kinds, home.Fields[at].Kind) {
			continue
		}
		index := defineNear(ctx, e, home, at)
		for i, v := range vals {
			equal(e, "the records with "+brief(v.String()), foundNear(ctx, e, driver.Span{Table: index, Mask: []int{}}, v), []string{fmt.Sprintf("%02d", i)})
		}
	}
}

// nearSchema returns the schema of messages with a native index by their level.
func nearSchema() repo.Schema {
	return withIndexes(repo.Index{Name: "by_level", Kind: "native", Partition: []string{"host", "level"}, Sort: []string{"-time"}})
}

func nearQueries(ctx context.Context, e *env) {
	schema := nearSchema()
	schema.Collection = e.freshName()
	r, err := repo.Open[message](ctx, e.repo, schema)
	e.ok("open", err)
	for i := range 12 { // two in a second
		insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(i / 2), ID: int64(i), Level: []string{"error", "info", "error"}[i%3], Text: fmt.Sprint(i)})
	}
	newest := []string{"11", "8", "9", "6", "5", "2", "3", "0"}
	q := repo.Where("host", e.name("h")).Where("level", "error")
	plan, err := r.Explain(q)
	e.ok("explain", err)
	equal(e, "index, covered, depth", fmt.Sprint(plan.Index, " ", plan.Covered, plan.Depth), "by_level true 1")
	for _, order := range []string{"-time", "time"} {
		want := slices.Clone(newest)
		if order == "time" {
			slices.Reverse(want)
		}
		equal(e, "the errors in the order of "+order, find(ctx, e, r, q.Order(order), textOfMessage), want)
		equal(e, "the first three", find(ctx, e, r, q.Order(order).Limit(3), textOfMessage), want[:3])
		equal(e, "the errors by pages", pagedTexts(ctx, e, r, q.Order(order).Limit(3)), want)
	}
	some := q.Range("time", e.when(1), e.when(5))
	equal(e, "the errors of four seconds", find(ctx, e, r, some, textOfMessage), newest[1:7])
	n, err := r.Count(ctx, some)
	e.ok("count", err)
	equal(e, "the count of those", n, 6)
	equal(e, "the keys of all", len(collect(e, "keys", r.Keys(ctx, q))), len(newest))
	_, err = r.Patch(ctx, repo.Key{e.name("h"), e.when(5), 11}, repo.Set("level", "info"))
	e.ok("patch", err)
	e.ok("delete", r.Delete(ctx, repo.Key{e.name("h"), e.when(4), 8}))
	equal(e, "the errors after one was changed and one deleted", find(ctx, e, r, q, textOfMessage), newest[2:])
	clean(ctx, e, r)
}

// pagedTexts returns the texts of messages by pages.
func pagedTexts(ctx context.Context, e *env, r *repo.Repo[message], q repo.Query) []string {
	var list []string
	for cursor := ""; ; {
		page, err := r.Page(ctx, q, cursor)
		e.ok("page", err)
		for _, m := range page.Items {
			list = append(list, m.Text)
		}
		if cursor = page.Next; cursor == "" {
			return list
		}
	}
}

func nearOnRecords(ctx context.Context, e *env) {
	name := e.freshName()
	before, err := openAs[message](ctx, e, name, withIndexes())
	e.ok("open", err)
	for i := range 12 {
		insertAll(ctx, e, before, message{Host: e.name("h"), Time: e.when(i), Level: []string{"error", "info"}[i%2], Text: fmt.Sprint(i)})
	}
	_, err = openAs[message](ctx, e, name, nearSchema())
	e.is("open with a new index", err, repo.ErrSchema)
	r, err := openAs[message](ctx, e, name, nearSchema(), repo.WithRebuild())
	e.ok("open with rebuild", err)
	q := repo.Where("host", e.name("h")).Where("level", "error")
	equal(e, "the errors from before", find(ctx, e, r, q, textOfMessage), []string{"10", "8", "6", "4", "2", "0"})
	insertAll(ctx, e, r, message{Host: e.name("h"), Time: e.when(20), Level: "error", Text: "20"})
	equal(e, "the newest error", find(ctx, e, r, q.Limit(1), textOfMessage), []string{"20"})
	clean(ctx, e, r)
	e.ok("rebuild", r.Rebuild(ctx, "by_level"))
	equal(e, "the oldest error after a rebuild", find(ctx, e, r, q.Order("time").Limit(1), textOfMessage), []string{"0"})
	e.ok("drop index", repo.DropIndex(ctx, e.repo, name, "by_level"))
	r, err = openAs[message](ctx, e, name, withIndexes())
	e.ok("open without the index", err)
	_, err = repo.Collect(r.Find(ctx, q))
	e.that(err != nil, "no index to answer", "success")
}
