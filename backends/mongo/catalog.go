package mongo

import (
	"context"
	"slices"
	"strconv"
	"strings"

	mongobson "go.mongodb.org/mongo-driver/v2/bson"

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

// A catalog is that collection, and what the server has of others.
type catalog struct {
	conn   *conn
	prefix string // of the names of collections
}

// An entry is a table as the catalog has it. Made says that its collection is there, and
// odd why that cannot be used.
type entry struct {
	frame.Entry
	made bool
	odd  string
}

func newEntry() *entry { return &entry{Entry: frame.NewEntry()} }

// entries reads what the server has of tables, by name.
func (c *catalog) entries(ctx context.Context, doing string, tables []*driver.Table) (map[string]*entry, error) {
	list := map[string]*entry{}
	var names []string
	for _, t := range tables {
		if list[t.Name] == nil {
			list[t.Name] = newEntry()
			names = append(names, t.Name)
		}
	}
	for part := range slices.Chunk(names, 100) { // what one answer has room for
		if err := c.collections(ctx, doing, part, list); err != nil {
			return nil, err
		}
		if err := c.described(ctx, doing, part, list); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// collections reads which collections there are of tables, and how they were made.
func (c *catalog) collections(ctx context.Context, doing string, names []string, list map[string]*entry) error {
	w := order("listCollections")
	w.Empty("cursor")
	prefixed := make([]string, len(names))
	for i, name := range names {
		prefixed[i] = c.prefix + name
	}
	among(&w, "name", prefixed)
	b, err := c.conn.documents(ctx, doing, w.End())
	if err != nil {
		return err
	}
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		name, odd, ok := readCollection(e.Data)
		if found := list[strings.TrimPrefix(name, c.prefix)]; ok && found != nil {
			found.made, found.odd = true, odd
		}
	}
	return nil
}

// readCollection returns the name of a collection, and what makes it one that cannot
// be used.
func readCollection(document string) (name, odd string, ok bool) {
	var has struct {
		Name, Type string
		Options    struct{ Collation, Capped mongobson.RawValue }
	}
	err := mongobson.Unmarshal([]byte(document), &has)
	switch {
	case !has.Options.Capped.IsZero():
		odd = "is capped, so that the server removes records"
	case !has.Options.Collation.IsZero():
		odd = "has a collation, by which other keys are the same and in another order"
	case has.Type != "collection":
		odd = "is a " + has.Type
	}
	return has.Name, odd, err == nil && has.Name != ""
}

// described reads the documents of the catalog that there are of tables.
func (c *catalog) described(ctx context.Context, doing string, names []string, list map[string]*entry) error {
	w := command("find", c.prefix+catalogName)
	among(&w, "_id", names)
	b, err := c.conn.documents(ctx, doing, c.conn.acknowledged(&w))
	if err != nil {
		return err
	}
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		if name, ok := readEntry(e.Data, list); !ok {
			return who.Corrupt("%s: the document %.200q of the collection %s%s does not describe a table", doing, name, c.prefix, catalogName)
		}
	}
	return nil
}

// among appends the filter of documents that have one of some values.
func among(w *bson.Writer, field string, values []string) {
	filter := w.OpenList("filter", field, "$in")
	for i, v := range values {
		w.Text(strconv.Itoa(i), v)
	}
	w.Close(filter)
}

// readEntry reads a document of the catalog into the entry of its table.
func readEntry(document string, list map[string]*entry) (name string, ok bool) {
	var has struct {
		Name   string `bson:"_id"`
		Layout int
		Key    string
		Fields map[string]string
	}
	err := mongobson.Unmarshal([]byte(document), &has)
	e := list[has.Name]
	if err != nil || e == nil || has.Fields == nil {
		return has.Name, false
	}
	e.Header, e.Layout = has.Key, has.Layout
	for field, text := range has.Fields {
		if e.Fields[field], ok = frame.ParseKnown(text); !ok {
			return has.Name, false
		}
	}
	return has.Name, e.Header != "" && e.Layout > 0
}

func headerOf(t *driver.Table) string { return frame.NewHeader(0, t).String() }

// lacks returns which fields of t an entry does not have, and what speaks against t
// beside what it has.
func (e *entry) lacks(t *driver.Table) (missing []driver.Column, err error) {
	switch {
	case e.Header != "" && e.Layout <= layout && e.Header != headerOf(t):
		return nil, who.Wrap(frame.OtherKey(t))
	case e.made && e.odd != "":
		return nil, who.Schema("table %s: its collection %s; use another database or prefix, or remove it", t.Name, e.odd)
	case e.made && e.Header == "":
		return nil, who.Schema("table %s: there is a collection of this name, and another program made it; use another database or prefix, or remove it", t.Name)
	}
	return e.Missing(who, t, headerOf(t), layout)
}

// describe writes the document of a table, and reports whether it was not there.
func (c *catalog) describe(ctx context.Context, t *driver.Table) (bool, error) {
	w := command("insert", c.prefix+catalogName)
	w.OpenList("documents")
	w.Open("0")
	w.Text("_id", t.Name)
	w.Int32("layout", layout)
	w.Text("key", headerOf(t))
	w.Open("fields")
	for _, f := range t.Fields {
		w.Text(f.Name, f.Kind.String())
	}
	_, err := c.conn.run(ctx, c.conn.db, durable(&w))
	if codeOf(err) == codeDuplicateKey {
		return false, nil
	}
	return true, c.conn.failed(ctx, "define "+t.Name, err)
}

// addFields adds fields to the document of a table, each if it is not there.
func (c *catalog) addFields(ctx context.Context, t *driver.Table, fields []driver.Column) error {
	w := command("update", c.prefix+catalogName)
	w.OpenList("updates")
	for i, f := range fields {
		at := w.Open(strconv.Itoa(i))
		q := w.Open("q")
		w.Text("_id", t.Name)
		w.BoolIn("fields."+f.Name, "$exists", false)
		w.Close(q)
		w.Open("u", "$set")
		w.Text("fields."+f.Name, frame.Known{Kind: f.Kind, Later: true}.String())
		w.Close(at)
	}
	_, err := c.conn.run(ctx, c.conn.db, durable(&w))
	return c.conn.failed(ctx, "define "+t.Name, err)
}
