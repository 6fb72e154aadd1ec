package commit

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// leavesOut reports whether a record that a write makes lacks a field.
func (c *Writer) leavesOut(w *Write, name string) bool {
	at := c.At(name)
	switch {
	case w.Verb == doPatch: // of what is there all may be known, or some
	case w.Next != nil && at >= 0:
		return w.Next.Vals[at].IsNone()
	case w.Next != nil:
		return !w.Next.Has(name)
	}
	return slices.ContainsFunc(w.Edits, func(e driver.Edit) bool {
		its := e.Field < 0 && e.Name == name || e.Field >= 0 && len(c.Key)+e.Field == at
		return its && e.Do != driver.Add && e.Value.IsNone()
	})
}

// maySkip sees to it that records may lack fields before one is written that does.
func (c *Writer) maySkip(ctx context.Context, k *store.Call, writes []Write) error {
	owed := c.Owes()
	if len(owed) == 0 {
		return nil
	}
	for i := range writes {
		var names []string
		for _, name := range owed {
			if c.leavesOut(&writes[i], name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			continue
		}
		if err := c.Announce(ctx, k, func(e *catalog.Entry) (bool, error) { return c.LetLack(ctx, k, e, names) }); err != nil {
			return failure.OfKey(writes[i].Key, err)
		}
	}
	return nil
}

// addsStray returns an error if a write adds a field where an index would miss it.
func (c *Writer) addsStray(writes []Write) error {
	for i := range writes {
		w := &writes[i]
		for _, name := range *c.Strays.Load() {
			if w.sets(name) && !(w.Known && w.Old.Has(name)) {
				return failure.OfKey(w.Key, fmt.Errorf("field %s is in an index of another program, which the store keeps and which has declared fields only; declare it in the record type: %w", name, driver.ErrSchema))
			}
		}
	}
	return nil
}

// setsStray reports whether it depends on what is there, undeclared fields and all, whether a
// write adds one where an index would miss it.
func (c *Writer) setsStray(w *Write) bool {
	names := c.Strays.Load()
	return names != nil && slices.ContainsFunc(*names, w.sets)
}

// sets reports whether a write makes a record with an undeclared field.
func (w *Write) sets(name string) bool {
	if w.Next != nil {
		return w.Next.Has(name)
	}
	return slices.ContainsFunc(w.Edits, func(e driver.Edit) bool { return e.Field < 0 && e.Name == name && e.Do != driver.Unset })
}

// mayLetExpire sees to it that records may expire before one is written that does.
func (c *Writer) mayLetExpire(ctx context.Context, k *store.Call, writes []Write) error {
	if c.Shared.Settled.Load() {
		return nil
	}
	for i := range writes {
		if next := writes[i].Next; next == nil || next.Expires == 0 {
			continue
		}
		if err := c.StartExpiry(ctx, k); err != nil {
			return failure.OfKey(writes[i].Key, err)
		}
		return nil
	}
	return nil
}

// tellFirst sees to it that the catalog allows what is written: records that expire, or lack fields.
func (c *Writer) tellFirst(ctx context.Context, k *store.Call, writes []Write) error {
	if err := c.mayLetExpire(ctx, k, writes); err != nil {
		return err
	}
	return c.maySkip(ctx, k, writes)
}
