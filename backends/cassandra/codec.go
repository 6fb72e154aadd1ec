package cassandra

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/cassandra-gocql-driver/v2"

	"github.com/polystore/polystore/internal/tagged"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

const tokenSize = len(driver.Token{})

// noText stands in columns of texts for no value, since one of no bytes is a value there. A text that begins
// like it has another noText in front.
const noText = "\x00polystore has none\x00"

// bindable returns what to bind for a value.
func bindable(v driver.Value) any {
	switch v.Kind() {
	case driver.Bool:
		return v.Bool()
	case driver.Int, driver.Time:
		return v.Int()
	case driver.Float:
		return v.Float()
	case driver.String:
		if strings.HasPrefix(v.Str(), noText) {
			return noText + v.Str()
		}
		return v.Str()
	case driver.Bytes:
		return v.Str()
	case driver.List, driver.Map:
		return string(tagged.Append(nil, v))
	}
	return nil
}

// Nothing is a value of no bytes, which a column of any type can have.
type nothing struct{}

// MarshalCQL returns no bytes.
func (nothing) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return []byte{}, nil }

// None is what a column of a field has that is no value, and no null either.
type none struct{}

// MarshalCQL returns no bytes, or noText where these are a value.
func (none) MarshalCQL(typ gocql.TypeInfo) ([]byte, error) {
	if isText(typ.Type()) {
		return []byte(noText), nil
	}
	return []byte{}, nil
}

// Some is a value of any type that partition columns can have.
type some struct{}

// MarshalCQL returns bytes that are right for the type.
func (some) MarshalCQL(typ gocql.TypeInfo) ([]byte, error) {
	switch typ.Type() {
	case gocql.TypeBigInt, gocql.TypeDouble, gocql.TypeTimestamp:
		return make([]byte, 8), nil
	}
	return []byte("x"), nil
}

func isText(typ gocql.Type) bool { return typ == gocql.TypeVarchar || typ == gocql.TypeText }

// A cell is a column of a row as the server sends it, valid until the next row is read.
type cell struct {
	typ  gocql.Type
	data []byte // nil is null
}

// UnmarshalCQL keeps the bytes of a column.
func (c *cell) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error {
	c.data = data
	return nil
}

// isNone reports whether a column has no value: it is null, or what none has bound.
func (c *cell) isNone() bool {
	if isText(c.typ) {
		return c.data == nil || string(c.data) == noText
	}
	return len(c.data) == 0
}

func (c *cell) isNothing() bool { return c.data != nil && len(c.data) == 0 }

// value returns the value of a column that has one, and whether it is of a kind.
func (c *cell) value(kind driver.Kind) (driver.Value, bool) {
	switch kind {
	case driver.Bool:
		return driver.BoolValue(c.isTrue()), c.typ == gocql.TypeBoolean && len(c.data) == 1
	case driver.Int:
		n, ok := c.word(gocql.TypeBigInt)
		return driver.IntValue(int64(n)), ok
	case driver.Time:
		n, ok := c.word(gocql.TypeTimestamp)
		return driver.TimeValue(int64(n)), ok
	case driver.Float:
		n, ok := c.word(gocql.TypeDouble)
		f := math.Float64frombits(n)
		return driver.FloatValue(f), ok && !math.IsNaN(f)
	case driver.Bytes:
		return driver.BytesValue(string(c.data)), c.typ == gocql.TypeBlob
	case driver.String:
		text, ok := c.text()
		return driver.StringValue(strings.TrimPrefix(text, noText)), ok
	}
	text, ok := c.text()
	if !ok {
		return driver.Value{}, false
	}
	v, err := tagged.Parse(text)
	return v, err == nil && (v.Kind() == kind || v.IsNone())
}

func (c *cell) isTrue() bool { return len(c.data) == 1 && c.data[0] != 0 }

func (c *cell) text() (string, bool) {
	return string(c.data), isText(c.typ) && utf8.Valid(c.data)
}

