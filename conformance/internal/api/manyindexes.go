package api

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// mostIndexes is how many indexes package repo lets a collection have.
const mostIndexes = 63

// manyField returns the field of one of the many indexes.
func manyField(i int) string { return fmt.Sprintf("f%02d", i) }

func manyIndexesSchema() repo.Schema {
	schema := repo.Schema{Partition: []string{"scope"}, Sort: []string{"id"}, Fields: map[string]string{"scope": "string", "id": "string"}}
	for i := range mostIndexes {
		schema.Fields[manyField(i)] = "string"
		schema.Indexes = append(schema.Indexes, repo.Index{Partition: []string{"scope"}, Sort: []string{manyField(i)}})
	}
	return schema
}

// manyIndexes writes, changes and deletes a record that has a row in each of the indexes.
func manyIndexes(ctx context.Context, e *env) {
	things, err := openAs[thing](ctx, e, e.FreshName(), manyIndexesSchema())
	e.OK("open with 63 indexes", err)
	of := func(value string) thing {
		it := thing{"scope": e.name("s"), "id": "a"}
		for i := range mostIndexes {
			it[manyField(i)] = value
		}
		return it
	}
	by := func(value string) []string {
		var found []string
		for i := range mostIndexes {
			q := repo.Where("scope", e.name("s")).Where(manyField(i), value)
			for range collect(e, "find", things.Find(ctx, q)) {
				found = append(found, manyField(i))
			}
		}
		return found
	}
	every := make([]string, mostIndexes)
	for i := range every {
		every[i] = manyField(i)
	}
	first, second := of("first"), of("second")
	e.OK("insert", things.Insert(ctx, &first))
	rule.Equal(e, "the indexes that find the record", by("first"), every)
	e.OK("put of other values", things.Put(ctx, &second))
	rule.Equal(e, "the indexes that find it by the old values", by("first"), nil)
	rule.Equal(e, "the indexes that find it by the new ones", by("second"), every)
	clean(ctx, e, things)
	e.OK("delete", things.Delete(ctx, repo.Key{e.name("s"), "a"}))
	rule.Equal(e, "the indexes that find it deleted", by("second"), nil)
	clean(ctx, e, things)
}
