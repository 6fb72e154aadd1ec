package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/conformance/internal/double"
	"github.com/polystore/polystore/repo/driver"
)

// tables are those of the rules that use the store directly. The first
// partition column of each is the tag of the rule.
type tables struct {
	sorted *driver.Table // records in the order of a text
	plain  *driver.Table // records without order
	typed  *driver.Table // a partition column of every kind
	asc    *driver.Table // a sort column of every kind
	desc   *driver.Table // the same, greater values first
	ringed *driver.Table // records that keep tokens
	local  *driver.Table // index rows that lie with the records of sorted
	bare   *driver.Table // index rows that are keys, with the records of ringed
	claims *driver.Table // of a unique index, elsewhere
}

const ringSize = 4

func newTables(id string) tables {
	scope, p, s := driver.Column{Name: "scope", Kind: driver.String}, driver.Column{Name: "p", Kind: driver.String}, driver.Column{Name: "s", Kind: driver.String}
	both := []driver.Column{scope, p}
	t := tables{
		sorted: &driver.Table{Name: id + ".sorted", Partition: both, Sort: []driver.Column{s}, Fields: fieldColumns()},
		plain:  &driver.Table{Name: id + ".plain", Partition: both, Fields: fieldColumns()},
		typed:  &driver.Table{Name: id + ".typed", Partition: append([]driver.Column{scope}, scalarColumns(false)...), Fields: fieldColumns()},
		asc:    &driver.Table{Name: id + ".asc", Partition: both, Sort: scalarColumns(false), Fields: fieldColumns()},
		desc:   &driver.Table{Name: id + ".desc", Partition: both, Sort: scalarColumns(true), Fields: fieldColumns()},
		ringed: &driver.Table{Name: id + ".ringed", Partition: both, Sort: []driver.Column{s}, Fields: fieldColumns(), Ring: ringSize},
	}
	v := driver.Column{Name: "v", Kind: driver.String}
	t.local = &driver.Table{Name: id + ".sorted.local", Class: driver.Rows, Partition: both, Sort: []driver.Column{v, s}, Fields: fieldColumns(), Home: t.sorted}
	t.bare = &driver.Table{Name: id + ".ringed.bare", Class: driver.Rows, Partition: both, Sort: []driver.Column{v, s}, Home: t.ringed, Bare: true}
	t.claims = &driver.Table{Name: id + ".sorted.claims", Class: driver.Claims, Partition: []driver.Column{scope, v}, Fields: fieldColumns()}
	return t
}

// all returns the tables that a store with these facts can have.
func (t *tables) all(f driver.Facts) []*driver.Table {
	list := []*driver.Table{t.sorted, t.plain, t.typed, t.asc, t.desc, t.ringed}
	if f.Unit >= driver.UnitPartition {
		list = append(list, t.local, t.bare)
	}
	if f.Unit >= driver.UnitStore {
		list = append(list, t.claims)
	}
	return list
}

// The ordinals of the fields of every table.
const (
	fBool = iota
	fInt
	fFloat
	fString
	fBytes
	fTime
	fList
	fMap
)

func fieldColumns() []driver.Column {
	var cols []driver.Column
	for k := driver.Bool; k <= driver.Map; k++ {
		cols = append(cols, driver.Column{Name: "f_" + k.String(), Kind: k})
	}
	return cols
}

func scalarColumns(desc bool) []driver.Column {
	var cols []driver.Column
	for k := driver.Bool; k <= driver.Time; k++ {
		cols = append(cols, driver.Column{Name: "k_" + k.String(), Kind: k, Desc: desc})
	}
	return cols
}

func str(s string) driver.Value { return driver.StringValue(s) }
func num(n int64) driver.Value  { return driver.IntValue(n) }

// texts returns strings as values.
func texts(list ...string) []driver.Value {
	vals := make([]driver.Value, len(list))
	for i, s := range list {
		vals[i] = str(s)
	}
	return vals
}

// key returns the key of a row of t: the tag of the rule, then parts.
func (e *env) key(t *driver.Table, parts ...driver.Value) driver.Key {
	vals := append([]driver.Value{str(e.tag)}, parts...)
	cut := len(t.Partition)
	partition, err := driver.AppendParts(nil, t.Partition, vals[:cut])
	e.ok("key codec", err)
	sort, err := driver.AppendParts(nil, t.Sort, vals[cut:])
	e.ok("key codec", err)
	return driver.Key{Partition: string(partition), Sort: string(sort)}
}

// at returns a key of text parts.
func (e *env) at(t *driver.Table, parts ...string) driver.Key { return e.key(t, texts(parts...)...) }

