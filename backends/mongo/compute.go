package mongo

import (
	"context"
	"slices"

	"github.com/polystore/polystore/backends/mongo/internal/bson"
)

// mostComputed is how many documents an answer has at most: as many as there is room for.
const mostComputed = 1 << 20

// uncomputed are the codes of a server that cannot compute an answer: that takes more memory than there may be, the
// collections are sharded, the snapshot is too old, or the server knows none.
var uncomputed = [...]int{codeBadValue, codeIllegalOperation, codeNoCursor, codeInvalidOptions, codeNotImplemented, codeSnapshotTooOld, codeNoSnapshot, codeLookupMemory, codeGroupMemory, codeNoMemory}

// computed calls read with each batch of what the server answers to a pipeline, until it wants no more. What the server
// cannot compute is ErrUnsupported.
func (c *conn) computed(ctx context.Context, doing string, cmd []byte, read func(b *batch) (more bool, err error)) error {
	for {
		b, err := c.batch(ctx, doing, cmd)
		if slices.Contains(uncomputed[:], codeOf(err)) {
			return who.Unsupported("%s: %s: %s", doing, c.addr, err)
		}
		if err != nil {
			return err
		}
		if more, err := read(&b); !more || err != nil {
			if b.more {
				c.forget(ctx, &b)
			}
			return err
		}
		w := bson.NewWriter(128)
		w.Int64("getMore", b.cursor)
		w.Text("collection", b.collection(c.db))
		w.Int32("batchSize", mostComputed)
		cmd = w.End()
	}
}
