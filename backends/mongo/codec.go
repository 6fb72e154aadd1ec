package mongo

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

const tokenSize = len(driver.Token{})

// someToken is the Rev of key-only rows, which have none.
var someToken = driver.Token{tokenSize - 1: 1}

// Names in _extra must not look like paths or operators, be empty or have a NUL.
var (
	escaper   = strings.NewReplacer("%", "%25", ".", "%2E", "$", "%24", "\x00", "%00")
	unescaper = strings.NewReplacer("%25", "%", "%2E", ".", "%24", "$", "%00", "\x00")
)

func escape(name string) string {
	if name == "" {
		return "%"
	}
	return escaper.Replace(name)
}

func unescape(name string) string {
	if name == "%" {
		return ""
	}
	if strings.IndexByte(name, '%') < 0 {
		return name
	}
	return unescaper.Replace(name)
}

// idOf returns the _id of a key.
func idOf(k *driver.Key) string { return k.Partition + k.Sort }

// row appends the elements of the document of a row, without its ring.
func (v *view) row(w *bson.Writer, token *driver.Token, row *driver.Row) {
	w.Text("_id", idOf(&row.Key))
	if !v.KeyOnly {
		w.Token("_rev", token)
	}
	if row.Dead {
		w.Bool("_dead", true)
	}
	if row.Expires != 0 {
		w.Date("_expires", row.Expires)
	}
	if row.Meta != "" {
		w.Text("_note", row.Meta)
	}
	if !row.Dead {
		v.copyKey(w, &row.Key)
	}
	for i, value := range row.Fields {
		if !value.IsNone() {
			w.Value(v.Fields[i].Name, value)
		}
	}
	v.undeclared(w, row.Extra)
}

// copyKey appends the columns of a record's key, for people and for other programs:
// nothing here reads them.
func (v *view) copyKey(w *bson.Writer, k *driver.Key) {
	if v.Class != driver.Records {
		return
	}
	var room [8]driver.Value
	vals, rest, err := driver.ParseParts(room[:0], k.Partition, v.Partition)
	if err != nil || rest != "" {
		return // a key that package driver did not make
	}
	if vals, rest, err = driver.ParseParts(vals, k.Sort, v.Sort); err != nil || rest != "" {
		return
	}
	for i, value := range vals {
		name := v.column(i)
		if v.copied[name] && !value.IsNone() {
			w.Value(name, value)
		}
	}
}

// column returns the name of a column of the key.
func (v *view) column(i int) string {
	if i < len(v.Partition) {
		return v.Partition[i].Name
	}
	return v.Sort[i-len(v.Partition)].Name
}

// isOther reports whether another program declares the field, with the value's kind.
func (v *view) isOther(p *driver.Pair) bool {
	k, ok := v.Others.Of(p.Name)
	return ok && k.Kind == p.Value.Kind()
}

// undeclared appends fields that v does not declare. Those that another program does,
// with the value's kind, have their place at the top.
func (v *view) undeclared(w *bson.Writer, extra []driver.Pair) {
	inside := 0
	for i := range extra {
		p := &extra[i]
		switch {
		case p.Value.IsNone():
		case v.isOther(p):
			w.Value(p.Name, p.Value)
		default:
			inside++
		}
	}
	if inside == 0 {
		return
	}
	at := w.Open("_extra")
	for i := range extra {
		if p := &extra[i]; !p.Value.IsNone() && !v.isOther(p) {
			w.Value(escape(p.Name), p.Value)
		}
	}
	w.Close(at)
}

// keyOf returns the key that an _id stands for.
func (v *view) keyOf(id string) (driver.Key, bool) {
	key, ok := v.KeyOf(id)
	return key, ok && utf8.ValidString(id)
}

// badRow is the error of a document that this package cannot have written so.
func (v *view) badRow(id, field string) error {
	return who.Corrupt("the document %.200q of the collection %s has a field %.50q that this library cannot have written so: another program wrote it; mend or remove it",
		driver.Private(id), v.collection, frame.Shown(field, v.Ordinals))
}

// A reader reads documents as rows of a view.
type reader struct {
	store *store
	v     *view
	sh    frame.Shape
}

func (s *store) newReader(v *view, mask []int) *reader { return &reader{s, v, v.Shape(mask)} }

