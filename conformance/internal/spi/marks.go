package spi

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

// lastMark walks from the last mark of a table in which nothing comes after it: because all
// chunks are full, and because what came after it was deleted.
func lastMark(ctx context.Context, e *env) {
	t, _ := walkTable(ctx, e, 600) // tells how many rows a chunk has
	_, chunks := walkFrom(ctx, e, t, "")
	full := len(rule.At(e, "the chunks", chunks, 0).Rows)
	exact, want := walkTable(ctx, e, 2*full)
	_, chunks = walkFrom(ctx, e, exact, "")
	eachMark(ctx, e, "full chunks only", exact, chunks, want)
	var gone []driver.Op
	for _, chunk := range chunks[1:] {
		for i := range chunk.Rows {
			gone = append(gone, driver.Op{Do: driver.Delete, Table: exact, Row: driver.Row{Key: chunk.Rows[i].Key}})
		}
	}
	commitParts(ctx, e, gone)
	want, _ = walkFrom(ctx, e, exact, "")
	eachMark(ctx, e, "nothing after the last mark", exact, chunks[:1], slices.Compact(want))
}

// marksOfDeleted deletes the rows of the first chunk, and goes on after them.
func marksOfDeleted(ctx context.Context, e *env) {
	t, all := walkTable(ctx, e, 1200)
	_, chunks := walkFrom(ctx, e, t, "")
	first := rule.At(e, "the chunks", chunks, 0)
	e.That(first.Mark != "", "more than one chunk of 1200 rows", "one")
	var gone []driver.Op
	for i := range first.Rows {
		gone = append(gone, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: first.Rows[i].Key}})
	}
	commitParts(ctx, e, gone)
	rest, _ := walkFrom(ctx, e, t, first.Mark)
	rule.Equal(e, "the number of rows after a chunk whose rows were deleted", len(slices.Compact(rest)), len(all)-len(gone))
}

// eachMark goes on after each chunk of a walk: what came up to it and what comes after it
// are all rows.
func eachMark(ctx context.Context, e *env, what string, t *driver.Table, chunks []driver.Chunk, want []string) {
	var seen []string
	for i, chunk := range chunks {
		for j := range chunk.Rows {
			seen = append(seen, chunk.Rows[j].Key.Partition+chunk.Rows[j].Key.Sort)
		}
		if chunk.Mark == "" {
			continue
		}
		rest, _ := walkFrom(ctx, e, t, chunk.Mark)
		e.That(len(rest) <= len(want)-len(seen)/2, "no walk from its beginning after a mark, with "+what, "%d rows after %d of %d", len(rest), len(seen), len(want))
		all := slices.Concat(seen, rest)
		slices.Sort(all)
		rule.Equal(e, fmt.Sprintf("the number of rows up to chunk %d and after its mark, with %s", i, what), len(slices.Compact(all)), len(want))
	}
}

// commitParts is commitMany for rows of several partitions.
func commitParts(ctx context.Context, e *env, ops []driver.Op) {
	parts := map[string][]driver.Op{}
	for _, op := range ops {
		parts[op.Row.Key.Partition] = append(parts[op.Row.Key.Partition], op)
	}
	for _, own := range parts {
		e.commitMany(ctx, own)
	}
}
