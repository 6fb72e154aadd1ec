package frame

import (
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// A Header is what a catalog says of the key of a table, and of how its rows are written, in JSON.
type Header struct {
	Layout        int      `json:"layout,omitempty"` // where the catalog has no better place for it
	Partition     []Column `json:"partition"`
	Sort          []Column `json:"sort,omitempty"`
	KeyOnly       bool     `json:"bare,omitempty"`   // without a value: the two kinds must not meet
	Unconditional bool     `json:"plain,omitempty"`  // without conditions, likewise
	Native        bool     `json:"native,omitempty"` // no rows: indexes of the server
	Of            string   `json:"of,omitempty"`     // the collection, if the table lies with those of another one
}

// NewHeader returns the header of a table by its key alone.
func NewHeader(layout int, t *driver.Table) Header {
	return Header{Layout: layout, Partition: Columns(t.Partition), Sort: Columns(t.Sort)}
}

// ParseHeader reads what String returned.
func ParseHeader(text string) (h Header, ok bool) {
	return h, json.Unmarshal([]byte(text), &h) == nil
}

// String returns the text of a header. Those of equal ones are equal.
func (h Header) String() string {
	text, err := json.Marshal(h)
	if err != nil {
		return "" // strings and numbers are always JSON
	}
	return string(text)
}

// A Known is a field that a catalog has.
type Known struct {
	Kind  driver.Kind
	Later bool // the table was there before it: rows may have it from before it was declared
}

const later = " later"

// String returns the text of the field in a catalog.
func (k Known) String() string {
	if k.Later {
		return k.Kind.String() + later
	}
	return k.Kind.String()
}

// ParseKnown reads what String returned.
func ParseKnown(text string) (Known, bool) {
	name, late := strings.CutSuffix(text, later)
	kind, ok := KindOf(name)
	return Known{kind, late}, ok
}

// An Entry is what a catalog says of a table. Without a header it says nothing.
type Entry struct {
	Header string
	Layout int
	Fields map[string]Known
}

// NewEntry returns one that says nothing.
func NewEntry() Entry { return Entry{Fields: map[string]Known{}} }

// Missing returns which fields of t an entry does not have, and what speaks against t beside what it has: another
// key than that of header, a layout that this program does not know, or a field of another kind.
func (e *Entry) Missing(n Name, t *driver.Table, header string, layout int) (missing []driver.Column, err error) {
	switch {
	case e.Header == "":
		return t.Fields, nil
	case e.Layout > layout:
		return nil, n.Later(t, e.Layout, layout)
	case e.Header != header:
		return nil, n.Wrap(OtherKey(t))
	}
	for _, f := range t.Fields {
		known, ok := e.Fields[f.Name]
		switch {
		case !ok:
			missing = append(missing, f)
		case known.Kind != f.Kind:
			return nil, n.Wrap(OtherKind(t, f, known.Kind.String()))
		}
	}
	return missing, nil
}

// Absent is what of t is not there, if an entry lacks fields of it: see [Tables].
func (e *Entry) Absent(n Name, doing string, t *driver.Table, missing []driver.Column) error {
	switch {
	case e.Header == "":
		return n.NoTable(doing, t)
	case len(missing) > 0:
		return n.NoField(doing, t, missing[0].Name)
	}
	return nil
}

// Later is the error of a table whose layout a later release has written.
func (n Name) Later(t *driver.Table, layout, know int) error {
	return n.Schema("table %s has layout %d, this program knows %d; open it with a later release", t.Name, layout, know)
}

// Earlier is the error of a table of a layout that is read no more.
func (n Name) Earlier(t *driver.Table, layout, know int) error {
	return n.Schema("table %s has layout %d, this program knows %d; open it with the release that wrote it and copy the records", t.Name, layout, know)
}

// NoTable is the error of a table that is not there.
func (n Name) NoTable(doing string, t *driver.Table) error {
	return n.Schema("%s %s: there is no such table; define it first", doing, t.Name)
}

// NoField is the error of a table that lacks a field.
func (n Name) NoField(doing string, t *driver.Table, field string) error {
	return n.Schema("%s %s: there is no field %s; define the table first", doing, t.Name, field)
}

// Others are the fields of a table that other programs have declared. The zero Others
// are none.
type Others struct {
	fields atomic.Pointer[map[string]Known] // replaced as a whole
}

// Of returns a field, if it is one of the others.
func (o *Others) Of(field string) (Known, bool) {
	have := o.fields.Load()
	if have == nil {
		return Known{}, false
	}
	k, ok := (*have)[field]
	return k, ok
}

// Set makes the others those of fields that t does not declare. It keeps fields.
func (o *Others) Set(fields map[string]Known, t []driver.Column) {
	for _, f := range t {
		delete(fields, f.Name)
	}
	o.fields.Store(&fields)
}

// Find returns a field that t does not declare. For one that it does not know it asks,
// once, for what the catalog has by now.
func (o *Others) Find(field string, t []driver.Column, ask func() (map[string]Known, error)) (k Known, found bool, err error) {
	if k, found = o.Of(field); found {
		return k, true, nil
	}
	now, err := ask()
	if err != nil {
		return Known{}, false, err
	}
	if k, found = now[field]; found {
		o.Set(now, t)
	}
	return k, found, nil
}
