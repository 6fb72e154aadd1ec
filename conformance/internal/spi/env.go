package spi

import (
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// An env is what a rule on the SPI works with.
type env struct{ *rule.Env }

func newEnv(e *rule.Env) *env { return &env{e} }

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
	vals := append([]driver.Value{str(e.Tag)}, parts...)
	cut := len(t.Partition)
	partition, err := driver.AppendParts(nil, t.Partition, vals[:cut])
	e.OK("key codec", err)
	sort, err := driver.AppendParts(nil, t.Sort, vals[cut:])
	e.OK("key codec", err)
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
	refusal, err := e.Store.Commit(ctx, token, ops)
	e.OK(opsText(ops), err)
	if refusal != nil {
		e.Broken(opsText(ops)+" to succeed", "a refusal of op %d: %s", refusal.Op, show(&refusal.Row))
	}
	return token
}

// refused does ops in one commit, which must be refused.
func (e *env) refused(ctx context.Context, ops ...driver.Op) *driver.Refusal {
	refusal, err := e.Store.Commit(ctx, driver.NewToken(), ops)
	e.OK(opsText(ops), err)
	if refusal == nil {
		e.Broken(opsText(ops)+" to be refused", "success")
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
	e.OK("get", e.Store.Get(ctx, t, keys, mask, rows))
	return rows
}

// span returns the span of the whole partition of key.
func span(t *driver.Table, key driver.Key) driver.Span {
	return driver.Span{Table: t, Key: driver.Key{Partition: key.Partition}}
}

// rows reads the rows of a span.
func (e *env) rows(ctx context.Context, sp driver.Span) []driver.Row {
	rows, err := table.Rows(ctx, e.Store, sp)
	e.OK("range", err)
	return rows
}

// walk reads all rows of a table that are the rule's own.
func (e *env) walk(ctx context.Context, t *driver.Table) []driver.Row {
	var rows []driver.Row
	for chunk, err := range e.Store.Walk(ctx, t, "") {
		e.OK("walk", err)
		for i := range chunk.Rows {
			if e.own(chunk.Rows[i].Key) {
				rows = append(rows, chunk.Rows[i])
			}
		}
		e.That(len(rows) <= table.MostRows, "the walk to end", "%d rows, which nobody wrote", len(rows))
	}
	return rows
}

// own reports whether a key of a shared table belongs to the rule.
func (e *env) own(k driver.Key) bool { return strings.HasPrefix(k.Partition, e.Tag+"#") }

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
	if r.Meta != "" {
		fmt.Fprintf(&b, " note %q", r.Meta)
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