// row reads a document into row. The key is set from _id, which comes first.
func (r *reader) row(ctx context.Context, document string, row *driver.Row) error {
	v := r.v
	r.sh.Begin(row)
	id, extra := "", ""
	var others []driver.Pair
	in := bson.ElementsOf(document)
	for e, more := in.Next(); more; e, more = in.Next() {
		ok := true
		if i, declared := v.Ordinals[e.Name]; declared {
			ok = r.field(&e, i, row)
		} else if e.Name == "_id" {
			id = e.Data
			row.Key, ok = v.keyOf(id)
			ok = ok && e.Kind == bson.String
		} else if e.Name == "_extra" {
			extra, ok = e.Data, e.Kind == bson.Document || e.Kind == bson.Null
		} else if meta, fits := readMeta(row, &e); meta {
			ok = fits
		} else if r.sh.Mask == nil && !v.copied[e.Name] {
			var value driver.Value
			value, ok = e.Value()
			others = append(others, driver.Pair{Name: e.Name, Value: value})
		}
		if !ok {
			return v.badRow(id, e.Name)
		}
	}
	if v.KeyOnly {
		row.Rev = someToken
	}
	switch {
	case in.Bad:
		return v.badRow(id, in.Odd)
	case row.Rev.IsZero():
		return v.badRow(id, "_rev")
	}
	if extra != "" && !r.extra(extra, row) {
		return v.badRow(id, "_extra")
	}
	return r.others(ctx, id, row, others)
}

// field reads a declared field.
func (r *reader) field(e *bson.Element, ordinal int, row *driver.Row) bool {
	at, wanted := r.sh.At(ordinal)
	if !wanted {
		return true
	}
	value, ok := e.Value()
	row.Fields[at] = value
	return ok && (value.IsNone() || value.Kind() == r.v.Fields[ordinal].Kind)
}

// readMeta reads a field of the library, and reports whether it is one of a row beside the key, and whether it is of
// the right type, or null.
func readMeta(row *driver.Row, e *bson.Element) (meta, ok bool) {
	switch e.Name {
	case "_rev":
		row.Rev, ok = tokenOf(e)
	case "_ring":
		ok = readRing(row, e)
	case "_dead":
		row.Dead = e.Kind == bson.Bool && e.Data[0] == 1
		ok = row.Dead
	case "_expires":
		if ok = e.Kind == bson.Date; ok {
			row.Expires = int64(e.Word())
		}
	case "_note":
		if ok = e.Kind == bson.String; ok {
			row.Meta = e.Data
		}
	case "_check":
		ok = true
	default:
		return false, false
	}
	return true, ok || e.Kind == bson.Null
}

func tokenOf(e *bson.Element) (t driver.Token, ok bool) {
	s, ok := e.Raw()
	if !ok || len(s) != tokenSize {
		return t, false
	}
	copy(t[:], s)
	return t, true
}

func readRing(row *driver.Row, e *bson.Element) bool {
	if e.Kind != bson.Array {
		return false
	}
	in := bson.ElementsOf(e.Data)
	for e, more := in.Next(); more; e, more = in.Next() {
		token, ok := tokenOf(&e)
		if !ok {
			return false
		}
		row.Ring = append(row.Ring, token)
	}
	return !in.Bad
}

// extra reads fields that were not declared when they were written. One may be
// now: then it has its place, unless it was written again since.
func (r *reader) extra(document string, row *driver.Row) bool {
	in := bson.ElementsOf(document)
	for e, more := in.Next(); more; e, more = in.Next() {
		value, ok := e.Value()
		if !ok || !utf8.ValidString(e.Name) {
			return false
		}
		r.v.Undeclared(row, &r.sh, unescape(e.Name), value)
	}
	return !in.Bad
}

// others adds fields that other programs have declared.
func (r *reader) others(ctx context.Context, id string, row *driver.Row, others []driver.Pair) error {
	for _, o := range others {
		if o.Value.IsNone() {
			continue
		}
		k, found, err := r.other(ctx, o.Name)
		if err != nil {
			return err
		}
		if !found || k.Kind != o.Value.Kind() {
			return r.v.badRow(id, o.Name)
		}
		frame.SetExtra(row, o.Name, o.Value)
	}
	frame.SortExtra(row.Extra)
	return nil
}

// other returns what the catalog has of a field that the view does not declare. A program
// that declared it since the view was made is asked for once.
func (r *reader) other(ctx context.Context, field string) (frame.Known, bool, error) {
	v := r.v
	return v.Others.Find(field, v.Fields, func() (map[string]frame.Known, error) {
		list := map[string]*entry{v.Name: newEntry()}
		err := r.store.catalog.described(ctx, "read a row of "+v.Name, []string{v.Name}, list)
		return list[v.Name].Fields, err
	})
}
