package mongo

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/polystore/polystore/internal/backend"
	"github.com/polystore/polystore/repo/driver"
)

// A view is a table as one driver.Table sees it, whose ordinals are its own.
type view struct {
	name       string
	collection string
	class      driver.Class
	bare       bool
	ring       int
	parts      []driver.Column // of the partition
	sort       []driver.Column
	fields     []driver.Column

	native *native // the index by which the rows are read

	ordinals map[string]int
	copied   map[string]bool // columns of the key that documents have as fields, too
	extra    []string        // by ordinal: where rows have the field from before it was declared
	late     []bool          // by ordinal: there can be such rows

	others backend.Others
}

// libraryFields are names of a document that no field may have.
var libraryFields = [...]string{"_id", "_rev", "_ring", "_dead", "_expires", "_note", "_extra", "_check"}

func (s *Store) newView(t *driver.Table, e *entry) *view {
	v := &view{
		name:       t.Name,
		collection: s.prefix + t.Name,
		class:      t.Class,
		bare:       t.Bare,
		ring:       max(0, t.Ring),
		parts:      slices.Clone(t.Partition),
		sort:       slices.Clone(t.Sort),
		fields:     slices.Clone(t.Fields),
		ordinals:   map[string]int{},
		copied:     map[string]bool{},
	}
	for i, f := range t.Fields {
		v.ordinals[f.Name] = i
		v.extra = append(v.extra, "_extra."+escape(f.Name))
		v.late = append(v.late, e.fields[f.Name].Later)
	}
	v.others.Set(maps.Clone(e.fields), t.Fields)
	if t.Class == driver.Records {
		for _, c := range slices.Concat(t.Partition, t.Sort) {
			_, field := e.fields[c.Name]
			_, declared := v.ordinals[c.Name]
			v.copied[c.Name] = !field && !declared && possibleName(c.Name)
		}
	}
	return v
}

// view returns what is known of t.
func (s *Store) view(t *driver.Table) (*view, error) {
	v, err := s.views.Known(who, t)
	if err == nil && v.native != nil {
		return nil, invalid("%s is a native index, which is only read in order", t.Name)
	}
	return v, err
}

// Define makes the tables exist. Another program's fields are no obstacle.
func (s *Store) Define(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.Lock()
	defer s.schema.Unlock()
	natives, tables := splitNative(tables)
	have, err := s.fits(ctx, "define", tables)
	if err != nil {
		return err
	}
	lacking := false
	for _, t := range tables {
		e := have[t.Name]
		missing, _ := e.lacks(t)
		if e.header != "" && e.made && len(missing) == 0 {
			continue
		}
		lacking = true
		if err := s.declare(ctx, t, e); err != nil {
			return err
		}
	}
	if lacking {
		if have, err = s.fits(ctx, "define", tables); err != nil {
			return err
		}
	}
	if err := s.know(tables, have, "define"); err != nil {
		return err
	}
	return s.defineNatives(ctx, "define", natives, false)
}

// Attach makes the store know tables that exist.
func (s *Store) Attach(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.Lock()
	defer s.schema.Unlock()
	natives, tables := splitNative(tables)
	have, err := s.fits(ctx, "attach", tables)
	if err == nil {
		err = s.know(tables, have, "attach")
	}
	if err != nil {
		return err
	}
	return s.defineNatives(ctx, "attach", natives, true)
}

// fits reads what the server has of tables, and says what speaks against them.
func (s *Store) fits(ctx context.Context, doing string, tables []*driver.Table) (map[string]*entry, error) {
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
	return have, nil
}

// possible says what this store cannot have in a table.
func (s *Store) possible(t *driver.Table) error {
	if err := who.Possible(t); err != nil {
		return err
	}
	if t.Name == catalogName || s.prefix == "" && strings.HasPrefix(t.Name, "system.") {
		return invalid("table %s: the collection of this name is taken for something else; take another name, or a prefix", t.Name)
	}
	for _, f := range t.Fields {
		if !possibleName(f.Name) {
			return invalid("table %s declares the field %q, which documents cannot have, or have for something else; take another name", t.Name, f.Name)
		}
	}
	return nil
}

