package commit

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// ReadOld reads what is there for the writes that need it, or for all of which it is not known.
func (c *Writer) ReadOld(ctx context.Context, k *store.Call, writes []Write, all bool) error {
	count, at := 0, -1
	whole := false
	for i := range writes {
		w := &writes[i]
		if w.unread = !w.Known && (all || !c.blind(w)); w.unread {
			count, at = count+1, i
			whole = whole || w.Verb == DoUpdate || w.keep || c.setsStray(w) || w.Verb == doPatch && len(writes) > 1
		}
	}
	if count == 0 {
		return nil
	}
	b := scan.NewReadBuffer(count)
	defer b.Release()
	for i := range writes {
		if w := &writes[i]; w.unread {
			b.Keys = append(b.Keys, w.Key)
		}
	}
	mask := c.IndexMask
	switch {
	case whole:
		mask = nil
	case writes[at].Verb == doPatch:
		mask = c.patchMask(&writes[at])
	}
	if err := c.Store.Get(ctx, k, c.Records, b.Keys, mask, b.Rows); err != nil {
		return failure.OfKey(writes[at].Key, err)
	}
	n := 0
	for i := range writes {
		w := &writes[i]
		if w.unread {
			if err := w.learn(c, k, &b.Rows[n], mask); err != nil {
				return failure.OfKey(w.Key, err)
			}
			n++
		}
	}
	return nil
}

// learn takes over what the store has under the write's key. Mask is that with
// which row was read, by k.
func (w *Write) learn(c *Writer, k *store.Call, row *driver.Row, mask []int) (err error) {
	w.Known = true
	vals := w.Old.Vals[:0]
	w.Old = change.Stored{Row: !row.Rev.IsZero(), Rev: row.Rev, Hint: row.Hint, Note: row.Note}
	if !w.Old.Row {
		return nil
	}
	if c.Loose {
		w.Old.Tokens, err = c.TokensIn(row.Note)
	}
	w.Old.Version, w.Old.Expires = record.VersionOf(row), row.Expires
	w.Old.Ring = append([]driver.Token(nil), row.Ring...)
	w.Old.Live = c.IsLive(k, row)
	w.Old.Vals = slices.Grow(vals, len(c.Cols))[:len(c.Cols)]
	clear(w.Old.Vals[copy(w.Old.Vals, w.KeyVals):])
	for i, v := range row.Fields {
		if mask != nil {
			i = mask[i]
		}
		w.Old.Vals[len(c.Key)+i] = v
	}
	w.Old.Extra = append([]driver.Pair(nil), row.Extra...)
	if row.Dead {
		w.Old.Vals = nil // no rows of an index belong to a dead record
	}
	return err
}
