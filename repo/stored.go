package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
	return schemaFrom(e.schema()), nil
}

// Collections returns the names of the collections in a store, in order: those that any
// program has made, also those that were not made or dropped to the end. Of a catalog that
// cannot be read whole it returns the others, and an error. Nothing in the store is changed.
func Collections(ctx context.Context, store *Store) ([]string, error) {
	if err := given(ctx, store); err != nil {
		return nil, &Error{Op: "collections", Err: err}
	}
	names, err := collections(ctx, store)
	if err != nil {
		return names, &Error{Op: "collections", Err: err}
	}
	return names, nil
}

func collections(ctx context.Context, store *Store) ([]string, error) {
	var names []string
	var faults error
	err := store.eachEntry(ctx, func(row *driver.Row) {
		var e struct{ Collection, Upkeep string }
		if len(row.Fields) == 0 || json.Unmarshal([]byte(row.Fields[0].Str()), &e) != nil || e.Collection+e.Upkeep == "" {
			faults = errors.Join(faults, fmt.Errorf("a catalog entry cannot be read: %w", ErrCorrupt))
		} else if e.Upkeep == "" {
			names = append(names, e.Collection)
		}
	})
	if _, some := errors.AsType[driver.Unread](err); err != nil && !some {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(err, faults)
}

// eachEntry calls do for each row of the catalog, if there is one. Rows that cannot be read
// keep it from no other, and are its error.
func (s *Store) eachEntry(ctx context.Context, do func(row *driver.Row)) error {
	if err := s.driver.Attach(ctx, []*driver.Table{s.cat}); err != nil {
		if errors.Is(err, ErrSchema) { // there is no catalog yet
			return nil
		}
		return err
	}
	var unread driver.Unread
	for chunk, err := range s.driver.Walk(ctx, s.cat, "") {
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

var errNoCollection = fmt.Errorf("the store has no such collection: %w", ErrNotFound)

// schema returns the entry as a Schema for records that are maps.
func (e *catalogEntry) schema() schemaDef {
	s := schemaDef{Collection: e.Collection, Fields: map[string]string{}}
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
			kind += elementsOf + of
		}
		s.Fields[name] = kind
	}
	for i := range e.Indexes {
		s.Indexes = append(s.Indexes, e.Indexes[i].indexDef)
	}
	return s
}
