package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/store"
)

// schema returns the entry as a Schema for records that are maps.
func (e *Entry) schema() layout.Schema {
	s := layout.Schema{Collection: e.Collection, With: e.With, Fields: map[string]string{}}
	for _, col := range e.Partition {
		s.Partition = append(s.Partition, col.Name)
		s.Fields[col.Name] = col.Kind
	}
	for _, col := range e.Sort {
		name := col.Name
		if col.Desc {
			name = "-" + name
		}
		s.Sort = append(s.Sort, name)
		s.Fields[col.Name] = col.Kind
	}
	for name, kind := range e.Fields {
		if of := e.Elements[name]; of != "" && of != driver.String.String() {
			kind += layout.ElementsOf + of
		}
		s.Fields[name] = kind
	}
	for name, kind := range e.Parts {
		s.Fields[name] = kind
	}
	for i := range e.Indexes {
		if _, there := e.Indexes[i].stage(); !there {
			continue
		}
		s.Indexes = append(s.Indexes, e.Indexes[i].IndexSchema)
	}
	return s
}

// SchemaOf returns the schema of a collection as the catalog has it.
func SchemaOf(ctx context.Context, store *store.Handle, k *store.Call, collection string) (layout.Schema, error) {
	e, err := known(ctx, store, k, collection)
	if err != nil {
		return layout.Schema{}, err
	}
	return e.schema(), nil
}

// known returns the entry of a collection without making a catalog.
func known(ctx context.Context, store *store.Handle, k *store.Call, collection string) (*Entry, error) {
	cat := store.Cat
	err := store.Driver.Attach(ctx, []*driver.Table{cat})
	if errors.Is(err, driver.ErrSchema) { // there is no catalog yet
		return nil, ErrNoCollection
	}
	if err != nil {
		return nil, err
	}
	e, err := ReadCatalog(ctx, store, k, cat, collection)
	if err == nil && e == nil {
		err = ErrNoCollection
	}
	return e, err
}

// An IndexOf is an index of the catalog, or one that could not be built.
type IndexOf struct {
	IndexEntry
	Refused string
}

// IndexesOf returns the indexes of a collection, and those that could not be built, each in the order of their names.
func IndexesOf(ctx context.Context, store *store.Handle, k *store.Call, collection string) (list []IndexOf, err error) {
	e, err := known(ctx, store, k, collection)
	if err != nil {
		return nil, err
	}
	for _, x := range e.Indexes {
		list = append(list, IndexOf{IndexEntry: x})
	}
	for name, why := range e.Refused {
		text := why.Text
		if store.Opts.Redact {
			text = why.Redacted
		}
		list = append(list, IndexOf{IndexEntry{IndexSchema: layout.IndexSchema{Name: name}}, text})
	}
	slices.SortFunc(list, func(a, b IndexOf) int {
		return cmp.Or(cmp.Compare(min(len(a.Refused), 1), min(len(b.Refused), 1)), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

// ErrNoCollection says that the catalog has no entry of the name.
var ErrNoCollection = fmt.Errorf("the store has no such collection: %w", driver.ErrNotFound)

// JoinedBy returns the names of the collections that lie with one, in order.
func JoinedBy(ctx context.Context, s *store.Handle, collection string) ([]string, error) {
	var names []string
	err := EachEntry(ctx, s, func(row *driver.Row) {
		var e struct{ Collection, With string }
		if len(row.Fields) > 0 && json.Unmarshal([]byte(row.Fields[0].Str()), &e) == nil && e.With == collection {
			names = append(names, e.Collection)
		}
	})
	slices.Sort(names)
	return names, err
}

// EachEntry calls do for each row of the catalog, if there is one. Rows that cannot be read
// keep it from no other, and are its error.
func EachEntry(ctx context.Context, s *store.Handle, do func(row *driver.Row)) error {
	if err := s.Driver.Attach(ctx, []*driver.Table{s.Cat}); err != nil {
		if errors.Is(err, driver.ErrSchema) { // there is no catalog yet
			return nil
		}
		return err
	}
	var unread driver.Unread
	for chunk, err := range s.Driver.Walk(ctx, s.Cat, "") {
		bad, some := errors.AsType[driver.Unread](err)
		if err != nil && !some {
			return err
		}
		unread = append(unread, bad...)
		for i := range chunk.Rows {
			do(&chunk.Rows[i])
		}
	}
	return unread.Err()
}
