package repo

import (
	"context"
	"fmt"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// refusedClaim looks at who holds the value of a unique index that w wants.
func (c *writer) refusedClaim(ctx context.Context, k *call, w *write, refusal *driver.Refusal) error {
	x := c.indexOf(w.refused)
	if x == nil {
		return fmt.Errorf("store refused a row of %s that has no condition: %w", w.refused.Name, driver.ErrInternal)
	}
	if refusal.Row.Rev.IsZero() && w.lacks {
		return fmt.Errorf("index %s lacks the row of this record; mend it with Rebuild: %w", x.name, driver.ErrCorrupt)
	} else if refusal.Row.Rev.IsZero() {
		return nil // given up in the meantime
	}
	owner, err := refusal.Row.Key, error(nil)
	if !x.native {
		owner, err = c.recordKey(x, &refusal.Row)
	}
	if err != nil {
		return err
	}
	if k.isPast(refusal.Row.Expires) {
		_, err := c.reclaim(ctx, k, owner)
		return err
	}
	return taken(c.layoutC, x, owner, &w.change)
}

// refusedStranger is refusedClaim for a unique index that the store keeps, and that another
// program has declared.
func (c *writer) refusedStranger(ctx context.Context, k *call, refusal *driver.Refusal) error {
	owner := refusal.Row.Key
	switch {
	case refusal.Row.Rev.IsZero():
		return nil // given up in the meantime
	case k.isPast(refusal.Row.Expires):
		_, err := c.reclaim(ctx, k, owner)
		return err
	}
	name := strings.TrimPrefix(refusal.Native, c.name+".")
	return &indexTaken{index: name, text: fmt.Sprintf("a value of the unique index %s, which the schema lacks, is taken by %s", name, c.printText(owner))}
}

// keysFirst returns err, which is about the last of some writes, or about a unique value,
// unless a record that was to be inserted, and was not looked for, is there: then it returns
// that. So keys are told of in their order, and before values, as where keys are read before.
func (c *writer) keysFirst(ctx context.Context, k *call, writes []write, err error) error {
	var keys []driver.Key
	for i := range writes {
		if w := &writes[i]; w.verb == doInsert && !w.known && len(writes) > 1 {
			keys = append(keys, w.key)
		}
	}
	if len(keys) == 0 {
		return err
	}
	rows := make([]driver.Row, len(keys))
	if err := c.store.get(ctx, k, c.records, keys, []int{}, rows); err != nil {
		return err
	}
	for i := range rows {
		if c.isLive(k, &rows[i]) {
			return ofKey(keys[i], driver.ErrExists)
		}
	}
	return err
}

// blame notes for what a write was refused; alone says that the commit had no other.
func (c *writer) blame(w *write, op *driver.Op, refusal *driver.Refusal, alone bool) {
	w.refused, w.lacks, w.stranger, w.why = op.Table, op.If == driver.Present && alone, false, refusal.Why
	if refusal.Native == "" {
		return
	}
	x := c.indexNamed(refusal.Native)
	if w.refused, w.lacks, w.stranger = c.records, false, x == nil; x != nil {
		w.refused = x.table
	}
}

// refused decides what a refusal means for a write: an error for the caller, or
// nil and another attempt against what is there now.
func (c *writer) refused(ctx context.Context, k *call, w *write, refusal *driver.Refusal) error {
	if !refusal.Row.Dead && c.store.expiredSince(k.now, refusal.Row.Expires) {
		k.tick(c.store) // whether it was there is not known; the next attempt will know
		return nil
	}
	if refusal.Overflow {
		e := w.edits[refusal.Edit]
		return invalid("add to %s: the sum is over the range of int64, or the field is no integer", c.editName(e))
	}
	if w.stranger {
		return c.refusedStranger(ctx, k, refusal)
	}
	if w.refused != c.records {
		return c.refusedClaim(ctx, k, w, refusal)
	}
	if w.verb == doPatch && !w.known && refusal.Row.Rev.IsZero() {
		return driver.ErrNotFound
	}
	return w.learn(c, k, &refusal.Row, nil)
}