// possibleName reports whether documents can have a field of a name at their top.
func possibleName(name string) bool {
	return name != "" && !strings.ContainsAny(name, ".$\x00") && !slices.Contains(libraryFields[:], name)
}

// know makes views of tables, if the server has all of them.
func (s *Store) know(tables []*driver.Table, have map[string]*entry, doing string) error {
	for _, t := range tables {
		e := have[t.Name]
		missing, _ := e.lacks(t)
		switch {
		case e.header == "" || !e.made:
			return who.NoTable(doing, t)
		case len(missing) > 0:
			return who.NoField(doing, t, missing[0].Name)
		}
	}
	s.views.Set(tables, func(t *driver.Table) *view { return s.newView(t, have[t.Name]) })
	return nil
}

// collections reads which collections there are of tables, and how they were made.
func (s *Store) collections(ctx context.Context, doing string, names []string, list map[string]*entry) error {
	w := make(writer, 0, 512)
	w.begin()
	w.int32("listCollections", 1)
	cursor := w.open(typeDocument, "cursor")
	w.close(cursor)
	prefixed := make([]string, len(names))
	for i, name := range names {
		prefixed[i] = s.prefix + name
	}
	w.in("name", prefixed)
	w.close(0)
	b, err := s.documents(ctx, doing, w)
	if err != nil {
		return err
	}
	for e, ok := b.rest.next(); ok; e, ok = b.rest.next() {
		name, odd, ok := readCollection(e.data)
		if found := list[strings.TrimPrefix(name, s.prefix)]; ok && found != nil {
			found.made, found.odd = true, odd
		}
	}
	return nil
}

// readCollection returns the name of a collection, and what makes it one that cannot
// be used.
func readCollection(document string) (name, odd string, ok bool) {
	in := elementsOf(document)
	for e, more := in.next(); more; e, more = in.next() {
		switch e.name {
		case "name":
			name = e.data
		case "type":
			if e.data != "collection" {
				odd = "is a " + e.data
			}
		case "options":
			of := elementsOf(e.data)
			for o, more := of.next(); more; o, more = of.next() {
				switch o.name {
				case "collation":
					odd = "has a collation, by which other keys are the same and in another order"
				case "capped":
					odd = "is capped, so that the server removes records"
				}
			}
		}
	}
	return name, odd, !in.bad && name != ""
}

// Drop removes the tables with all their rows, each by one command.
func (s *Store) Drop(ctx context.Context, tables []*driver.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.schema.Lock()
	defer s.schema.Unlock()
	s.views.Forget(tables)
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
func (s *Store) drop(ctx context.Context, name string) error {
	list := map[string]*entry{name: {fields: map[string]backend.Known{}}}
	if err := s.described(ctx, "drop "+name, []string{name}, list); err != nil {
		return err
	}
	if list[name].header == "" {
		return nil
	}
	w := command("drop", s.prefix+name)
	if err := s.alter(ctx, "drop "+name, w, codeNoNamespace); err != nil {
		return err
	}
	w = command("delete", s.prefix+catalogName)
	all := w.open(typeArray, "deletes")
	at := w.open(typeDocument, "0")
	q := w.open(typeDocument, "q")
	w.text("_id", name)
	w.close(q)
	w.int32("limit", 1)
	w.close(at)
	w.close(all)
	return s.alter(ctx, "drop "+name, w, codeNoNamespace)
}

// other returns what the catalog has of a field that v does not declare. A program
// that declared it since v was made is asked for once.
func (s *Store) other(ctx context.Context, v *view, field string) (backend.Known, bool, error) {
	return v.others.Find(field, v.fields, func() (map[string]backend.Known, error) {
		list := map[string]*entry{v.name: {fields: map[string]backend.Known{}}}
		err := s.described(ctx, "read a row of "+v.name, []string{v.name}, list)
		return list[v.name].fields, err
	})
}
