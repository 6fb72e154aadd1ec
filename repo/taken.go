package repo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// refusedClaim looks at who holds the value of a unique index that w wants.
func (c *collection) refusedClaim(ctx context.Context, k *call, w *write, refusal *driver.Refusal) error {
	x := c.indexOf(w.refused)
	if x == nil {
		return fmt.Errorf("store refused a row of %s that has no condition: %w", w.refused.Name, ErrInternal)
	}
	if refusal.Row.Rev.IsZero() && w.lacks {
		return fmt.Errorf("index %s lacks the row of this record; mend it with Rebuild: %w", x.name, ErrCorrupt)
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
	return c.taken(x, owner, w)
}

// refusedStranger is refusedClaim for a unique index that the store keeps, and that another
// program has declared.
func (c *collection) refusedStranger(ctx context.Context, k *call, refusal *driver.Refusal) error {
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

// taken returns the error for a unique value that another record has.
func (c *collection) taken(x *index, owner driver.Key, w *write) error {
	what := "a value of index " + x.name
	if w.next != nil && !c.store.opts.Redact {
		what = c.describe(x, w.next.vals)
	}
	who := "another record"
	if vals, err := c.partsOf(nil, owner); err == nil {
		who = c.printKey(vals)
	}
	return &indexTaken{index: x.name, text: fmt.Sprintf("%s is taken by %s", what, who)}
}

// An indexTaken is ErrExists because of a unique index.
type indexTaken struct{ index, text string }

func (e *indexTaken) Error() string { return e.text + ": " + ErrExists.Error() }
func (e *indexTaken) Unwrap() error { return ErrExists }

// describe returns the values that a record has in an index, for people.
func (c *collection) describe(x *index, vals []driver.Value) string {
	var list []string
	for _, src := range slices.Concat(x.part, x.sort) {
		list = append(list, c.cols[src.at].Name+" "+vals[src.at].String())
	}
	return strings.Join(list, ", ")
}

// keysFirst returns err, which is about the last of some writes, or about a unique value,
// unless a record that was to be inserted, and was not looked for, is there: then it returns
// that. So keys are told of in their order, and before values, as where keys are read before.
func (c *collection) keysFirst(ctx context.Context, k *call, writes []write, err error) error {
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
	if unread := c.store.get(ctx, k, c.records, keys, []int{}, rows); unread != nil {
		return cmp.Or(err, unread)
	}
	for i := range rows {
		if c.isLive(k, &rows[i]) {
			return ofKey(keys[i], ErrExists)
		}
	}
	return err
}

// blame notes for what a write was refused; alone says that the commit had no other.
func (c *collection) blame(w *write, op *driver.Op, refusal *driver.Refusal, alone bool) {
	w.refused, w.lacks, w.stranger, w.why = op.Table, op.If == driver.Present && alone, false, refusal.Why
	if refusal.Native == "" {
		return
	}
	x := c.indexNamed(refusal.Native)
	if w.refused, w.lacks, w.stranger = c.records, false, x == nil; x != nil {
		w.refused = x.table
	}
}
