package commit

import (
	"context"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// recall takes what was read under the context for the writes that expect its versions, and returns since when what is
// there is known: since, if nothing was read before.
func recall(ctx context.Context, k *store.Call, writes []Write, since time.Time) (time.Time, error) {
	kept := store.RecallOf(ctx)
	if kept == nil {
		return since, nil
	}
	for i := range writes {
		w := &writes[i]
		if w.Known || w.Expect.IsZero() || w.By.HasRemote || w.By.blind(w) {
			continue
		}
		row, mask := kept.Row(w.By.Records, w.Key)
		if row == nil || record.VersionOf(row) != w.Expect || mask != nil && w.Verb != DoCheck {
			continue
		}
		if err := w.Learn(w.By, k, row, mask); err != nil {
			return since, w.failed(err)
		}
		if !since.IsZero() {
			since = kept.Since
		}
	}
	return since, nil
}

// ReadOld reads what is there for the writes that need it, or for all of which it is not known,
// from all their collections at once.
func ReadOld(ctx context.Context, k *store.Call, writes []Write, all bool) error {
	some := false
	for i := range writes {
		w := &writes[i]
		w.unread = !w.Known && (all || !w.By.blind(w))
		some = some || w.unread
	}
	if !some {
		return nil
	}
	var few [4]*Writer
	of := writersOf(few[:0], writes)
	if len(of) == 1 {
		return of[0].readOld(ctx, k, writes)
	}
	if of[0].Store.Facts.OneProcess && !k.Traced() { // a goroutine costs more than such a read; who is told counts one trip
		for _, c := range of {
			if err := c.readOld(ctx, k, writes); err != nil {
				return err
			}
		}
		return nil
	}
	list := append(make([]*Writer, 0, len(of)), of...) // of stays on the stack
	errs := make([]error, len(list))
	k.AtOnce(len(list), func(i int, k *store.Call) { errs[i] = list[i].readOld(ctx, k, writes) })
	return firstOf(errs)
}

// firstOf returns the first error of some.
func firstOf(errs []error) error {
	at := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if at < 0 {
		return nil
	}
	return errs[at]
}

// readOld is ReadOld of one collection.
func (c *Writer) readOld(ctx context.Context, k *store.Call, writes []Write) error {
	count, at, whole := 0, -1, false
	for i := range writes {
		if w := &writes[i]; w.unread && w.By == c {
			count, at = count+1, i
			whole = whole || w.Verb == DoUpdate || w.keep || w.setsStray() || w.Verb == doPatch && (len(writes) > 1 || c.Shape.IsUnion())
		}
	}
	if count == 0 {
		return nil
	}
	b := scan.NewReadBuffer(count)
	defer b.Release()
	for i := range writes {
		if w := &writes[i]; w.unread && w.By == c {
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
		return writes[at].failed(err)
	}
	n := 0
	for i := range writes {
		if w := &writes[i]; w.unread && w.By == c {
			if err := w.Learn(c, k, &b.Rows[n], mask); err != nil {
				return w.failed(err)
			}
			n++
		}
	}
	return nil
}

// Learn takes over what the store has under the write's key. Mask is that with
// which row was read, by k.
func (w *Write) Learn(c *Writer, k *store.Call, row *driver.Row, mask []int) (err error) {
	w.Known = true
	vals := w.Old.Vals[:0]
	w.Old = change.Stored{Row: !row.Rev.IsZero(), Rev: row.Rev, Hint: row.Hint, Meta: row.Meta}
	if !w.Old.Row {
		return nil
	}
	if c.HasRemote {
		w.Old.Tokens, err = c.TokensIn(row.Meta)
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
