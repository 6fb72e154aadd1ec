package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// SchemaOf returns the schema of a collection as the store remembers it, for
// programs that know its name only: records are opened with it as map[string]any.
// Fields are all that any program has declared. A collection that is not there is
// ErrNotFound. Nothing in the store is changed.
func SchemaOf(ctx context.Context, store *Store, collection string) (Schema, error) {
	if err := given(ctx, store); err != nil {
		return Schema{}, &Error{Op: "schema of", Collection: collection, Err: err}
	}
	k := store.begin("schema of")
	s, err := schemaOf(ctx, store, &k, collection)
	if err != nil {
		return Schema{}, &Error{Op: "schema of", Collection: collection, Err: store.redact(err)}
	}
	return s, nil
}

func schemaOf(ctx context.Context, store *Store, k *call, collection string) (Schema, error) {
	cat := store.cat
	err := store.driver.Attach(ctx, []*driver.Table{cat})
	if errors.Is(err, ErrSchema) { // there is no catalog yet
		return Schema{}, errNoCollection
	}
	if err != nil {
		return Schema{}, err
	}
	e, err := store.readCatalog(ctx, k, cat, collection)
	switch {
	case err != nil:
		return Schema{}, err
	case e == nil:
		return Schema{}, errNoCollection
	}
	return e.schema(), nil
}

var errNoCollection = fmt.Errorf("the store has no such collection: %w", ErrNotFound)

// schema returns the entry as a Schema for records that are maps.
func (e *catalogEntry) schema() Schema {
	s := Schema{Collection: e.Collection, Fields: map[string]string{}}
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
		if of := e.Elements[name]; of != "" {
			kind += elementsOf + of
		}
		s.Fields[name] = kind
	}
	for i := range e.Indexes {
		s.Indexes = append(s.Indexes, e.Indexes[i].Index)
	}
	return s
}