func (c *cell) word(typ gocql.Type) (uint64, bool) {
	if c.typ != typ || len(c.data) != 8 {
		return 0, false
	}
	return binary.BigEndian.Uint64(c.data), true
}

// selection returns the columns to read for a mask.
func (v *view) selection(mask []int) string {
	switch {
	case v.KeyOnly:
		return `"_sort", "_rev"`
	case mask == nil:
		return "*"
	}
	var b strings.Builder
	b.WriteString(`"_sort", "_rev", "_ring", "_dead", "_expires", "_note", "_later"`)
	extra := false
	for i, ordinal := range mask {
		if slices.Contains(mask[:i], ordinal) {
			continue
		}
		b.WriteString(", " + quoted(v.column(v.Fields[ordinal].Name)))
		extra = extra || v.Late[ordinal]
	}
	if extra {
		b.WriteString(`, "_extra"`)
	}
	return b.String()
}

// A reader reads the rows of one answer.
type reader struct {
	*heading
	store *store
	v     *view
	sh    frame.Shape
	iter  *gocql.Iter
	cells []cell
	dest  []any
	where string // the partition that was asked for, if it was one
}

func (s *store) newReader(v *view, mask []int, iter *gocql.Iter, where string) *reader {
	r := &reader{heading: v.headingOf(iter.Columns()), store: s, v: v, sh: v.Shape(mask), iter: iter, where: where}
	r.cells, r.dest = make([]cell, len(r.names)), make([]any, len(r.names))
	for i := range r.dest {
		if r.cells[i].typ = r.types[i]; where == "" || !slices.Contains(r.parts, i) {
			r.dest[i] = &r.cells[i]
		}
	}
	return r
}

// partition returns the text of the partition of the row that next has read, if its columns
// were asked for.
func (r *reader) partition() (string, bool) {
	cells := make([]cell, len(r.parts))
	for i, at := range r.parts {
		if at >= 0 {
			cells[i] = r.cells[at]
		}
	}
	return r.v.partitionOf(cells)
}

// next reads the cells of the next row, and reports whether there is one.
func (r *reader) next() bool { return r.iter.Scan(r.dest...) }

// A pending field is one that the view does not declare, as the row has it.
type pending struct {
	name string
	cell *cell
}

// row decodes the row of which next has read the cells, but not its key. What is left of a
// row of an index is none.
func (r *reader) row(ctx context.Context, row *driver.Row) error {
	r.sh.Begin(row)
	if r.isLeft() {
		return nil
	}
	late, flagged, extra := false, false, ""
	husk := r.isHusk()
	var others []pending
	for i := range r.cells {
		c, means := &r.cells[i], r.meanings[i]
		if means == otherColumn && c.data != nil {
			others = append(others, pending{r.names[i], c})
		}
		if c.isNone() || means == keyColumn || means == otherColumn {
			continue
		}
		ok := true
		switch means {
		case metaColumn:
			ok = readMeta(row, r.names[i], c)
		case deadColumn:
			flagged = true
			row.Dead, ok = c.isTrue(), len(c.data) == 1
		case laterColumn:
			late = c.isTrue()
		case extraColumn:
			extra, ok = c.text()
		case timeColumn:
			row.Hint, ok = c.word(gocql.TypeBigInt)
		default:
			ok = r.field(c, int(means), row)
		}
		if !ok {
			return r.bad(r.names[i])
		}
	}
	switch {
	case row.Rev.IsZero():
		return r.bad("_rev")
	case !flagged && r.v.Class == driver.Records:
		return r.bad("_dead")
	case extra != "" && !r.extra(extra, row):
		return r.bad("_extra")
	}
	if !r.v.Unconditional && (r.sh.Mask == nil || !late && !husk) {
		row.Hint = r.v.number
	}
	return r.undeclared(ctx, row, others)
}