// row returns fields that name themselves, so that rows can be told apart.
func row(key driver.Key, text string) driver.Row {
	return driver.Row{Key: key, Fields: []driver.Value{{}, {}, {}, str(text)}}
}

// put returns an op that writes a row whatever is there.
func put(t *driver.Table, r driver.Row) driver.Op { return driver.Op{Do: driver.Put, Table: t, Row: r} }

// commit does ops in one commit, which must succeed, and returns its token.
func (e *env) commit(ctx context.Context, ops ...driver.Op) driver.Token {
	token := driver.NewToken()
	refusal, err := e.store.Commit(ctx, token, ops)
	e.ok(opsText(ops), err)
	if refusal != nil {
		e.broken(opsText(ops)+" to succeed", "a refusal of op %d: %s", refusal.Op, show(&refusal.Row))
	}
	return token
}

// refused does ops in one commit, which must be refused.
func (e *env) refused(ctx context.Context, ops ...driver.Op) *driver.Refusal {
	refusal, err := e.store.Commit(ctx, driver.NewToken(), ops)
	e.ok(opsText(ops), err)
	if refusal == nil {
		e.broken(opsText(ops)+" to be refused", "success")
	}
	return refusal
}

func opsText(ops []driver.Op) string {
	var list []string
	for _, op := range ops[:min(len(ops), 4)] {
		list = append(list, fmt.Sprintf("%s if %s", op.Do, op.If))
	}
	return "commit of " + strings.Join(list, ", ")
}

// get reads the row under a key.
func (e *env) get(ctx context.Context, t *driver.Table, key driver.Key) driver.Row {
	rows := e.getAll(ctx, t, nil, key)
	return rows[0]
}

// getAll reads the rows under keys with a mask.
func (e *env) getAll(ctx context.Context, t *driver.Table, mask []int, keys ...driver.Key) []driver.Row {
	rows := make([]driver.Row, len(keys))
	e.ok("get", e.store.Get(ctx, t, keys, mask, rows))
	return rows
}

// span returns the span of the whole partition of key.
func span(t *driver.Table, key driver.Key) driver.Span {
	return driver.Span{Table: t, Key: driver.Key{Partition: key.Partition}}
}

// rows reads the rows of a span.
func (e *env) rows(ctx context.Context, sp driver.Span) []driver.Row {
	rows, err := rangeAll(ctx, e.store, sp)
	e.ok("range", err)
	return rows
}

// mostRows is more than any rule reads in one loop: a store that yields more begins anew, say,
// and would use up the memory.
const mostRows = 50_000

func rangeAll(ctx context.Context, store driver.Store, sp driver.Span) ([]driver.Row, error) {
	var rows []driver.Row
	for r, err := range store.Range(ctx, sp) {
		if err != nil {
			return rows, err
		}
		if rows = append(rows, double.CopyRow(r)); len(rows) > mostRows {
			return nil, fmt.Errorf("more than %d rows, which nobody wrote: the range does not end", mostRows)
		}
	}
	return rows, nil
}

// walk reads all rows of a table that are the rule's own.
func (e *env) walk(ctx context.Context, t *driver.Table) []driver.Row {
	var rows []driver.Row
	for chunk, err := range e.store.Walk(ctx, t, "") {
		e.ok("walk", err)
		for i := range chunk.Rows {
			if e.own(chunk.Rows[i].Key) {
				rows = append(rows, chunk.Rows[i])
			}
		}
		e.that(len(rows) <= mostRows, "the walk to end", "%d rows, which nobody wrote", len(rows))
	}
	return rows
}

// own reports whether a key of a shared table belongs to the rule.
func (e *env) own(k driver.Key) bool { return strings.HasPrefix(k.Partition, e.tag+"#") }

// show returns what is in a row, without its key and Rev, as text.
func show(r *driver.Row) string {
	if r.Rev.IsZero() {
		return "no row"
	}
	var b strings.Builder
	for i, v := range r.Fields {
		if !v.IsNone() {
			fmt.Fprintf(&b, "%d:%v ", i, v)
		}
	}
	for _, p := range r.Extra {
		fmt.Fprintf(&b, "%q:%v ", p.Name, p.Value)
	}
	fmt.Fprintf(&b, "expires %d", r.Expires)
	if r.Dead {
		b.WriteString(" dead")
	}
	if r.Note != "" {
		fmt.Fprintf(&b, " note %q", r.Note)
	}
	return b.String()
}

// sorts returns the sort texts of rows.
func sorts(rows []driver.Row) []string {
	list := make([]string, len(rows))
	for i := range rows {
		list[i] = rows[i].Key.Sort
	}
	return list
}
