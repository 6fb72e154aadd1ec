package mongo

import (
	"context"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
)

// size asks for the statistics of a collection.
func (s *store) size(ctx context.Context, v *view) (int64, error) {
	w := command("aggregate", v.collection)
	w.Empty("cursor")
	w.OpenList("pipeline")
	w.Open("0", "$collStats", "storageStats")
	b, err := s.conn.documents(ctx, "size of "+v.Name, w.End())
	if err != nil {
		return 0, err
	}
	e, _ := b.rest.Next()
	stats := bson.Find(e.Data, "storageStats").Data
	if v.native != nil {
		n, ok := bson.Find(bson.Find(stats, "indexSizes").Data, v.native.table.Name).Number()
		if !ok {
			err = who.Schema("the collection %s has lost the index %s; make it again with Rebuild", v.collection, v.native.table.Name)
		}
		return n, err
	}
	documents, ok1 := bson.Find(stats, "size").Number()
	index, ok2 := bson.Find(bson.Find(stats, "indexSizes").Data, "_id_").Number()
	if !ok1 || !ok2 {
		return 0, who.Corrupt("size of %s: %s: the answer has no sizes", v.Name, s.conn.addr)
	}
	return documents + index, nil
}
