package spi

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/conformance/internal/finding"
	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// catalogRules are those of the tables of a store, then those of the collections
// that package repo keeps in them.
func catalogRules() []entry {
	return slices.Concat([]entry{
		{Name: "facts", Sentence: "Facts name the store and its commit scope, are the same at every call, and give a reason for what is missing.", Check: factsRule},
		{Name: "abilities", Sentence: "Facts say of Counter and Sizer what the store is.", Check: abilities},
		{Name: "define again", Sentence: "Define is idempotent and does not touch rows.", Check: defineAgain},
		{Name: "define at once", Sentence: "Define is safe when programs call it at once.", Check: defineAtOnce},
		{Name: "other key columns", Sentence: "A table that exists with other key columns is ErrSchema, and stays as it is.", Check: otherColumns},
		{Name: "new fields", Sentence: "Define adds new fields, which rows from before lack.", Check: newFields},
		{Name: "anew where there were fields of others", Sentence: "A record, or a row of an index, that a program writes where one was deleted with fields that it does not know has none of them.", Check: anewOverOthers},
		{Name: "table names", Sentence: "Names of 100 bytes, with digits, dots and underscores, are names of tables.", Check: tableNames},
		{Name: "attach", Sentence: "Attach makes tables known that exist.", Check: attach},
		{Name: "attach nothing", Sentence: "Attach of a table that does not exist, or lacks a field, is ErrSchema and changes nothing.", Check: attachNothing},
		{Name: "drop", Sentence: "Drop removes tables with all their rows; one that does not exist is no error.", Check: drop},
		{Name: "drop of several", Sentence: "Drop removes every table that it names, wherever in the list it stands, and no other.", Check: dropSeveral},
		{Name: "names that begin alike", Sentence: "Tables whose names begin alike are apart: in reads, in walks, and when one is dropped.", Check: namesAlike},
		{Name: "native", Sentence: "A native index on a store that keeps none is ErrUnsupported and leaves no trace.", Needs: keepsNoNative, Check: nativeTable},
		{Name: "counter", Sentence: "Count is the number of rows of a span, at most Limit if that is set.", Needs: counts, Check: counter},
		{Name: "sizer", Sentence: "Size grows with the rows of a table.", Needs: sizes, Check: sizer},
	}, nativeRules())
}

func keepsNoNative(f driver.Facts) string {
	if f.Native.Has {
		return f.Name + " keeps native indexes"
	}
	return ""
}

func counts(f driver.Facts) string {
	if !f.Counts.Has {
		return f.Counts.Reason
	}
	return ""
}

func sizes(f driver.Facts) string {
	if !f.Sizes.Has {
		return f.Sizes.Reason
	}
	return ""
}

func factsRule(_ context.Context, e *env) {
	f := e.Store.Facts()
	rule.Equal(e, "the facts at the next call", e.Store.Facts(), f)
	rule.Equal(e, "the facts at the first call", f, e.Facts)
	e.That(f.Name != "" && f.Name == strings.ToLower(f.Name) && !strings.ContainsAny(f.Name, " /"), "a name in lower case", "%q", f.Name)
	e.That(f.Scope <= driver.ScopeStore, "a commit scope", "%d", f.Scope)
	e.That(f.Durability <= driver.Node, "a class of durability", "%d", f.Durability)
	e.That((f.Delay > 0) == (f.Durability == driver.Delayed), "a delay in class delayed, and in no other", "class %s, delay %s", f.Durability, f.Delay)
	e.That(f.Setting != "" || f.Durability == driver.UnknownDurability, "the setting that decides the durability", "none")
	for name, a := range map[string]driver.Ability{"Native": f.Native, "Counts": f.Counts, "Sizes": f.Sizes} {
		e.That(a.Has || a.Reason != "", "a reason why the store has not "+name, "none")
	}
}

func abilities(_ context.Context, e *env) {
	_, counter := e.Store.(driver.Counter)
	_, sizer := e.Store.(driver.Sizer)
	e.That(counter || !e.Facts.Counts.Has, "a Counter, as Facts.Counts says", "none")
	e.That(sizer || !e.Facts.Sizes.Has, "a Sizer, as Facts.Sizes says", "none")
}

func defineAgain(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()...)
	e.define(ctx, t)
	key := e.at(t, "p", "a")
	rev := e.commit(ctx, put(t, row(key, "x")))
	twin := *t
	e.define(ctx, t)
	e.define(ctx, &twin, e.Tables.Sorted, t)
	for _, same := range []*driver.Table{t, &twin} {
		got := e.get(ctx, same, key)
		rule.Equal(e, "the row after defining its table again", textOf(&got)+got.Rev.String(), "x"+rev.String())
	}
	rule.Equal(e, "the number of rows", len(e.rows(ctx, span(t, key))), 1)
}

