package mongo

import (
	"context"
	"slices"
	"strings"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// A view is a table as one driver.Table sees it.
type view struct {
	*frame.Table
	collection string
	native     *native         // the index by which the rows are read
	copied     map[string]bool // columns of the key that documents have as fields, too
	extra      []string        // by ordinal: where rows have the field from before it was declared
}

// libraryFields are names of a document that no field may have.
var libraryFields = [...]string{"_id", "_rev", "_ring", "_dead", "_expires", "_note", "_extra", "_check"}

func (s *store) newView(t *driver.Table, e *entry) *view {
	v := &view{Table: frame.NewTable(t, e.Fields), collection: s.prefix + t.Name, copied: map[string]bool{}}
	for _, f := range v.Fields {
		v.extra = append(v.extra, "_extra."+escape(f.Name))
	}
	if t.Class == driver.Records {
		for _, c := range slices.Concat(t.Partition, t.Sort) {
			_, field := e.Fields[c.Name]
			_, declared := v.Ordinals[c.Name]
			v.copied[c.Name] = !field && !declared && possibleName(c.Name)
		}
	}
	return v
}

// A state is what the server has of tables.
type state struct {
	*store
	doing   string
	entries map[string]*entry
}

// Tables reads what the server has of tables, and says what speaks against them.
func (s *store) Tables(ctx context.Context, doing string, tables []*driver.Table) (frame.Tables[view], error) {
	for _, t := range tables {
		if err := s.possible(t); err != nil {
			return nil, err
		}
	}
	have, err := s.entries(ctx, doing, tables)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if _, err := have[t.Name].lacks(t); err != nil {
			return nil, err
		}
	}
	return state{s, doing, have}, nil
}

// Absent says what the server lacks of a table.
func (s state) Absent(t *driver.Table) error {
	e := s.entries[t.Name]
	if !e.made {
		return who.NoTable(s.doing, t)
	}
	missing, _ := e.lacks(t)
	return e.Absent(who, s.doing, t, missing)
}

// Declare adds to the server what it lacks of tables.
func (s state) Declare(ctx context.Context, tables []*driver.Table) error {
	for _, t := range tables {
		if err := s.declare(ctx, t, s.entries[t.Name]); err != nil {
			return err
		}
	}
	return nil
}

// View returns the view of a table.
func (s state) View(t *driver.Table) *view { return s.newView(t, s.entries[t.Name]) }

// possible says what this store cannot have in a table.
func (s *store) possible(t *driver.Table) error {
	if t.Name == catalogName || s.prefix == "" && strings.HasPrefix(t.Name, "system.") {
		return who.Invalid("table %s: the collection of this name is taken for something else; take another name, or a prefix", t.Name)
	}
	for _, f := range t.Fields {
		if !possibleName(f.Name) {
			return who.Invalid("table %s declares the field %q, which documents cannot have, or have for something else; take another name", t.Name, f.Name)
		}
	}
	return nil
}

// possibleName reports whether documents can have a field of a name at their top.
func possibleName(name string) bool {
	return name != "" && !strings.ContainsAny(name, ".$\x00") && !slices.Contains(libraryFields[:], name)
}

// collections reads which collections there are of tables, and how they were made.
func (s *store) collections(ctx context.Context, doing string, names []string, list map[string]*entry) error {
	w := make(bson.Writer, 0, 512)
	w.Begin()
	w.Int32("listCollections", 1)
	w.Empty("cursor")
	prefixed := make([]string, len(names))
	for i, name := range names {
		prefixed[i] = s.prefix + name
	}
	among(&w, "name", prefixed)
	w.Close(0)
	b, err := s.documents(ctx, doing, w)
	if err != nil {
		return err
	}
	for e, ok := b.rest.Next(); ok; e, ok = b.rest.Next() {
		name, odd, ok := readCollection(e.Data)
		if found := list[strings.TrimPrefix(name, s.prefix)]; ok && found != nil {
			found.made, found.odd = true, odd
		}
	}
	return nil
}

// readCollection returns the name of a collection, and what makes it one that cannot
// be used.
func readCollection(document string) (name, odd string, ok bool) {
	in := bson.ElementsOf(document)
	for e, more := in.Next(); more; e, more = in.Next() {
		switch e.Name {
		case "name":
			name = e.Data
		case "type":
			if e.Data != "collection" {
				odd = "is a " + e.Data
			}
		case "options":
			of := bson.ElementsOf(e.Data)
			for o, more := of.Next(); more; o, more = of.Next() {
				switch o.Name {
				case "collation":
					odd = "has a collation, by which other keys are the same and in another order"
				case "capped":
					odd = "is capped, so that the server removes records"
				}
			}
		}
	}
	return name, odd, !in.Bad && name != ""
}

// Drop removes the tables with all their rows, each by one command.
func (s *store) Drop(ctx context.Context, tables []*driver.Table) error {
	for _, t := range tables {
		drop := func() error { return s.drop(ctx, t.Name) }
		if t.Native {
			drop = func() error { return s.dropNative(ctx, t) }
		}
		if err := drop(); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a collection, and then what the catalog says of it. One that another
// program made stays.
func (s *store) drop(ctx context.Context, name string) error {
	list := map[string]*entry{name: newEntry()}
	if err := s.described(ctx, "drop "+name, []string{name}, list); err != nil {
		return err
	}
	if list[name].Header == "" {
		return nil
	}
	w := command("drop", s.prefix+name)
	if err := s.alter(ctx, "drop "+name, w, codeNoNamespace); err != nil {
		return err
	}
	w = command("delete", s.prefix+catalogName)
	all := w.Open(bson.Array, "deletes")
	at := w.Open(bson.Document, "0")
	w.TextIn("q", "_id", name)
	w.Int32("limit", 1)
	w.Close(at)
	w.Close(all)
	return s.alter(ctx, "drop "+name, w, codeNoNamespace)
}

// other returns what the catalog has of a field that v does not declare. A program
// that declared it since v was made is asked for once.
func (s *store) other(ctx context.Context, v *view, field string) (frame.Known, bool, error) {
	return v.Others.Find(field, v.Fields, func() (map[string]frame.Known, error) {
		list := map[string]*entry{v.Name: newEntry()}
		err := s.described(ctx, "read a row of "+v.Name, []string{v.Name}, list)
		return list[v.Name].Fields, err
	})
}
