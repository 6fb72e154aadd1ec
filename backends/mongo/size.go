package mongo

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// Size returns the bytes of the documents of a table, before they are compressed, and
// of their index.
func (s *Store) Size(ctx context.Context, t *driver.Table) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	v, err := s.ranged(&driver.Span{Table: t})
	if err != nil {
		return 0, err
	}
	w := command("aggregate", v.collection)
	cursor := w.open(typeDocument, "cursor")
	w.close(cursor)
	pipeline := w.open(typeArray, "pipeline")
	stage := w.open(typeDocument, "0")
	stats := w.open(typeDocument, "$collStats")
	storage := w.open(typeDocument, "storageStats")
	w.close(storage)
	w.close(stats)
	w.close(stage)
	w.close(pipeline)
	w.close(0)
	b, err := s.documents(ctx, "size of "+v.name, w)
	if err != nil {
		return 0, err
	}
	e, _ := b.rest.next()
	in := elementsOf(e.data)
	for e, ok := in.next(); ok; e, ok = in.next() {
		if e.name == "storageStats" {
			return s.sizeIn(v, e.data)
		}
	}
	return 0, corrupt("size of %s: %s: the answer has no statistics", v.name, s.addr)
}

// numberIn returns the number that a field of a document has.
func numberIn(document, name string) (int64, bool) {
	in := elementsOf(document)
	for e, ok := in.next(); ok; e, ok = in.next() {
		if e.name == name {
			return e.number()
		}
	}
	return 0, false
}

func (s *Store) sizeIn(v *view, stats string) (total int64, err error) {
	found := 0
	in := elementsOf(stats)
	for e, ok := in.next(); ok; e, ok = in.next() {
		switch {
		case v.native != nil && e.name == "indexSizes":
			n, ok := numberIn(e.data, v.native.table.Name)
			if !ok {
				return 0, schema("the collection %s has lost the index %s; make it again with Rebuild", v.collection, v.native.table.Name)
			}
			return n, nil
		case v.native == nil && e.name == "size":
			n, _ := e.number()
			total, found = total+n, found+1
		case v.native == nil && e.name == "indexSizes":
			n, ok := numberIn(e.data, "_id_")
			if ok {
				total, found = total+n, found+1
			}
		}
	}
	if found < 2 {
		return 0, corrupt("size of %s: %s: the answer has no sizes", v.name, s.addr)
	}
	return total, nil
}
