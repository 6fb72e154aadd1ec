package commit

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// refusedClaim looks at who holds the value of a unique index that w wants.
func (c *Writer) refusedClaim(ctx context.Context, k *store.Call, w *Write, refusal *driver.Refusal) error {
	x := c.IndexOf(w.refused)
	if x == nil {
		return fmt.Errorf("store refused a row of %s that has no condition: %w", w.refused.Name, driver.ErrInternal)
	}
	if refusal.Row.Rev.IsZero() && w.lacks {
		return fmt.Errorf("index %s lacks the row of this record; mend it with Rebuild or, where other programs write, remove it with DropIndex and build it again: %w", x.ID, driver.ErrCorrupt)
	} else if refusal.Row.Rev.IsZero() {
		return nil // given up in the meantime
	}
	owner, err := refusal.Row.Key, error(nil)
	if !x.Native {
		owner, err = c.RecordKey(x, &refusal.Row)
	}
	if err != nil {
		return err
	}
	if k.IsPast(refusal.Row.Expires) {
		_, err := c.Reclaim(ctx, k, owner)
		return err
	}
	return change.Taken(c.Layout, x, owner, &w.Change)
}

// refusedStranger is refusedClaim for a unique index that the store keeps, and that another
// program has declared.
func (c *Writer) refusedStranger(ctx context.Context, k *store.Call, refusal *driver.Refusal) error {
	owner := refusal.Row.Key
	switch {
	case refusal.Row.Rev.IsZero():
		return nil // given up in the meantime
	case k.IsPast(refusal.Row.Expires):
		_, err := c.Reclaim(ctx, k, owner)
		return err
	}
	name := strings.TrimPrefix(refusal.Native, c.Name+".")
	return &change.IndexTaken{Index: name, Text: fmt.Sprintf("a value of the unique index %s, which the schema lacks, is taken by %s", name, c.PrintText(owner))}
}

// keysFirst returns err, which is about a write after some, or about a unique value, unless
// one of these writes, which was not read, cannot be done because of what is under its key: then it
// returns that. So keys are told of in their order, and before values, as where keys are read before.
func keysFirst(ctx context.Context, k *store.Call, writes []Write, err error) error {
	var unread []Write
	for i := range writes {
		if w := &writes[i]; !w.Known {
			unread = append(unread, Write{By: w.By, Verb: w.Verb, Absent: w.Absent, Expect: w.Expect, Exists: w.Exists,
				Change: change.Change{Key: w.Key, KeyVals: w.KeyVals}})
		}
	}
	if len(unread) == 0 {
		return err
	}
	if failed := ReadOld(ctx, k, unread, true); failed != nil {
		return cmp.Or(err, failed)
	}
	for i := range unread {
		if wrong := unread[i].expected(); wrong != nil {
			return unread[i].failed(wrong)
		}
	}
	return err
}

// blame notes for what a write was refused; alone says that the commit had no other.
func (c *Writer) blame(w *Write, op *driver.Op, refusal *driver.Refusal, alone bool) {
	w.refused, w.lacks, w.stranger, w.why = op.Table, op.If == driver.Present && alone, false, refusal.Why
	if refusal.Native == "" {
		return
	}
	x := c.IndexNamed(refusal.Native)
	if w.refused, w.lacks, w.stranger = c.Records, false, x == nil; x != nil {
		w.refused = x.Table
	}
}

// refused decides what a refusal means for a write: an error for the caller, or
// nil and another attempt against what is there now.
func (c *Writer) refused(ctx context.Context, k *store.Call, w *Write, refusal *driver.Refusal) error {
	if !refusal.Row.Dead && c.Store.ExpiredSince(k.Now, refusal.Row.Expires) {
		k.Tick(c.Store) // whether it was there is not known; the next attempt will know
		return nil
	}
	if refusal.Overflow {
		e := w.Edits[refusal.Edit]
		return failure.Invalid("add to %s: the sum is over the range of int64, or the field is no integer", c.editor().editName(e))
	}
	if w.stranger {
		return c.refusedStranger(ctx, k, refusal)
	}
	if w.refused != c.Records {
		return c.refusedClaim(ctx, k, w, refusal)
	}
	if w.Verb == doPatch && !w.Known && refusal.Row.Rev.IsZero() {
		return driver.ErrNotFound
	}
	return w.Learn(c, k, &refusal.Row, nil)
}
