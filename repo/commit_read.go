package repo

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// readOld reads what is there for the writes that need it, or for all of which it is not known.
func (c *writer) readOld(ctx context.Context, k *call, writes []write, all bool) error {
	count, at := 0, -1
	whole := false
	for i := range writes {
		w := &writes[i]
		if w.unread = !w.known && (all || !c.blind(w)); w.unread {
			count, at = count+1, i
			whole = whole || w.verb == doUpdate || w.keep || w.verb == doPatch && len(writes) > 1
		}
	}
	if count == 0 {
		return nil
	}
	b := newReadBuffer(count)
	defer b.release()
	for i := range writes {
		if w := &writes[i]; w.unread {
			b.keys = append(b.keys, w.key)
		}
	}
	mask := c.indexMask
	switch {
	case whole:
		mask = nil
	case writes[at].verb == doPatch:
		mask = c.patchMask(&writes[at])
	}
	if err := c.store.get(ctx, k, c.records, b.keys, mask, b.rows); err != nil {
		return ofKey(writes[at].key, err)
	}
	n := 0
	for i := range writes {
		w := &writes[i]
		if w.unread {
			if err := w.learn(c, k, &b.rows[n], mask); err != nil {
				return ofKey(w.key, err)
			}
			n++
		}
	}
	return nil
}

// learn takes over what the store has under the write's key. Mask is that with
// which row was read, by k.
func (w *write) learn(c *writer, k *call, row *driver.Row, mask []int) (err error) {
	w.known = true
	vals := w.old.vals[:0]
	w.old = stored{row: !row.Rev.IsZero(), rev: row.Rev, hint: row.Hint, note: row.Note}
	if !w.old.row {
		return nil
	}
	if c.loose {
		w.old.tokens, err = c.tokensIn(row.Note)
	}
	w.old.version, w.old.expires = versionOf(row), row.Expires
	w.old.ring = append([]driver.Token(nil), row.Ring...)
	w.old.live = c.isLive(k, row)
	w.old.vals = slices.Grow(vals, len(c.cols))[:len(c.cols)]
	clear(w.old.vals[copy(w.old.vals, w.keyVals):])
	for i, v := range row.Fields {
		if mask != nil {
			i = mask[i]
		}
		w.old.vals[len(c.key)+i] = v
	}
	w.old.extra = append([]driver.Pair(nil), row.Extra...)
	if row.Dead {
		w.old.vals = nil // no rows of an index belong to a dead record
	}
	return err
}