func defineAtOnce(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()[:4]...)
	e.Parallel(6, func(i int) error {
		mine := *t // another program has its own
		mine.Fields = append(slices.Clone(t.Fields), driver.Column{Name: fmt.Sprint("own", i), Kind: driver.Int})
		if err := e.Store.Define(ctx, []*driver.Table{&mine}); err != nil {
			return finding.Wanted("define at once with others to succeed", err.Error())
		}
		r := row(e.at(t, "p", fmt.Sprint(i)), fmt.Sprint(i))
		r.Fields = append(r.Fields[:4:4], num(int64(i)))
		refusal, err := e.Store.Commit(ctx, driver.NewToken(), []driver.Op{put(&mine, r)})
		if err != nil || refusal != nil {
			return finding.Wanted("a commit to the table that was just defined to succeed", fmt.Sprint(refusal, err))
		}
		return nil
	})
	e.define(ctx, t)
	rows := e.rows(ctx, span(t, e.at(t, "p", "")))
	rule.Equal(e, "the number of rows", len(rows), 6)
	for i, r := range rows {
		rule.Equal(e, "a row, as one program sees it", textOf(&r)+fmt.Sprint(r.Extra), fmt.Sprint(i)+fmt.Sprint([]driver.Pair{{Name: fmt.Sprint("own", i), Value: num(int64(i))}}))
	}
}

func otherColumns(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()...)
	e.define(ctx, t)
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	for what, change := range map[string]func(t *driver.Table){
		"another kind":       func(t *driver.Table) { t.Sort[0].Kind = driver.Int },
		"another direction":  func(t *driver.Table) { t.Sort[0].Desc = true },
		"another name":       func(t *driver.Table) { t.Sort[0].Name = "other" },
		"one column more":    func(t *driver.Table) { t.Sort = append(t.Sort, driver.Column{Name: "more", Kind: driver.Int}) },
		"one column less":    func(t *driver.Table) { t.Sort = nil },
		"a partition column": func(t *driver.Table) { t.Partition = t.Partition[:1] },
	} {
		other := *t
		other.Sort, other.Partition = slices.Clone(t.Sort), slices.Clone(t.Partition)
		change(&other)
		e.Is("define with "+what, e.Store.Define(ctx, []*driver.Table{&other}), driver.ErrSchema)
		e.Is("attach with "+what, e.Store.Attach(ctx, []*driver.Table{&other}), driver.ErrSchema)
	}
	rule.Equal(e, "the row", e.text(ctx, t, key), "x")
}

func newFields(ctx context.Context, e *env) {
	a, b := driver.Column{Name: "a", Kind: driver.String}, driver.Column{Name: "b", Kind: driver.List}
	t := e.ownTable(a)
	e.define(ctx, t)
	old, fresh := e.at(t, "p", "old"), e.at(t, "p", "new")
	e.commit(ctx, put(t, driver.Row{Key: old, Fields: texts("x")}))
	wide := &driver.Table{Name: t.Name, Partition: t.Partition, Sort: t.Sort, Fields: []driver.Column{b, a}}
	e.define(ctx, wide)
	e.commit(ctx, put(wide, driver.Row{Key: fresh, Fields: []driver.Value{listOf(num(1)), str("y")}}))
	rows := e.getAll(ctx, wide, nil, old, fresh)
	rule.Equal(e, "the row from before", rule.KindText(field(&rows[0], 0))+rule.KindText(field(&rows[0], 1)), rule.KindText(str("x")))
	rule.Equal(e, "the new row", rows[1].Fields, []driver.Value{listOf(num(1)), str("y")})
	rule.Equal(e, "the undeclared fields of both", len(rows[0].Extra)+len(rows[1].Extra), 0)
}

func tableNames(ctx context.Context, e *env) {
	for _, name := range []string{e.ID + "." + strings.Repeat("a", 99-len(e.ID)), e.ID + "_.x", e.ID + ".0_9..z", e.ID + strings.Repeat("_", 100-len(e.ID)), e.ID + strings.Repeat("_", 99-len(e.ID))} {
		t := *e.Tables.Sorted
		t.Name = name
		e.Drops(&t)
		e.define(ctx, &t)
		key := e.at(&t, "p", "a")
		e.commit(ctx, put(&t, row(key, name)))
		rule.Equal(e, "the rows of the table "+name, e.text(ctx, &t, key), name)
	}
	rule.Equal(e, "the rows of another table under that key", e.text(ctx, e.Tables.Sorted, e.at(e.Tables.Sorted, "p", "a")), "no row")
}

