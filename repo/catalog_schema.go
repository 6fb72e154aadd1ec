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

func schemaOf(ctx context.Context, store *handle, k *call, collection string) (schemaDef, error) {
	cat := store.cat
	err := store.driver.Attach(ctx, []*driver.Table{cat})
	if errors.Is(err, driver.ErrSchema) { // there is no catalog yet
		return schemaDef{}, errNoCollection
	}
	if err != nil {
		return schemaDef{}, err
	}
	e, err := readCatalog(ctx, store, k, cat, collection)
	switch {
	case err != nil:
		return schemaDef{}, err
	case e == nil:
		return schemaDef{}, errNoCollection
	}
	return e.schema(), nil
}

var errNoCollection = fmt.Errorf("the store has no such collection: %w", driver.ErrNotFound)

// eachEntry calls do for each row of the catalog, if there is one. Rows that cannot be read
// keep it from no other, and are its error.
func eachEntry(ctx context.Context, s *handle, do func(row *driver.Row)) error {
	if err := s.driver.Attach(ctx, []*driver.Table{s.cat}); err != nil {
		if errors.Is(err, driver.ErrSchema) { // there is no catalog yet
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
