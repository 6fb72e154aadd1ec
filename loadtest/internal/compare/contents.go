package compare

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/repo"
)

// A contents sums up all records of a collection, whatever their order.
type contents struct {
	n   int
	sum uint64
}

func contentsOf(ctx context.Context, r *repo.Repo[map[string]any]) (contents, error) {
	var c contents
	for chunk, err := range r.Walk(ctx, "") {
		if err != nil {
			return c, err
		}
		for _, rec := range chunk.Items {
			h := sha256.Sum256([]byte(value.Canonical(rec)))
			c.n++
			c.sum += binary.LittleEndian.Uint64(h[:8])
		}
	}
	return c, nil
}