// field reads a declared field.
func (r *reader) field(c *cell, ordinal int, row *driver.Row) bool {
	at, wanted := r.sh.At(ordinal)
	if !wanted {
		return true
	}
	value, ok := c.value(r.v.Fields[ordinal].Kind)
	row.Fields[at] = value
	return ok
}

// readMeta reads a column of the library, and reports whether it is as it should be.
func readMeta(row *driver.Row, name string, c *cell) bool {
	switch name {
	case "_rev":
		copy(row.Rev[:], c.data)
		return len(c.data) == tokenSize
	case "_ring":
		for at := 0; at+tokenSize <= len(c.data); at += tokenSize {
			row.Ring = append(row.Ring, driver.Token(c.data[at:at+tokenSize]))
		}
		return len(c.data)%tokenSize == 0
	case "_expires":
		n, ok := c.word(gocql.TypeTimestamp)
		row.Expires = int64(n)
		return ok
	}
	text, ok := c.text()
	row.Meta = text
	return ok
}

// extra reads fields that were not declared when they were written. One may be now:
// then it has its place, unless it was written again since.
func (r *reader) extra(text string, row *driver.Row) bool {
	all, err := tagged.Parse(text)
	if err != nil || all.Kind() != driver.Map && !all.IsNone() {
		return false
	}
	list := all.List()
	for i := 0; i < len(list); i += 2 {
		r.v.Undeclared(row, &r.sh, list[i].Str(), list[i+1])
	}
	return true
}

// undeclared adds fields that other programs have declared. Of those too that have no value the
// view learns, so that a row which is written over this one leaves nothing of them.
func (r *reader) undeclared(ctx context.Context, row *driver.Row, others []pending) error {
	for _, o := range others {
		k, found, err := r.other(ctx, o.name)
		if err != nil {
			return err
		}
		if !found {
			return r.bad(o.name)
		}
		if o.cell.isNone() {
			continue
		}
		value, ok := o.cell.value(k.Kind)
		if !ok {
			return r.bad(o.name)
		}
		if !value.IsNone() {
			frame.SetExtra(row, o.name, value)
		}
	}
	frame.SortExtra(row.Extra)
	return nil
}

// other returns what the catalog has of a field that the view does not declare. When a row is the first to
// have it, all views whose rows lie there learn what other programs have declared since they
// were made: a row of an index that takes its fields from this record has this one, too, and
// who removes it must know.
func (r *reader) other(ctx context.Context, field string) (frame.Known, bool, error) {
	v := r.v
	if _, met := v.met.Load(field); !met {
		if err := r.learnAll(ctx); err != nil {
			return frame.Known{}, false, err
		}
	}
	k, ok := v.columns.Load().kinds[field]
	if ok {
		v.met.Store(field, nil)
	}
	return k, ok, nil
}

// learnAll has the view and those whose rows lie in the same place learn what the catalog has.
func (r *reader) learnAll(ctx context.Context) error {
	v := r.v
	views := map[string][]*view{v.Name: {v}}
	r.store.frame.Each(func(_ *driver.Table, w *view) {
		if w != v && w.physical == v.physical {
			views[w.Name] = append(views[w.Name], w)
		}
	})
	for name, list := range views {
		e, err := r.store.catalog.entry(ctx, "read a row of "+v.Name, name)
		if err != nil {
			return err
		}
		for _, w := range list {
			w.learn(e)
		}
	}
	return nil
}

// sortText returns the clustering text of the row of which next has read the cells.
func (r *reader) sortText() string {
	if r.sort >= 0 {
		return string(r.cells[r.sort].data)
	}
	return ""
}

// bad is the error of a row that this package cannot have written so.
func (r *reader) bad(column string) error {
	partition := r.where
	if partition == "" {
		partition, _ = r.partition()
	}
	return who.Corrupt("the row %.200q of the partition %.200q of the table %s.%s has a column %.50q that this library cannot have written so: another program wrote it; mend or remove it",
		driver.Private(r.sortText()), driver.Private(partition), r.store.conn.keyspace, r.v.physical, column)
}