func attach(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()...)
	e.define(ctx, t)
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	twin := *t
	twin.Fields = []driver.Column{t.Fields[table.String]}
	e.OK("attach", e.Store.Attach(ctx, []*driver.Table{&twin}))
	got := e.get(ctx, &twin, key)
	rule.Equal(e, "the row by the attached table", got.Fields, texts("x"))
	e.commit(ctx, put(&twin, driver.Row{Key: key, Fields: texts("y")}))
	rule.Equal(e, "the row by the table", e.text(ctx, t, key), "y")
}

func attachNothing(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()...)
	e.Is("attach of a table that does not exist", e.Store.Attach(ctx, []*driver.Table{t}), driver.ErrSchema)
	e.Is("attach of it again", e.Store.Attach(ctx, []*driver.Table{t}), driver.ErrSchema)
	e.define(ctx, t)
	wide := *t
	wide.Fields = append(slices.Clone(t.Fields), driver.Column{Name: "more", Kind: driver.Int})
	e.Is("attach of a table that lacks a field", e.Store.Attach(ctx, []*driver.Table{&wide}), driver.ErrSchema)
	e.Is("attach of it again", e.Store.Attach(ctx, []*driver.Table{&wide}), driver.ErrSchema)
	e.OK("attach of the table as it is", e.Store.Attach(ctx, []*driver.Table{t}))
}

func drop(ctx context.Context, e *env) {
	t, other := e.ownTable(table.Fields()...), e.ownTable(table.Fields()...)
	e.define(ctx, t, other)
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	e.commit(ctx, put(other, row(key, "stays")))
	e.OK("drop", e.Store.Drop(ctx, []*driver.Table{t}))
	e.Is("attach of a dropped table", e.Store.Attach(ctx, []*driver.Table{t}), driver.ErrSchema)
	e.OK("drop of a table that does not exist", e.Store.Drop(ctx, []*driver.Table{t, {Name: e.freshTable()}}))
	e.define(ctx, t)
	rule.Equal(e, "the row of a table that was dropped and defined again", e.text(ctx, t, key), "no row")
	rule.Equal(e, "its rows by range", len(e.rows(ctx, span(t, key))), 0)
	rule.Equal(e, "its rows by walk", len(e.walk(ctx, t)), 0)
	rule.Equal(e, "the row of another table", e.text(ctx, other, key), "stays")
	e.commit(ctx, put(t, row(key, "new")))
	time.Sleep(rule.AfterHurry)
	rule.Equal(e, "a row of the table that was defined again, some time later", e.text(ctx, t, key), "new")
}

func nativeTable(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()...)
	t.Class, t.Native, t.Home = driver.Rows, true, e.Tables.Sorted
	e.Is("define of a native index", e.Store.Define(ctx, []*driver.Table{t}), driver.ErrUnsupported)
	plain := *t
	plain.Native = false
	e.Is("attach of the table that it would have made", e.Store.Attach(ctx, []*driver.Table{&plain}), driver.ErrSchema)
}

func counter(ctx context.Context, e *env) {
	t, c := e.Tables.Sorted, e.Store.(driver.Counter)
	e.fill(ctx, t, "p", "a", "b", "bb", "c", "d")
	e.fill(ctx, t, "q", "a", "b")
	for _, tt := range []struct {
		from, to string
		limit    int
		reverse  bool
	}{{}, {limit: 3}, {limit: 5}, {limit: 9}, {from: "b", to: "c"}, {from: "b#", to: "c#"}, {from: "b#", to: "", limit: 2}, {from: "c#", to: "a#"}, {from: "x"}, {from: "b#", to: "d#", reverse: true}} {
		sp := span(t, e.at(t, "p", ""))
		sp.From, sp.To, sp.Limit, sp.Reverse = tt.from, tt.to, tt.limit, tt.reverse
		n, err := c.Count(ctx, sp)
		e.OK("count", err)
		rule.Equal(e, fmt.Sprintf("the count of the span %+v", tt), n, len(e.rows(ctx, sp)))
	}
}

func sizer(ctx context.Context, e *env) {
	t, s := e.ownTable(table.Fields()...), e.Store.(driver.Sizer)
	e.define(ctx, t)
	size := func() int64 {
		n, err := s.Size(ctx, t)
		e.OK("size", err)
		e.That(n >= 0, "a size of at least 0", "%d", n)
		return n
	}
	empty := size()
	source := rand.NewChaCha8([32]byte{})
	var ops []driver.Op
	for i := range 200 {
		text := make([]byte, 3000)
		_, _ = source.Read(text) // never fails; no store can make it shorter
		ops = append(ops, put(t, row(e.at(t, "p", fmt.Sprint(i)), base64.StdEncoding.EncodeToString(text))))
	}
	e.commitMany(ctx, ops)
	full := size()
	e.That(full >= empty+200*1000, "a size of some hundreds of thousands of bytes after 200 rows of 4 KB", "%d bytes, %d before", full, empty)
}
