package mongo

import "context"

// size asks for the statistics of a collection.
func (s *store) size(ctx context.Context, v *view) (int64, error) {
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
	b, err := s.documents(ctx, "size of "+v.Name, w)
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
	return 0, who.Corrupt("size of %s: %s: the answer has no statistics", v.Name, s.addr)
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

func (s *store) sizeIn(v *view, stats string) (total int64, err error) {
	found := 0
	in := elementsOf(stats)
	for e, ok := in.next(); ok; e, ok = in.next() {
		switch {
		case v.native != nil && e.name == "indexSizes":
			n, ok := numberIn(e.data, v.native.table.Name)
			if !ok {
				return 0, who.Schema("the collection %s has lost the index %s; make it again with Rebuild", v.collection, v.native.table.Name)
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
		return 0, who.Corrupt("size of %s: %s: the answer has no sizes", v.Name, s.addr)
	}
	return total, nil
}
