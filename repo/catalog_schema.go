package repo

import (
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

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

func schemaOf(ctx context.Context, store *Store, k *call, collection string) (Schema, error) {
	cat := store.cat
	err := store.driver.Attach(ctx, []*driver.Table{cat})
	if errors.Is(err, driver.ErrSchema) { // there is no catalog yet
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

var errNoCollection = fmt.Errorf("the store has no such collection: %w", driver.ErrNotFound)
