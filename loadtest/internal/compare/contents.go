package compare

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/polystore/polystore/loadtest/internal/value"
)

// Contents sum up all records of a collection, whatever their order.
type Contents struct {
	n   int
	sum uint64
}

// ContentsOf reads records.
func ContentsOf(records iter.Seq2[map[string]any, error]) (Contents, error) {
	var c Contents
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

// String returns them as text that only contents of the same records have.
func (c Contents) String() string { return fmt.Sprintf("%d-%016x", c.n, c.sum) }
