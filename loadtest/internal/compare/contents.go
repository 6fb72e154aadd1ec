package compare

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"

	"github.com/polystore/polystore/loadtest/internal/value"
)

// A contents sums up all records of a collection, whatever their order.
type contents struct {
	n   int
	sum uint64
}

func contentsOf(records iter.Seq2[map[string]any, error]) (contents, error) {
	var c contents
	for rec, err := range records {
		if err != nil {
			return c, err
		}
		h := sha256.Sum256([]byte(value.Canonical(rec)))
		c.n++
		c.sum += binary.LittleEndian.Uint64(h[:8])
	}
	return c, nil
}
