package mongo

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// The collection _tables has a document for each table: its name as _id, the layout
// number, the key columns as JSON, and in fields the kind of each field: its name, and
// " later" if the table was there before the field. Each is as its first writer made
// it, so that programs which define a table at once agree.
const (
	catalogName = "_tables"
	layout      = 1
)

// An entry is a table as the catalog has it. Made says that its collection is there, and
// odd why that cannot be used.
type entry struct {
	frame.Entry
	made bool
	odd  string
}

func newEntry() *entry { return &entry{Entry: frame.NewEntry()} }

// entries reads what the server has of tables, by name.
func (s *store) entries(ctx context.Context, doing string, tables []*driver.Table) (map[string]*entry, error) {
	list := map[string]*entry{}
	var names []string
	for _, t := range tables {
		if list[t.Name] == nil {
			list[t.Name] = newEntry()
			names = append(names, t.Name)
		}
	}
	for part := range slices.Chunk(names, 100) { // what one answer has room for
		if err := s.collections(ctx, doing, part, list); err != nil {
			return nil, err
		}
		if err := s.described(ctx, doing, part, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// described reads the documents of the catalog that there are of tables.
func (s *store) described(ctx context.Context, doing string, names []string, list map[string]*entry) error {
	w := command("find", s.prefix+catalogName)
	among(&w, "_id", names)
	s.acknowledged(&w)
	b, err := s.documents(ctx, doing, w)
	if err != nil {
		return err
	}
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		if name, ok := readEntry(e.Data, list); !ok {
			return who.Corrupt("%s: the document %.200q of the collection %s%s does not describe a table", doing, name, s.prefix, catalogName)
		}
	}
	return nil
}

// among appends the filter of documents that have one of some values.
func among(w *bson.Writer, field string, values []string) {
	filter := w.Open(bson.Document, "filter")
	of := w.Open(bson.Document, field)
	in := w.Open(bson.Array, "$in")
	for i, v := range values {
		w.Text(strconv.Itoa(i), v)
	}
	w.Close(in)
	w.Close(of)
	w.Close(filter)
}

func readEntry(document string, list map[string]*entry) (name string, ok bool) {
	var found *entry
	in := bson.ElementsOf(document)
	for e, ok := in.Next(); ok; e, ok = in.Next() {
		if e.Name == "_id" {
			name, found = e.Data, list[e.Data]
		}
		if found == nil {
			return name, false
		}
		switch e.Name {
		case "layout":
			n, _ := e.Number()
			found.Layout = int(n)
		case "key":
			found.Header = e.Data
		case "fields":
			if e.Kind != bson.Document || !readKinds(e.Data, found) {
				return name, false
			}
		}
	}
	return name, found != nil && !in.Bad && found.Header != "" && found.Layout > 0
}

func readKinds(document string, to *entry) bool {
	in := bson.ElementsOf(document)
	for e, ok := in.Next(); ok; e, ok = in.Next() {
		field, ok := frame.ParseKnown(e.Data)
		if !ok || e.Kind != bson.String {
			return false
		}
		to.Fields[e.Name] = field
	}
	return !in.Bad
}

// lacks returns which fields of t an entry does not have, and what speaks against t
// beside what it has.
func (e *entry) lacks(t *driver.Table) (missing []driver.Column, err error) {
	switch {
	case e.Header != "" && e.Layout <= layout && e.Header != frame.HeaderOf(0, t):
		return nil, who.Wrap(frame.OtherKey(t))
	case e.made && e.odd != "":
		return nil, who.Schema("table %s: its collection %s; use another database or prefix, or remove it", t.Name, e.odd)
	case e.made && e.Header == "":
		return nil, who.Schema("table %s: there is a collection of this name, and another program made it; use another database or prefix, or remove it", t.Name)
	}
	return e.Missing(who, t, frame.HeaderOf(0, t), layout)
}

// declare adds to the server what it lacks of a table: to the catalog first, so that a
// collection of which it says nothing is another program's. Where another program is
// first, its word stands.
func (s *store) declare(ctx context.Context, t *driver.Table, e *entry) error {
	missing, err := e.lacks(t)
	if err != nil {
		return err
	}
	if e.Header == "" {
		created, err := s.describe(ctx, t)
		if err != nil {
			return err
		}
		if created {
			missing = nil
		}
	}
	if len(missing) > 0 {
		if err := s.addFields(ctx, t, missing); err != nil {
			return err
		}
	}
	if e.made {
		return nil
	}
	w := command("create", s.prefix+t.Name)
	return s.alter(ctx, "define "+t.Name, w, codeNamespaceExists)
}

// describe writes the document of a table, and reports whether it was not there.
func (s *store) describe(ctx context.Context, t *driver.Table) (bool, error) {
	w := command("insert", s.prefix+catalogName)
	all := w.Open(bson.Array, "documents")
	at := w.Open(bson.Document, "0")
	w.Text("_id", t.Name)
	w.Int32("layout", layout)
	w.Text("key", frame.HeaderOf(0, t))
	fields := w.Open(bson.Document, "fields")
	for _, f := range t.Fields {
		w.Text(f.Name, f.Kind.String())
	}
	w.Close(fields)
	w.Close(at)
	w.Close(all)
	durable(&w)
	_, err := s.run(ctx, s.db, w)
	if codeOf(err) == codeDuplicateKey {
		return false, nil
	}
	return true, s.failed(ctx, "define "+t.Name, err)
}

// addFields adds fields to the document of a table, each if it is not there.
func (s *store) addFields(ctx context.Context, t *driver.Table, fields []driver.Column) error {
	w := command("update", s.prefix+catalogName)
	all := w.Open(bson.Array, "updates")
	for i, f := range fields {
		at := w.Open(bson.Document, strconv.Itoa(i))
		q := w.Open(bson.Document, "q")
		w.Text("_id", t.Name)
		w.BoolIn("fields."+f.Name, "$exists", false)
		w.Close(q)
		u := w.Open(bson.Document, "u")
		w.TextIn("$set", "fields."+f.Name, frame.Known{Kind: f.Kind, Later: true}.String())
		w.Close(u)
		w.Close(at)
	}
	w.Close(all)
	durable(&w)
	_, err := s.run(ctx, s.db, w)
	return s.failed(ctx, "define "+t.Name, err)
}

// alter sends a command that may be done already, which the server says with a code.
// One that waits for another program, which does the same, is sent again.
func (s *store) alter(ctx context.Context, doing string, w bson.Writer, done int) error {
	durable(&w)
	for attempt := 0; ; attempt++ {
		_, err := s.run(ctx, s.db, w)
		if err == nil || codeOf(err) == done {
			return nil
		}
		if codeOf(err) != codeWriteConflict || attempt == 10 {
			return s.failed(ctx, doing, err)
		}
		if err := who.Sleep(ctx, time.Duration(attempt+1)*5*time.Millisecond); err != nil {
			return err
		}
	}
}
