package commit

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/catalog"
	"github.com/polystore/polystore/repo/internal/store"
)

// leavesOut reports whether the record that a write makes lacks a field.
func (w *Write) leavesOut(name string) bool {
	at := w.By.At(name)
	switch {
	case w.Verb == doPatch: // of what is there all may be known, or some
	case w.Next != nil && at >= 0:
		return w.Next.Vals[at].IsNone()
	case w.Next != nil:
		return !w.Next.Has(name)
	}
	return slices.ContainsFunc(w.Edits, func(e driver.Edit) bool {
		its := e.Field < 0 && e.Name == name || e.Field >= 0 && len(w.By.Key)+e.Field == at
		return its && e.Do != driver.Add && e.Value.IsNone()
	})
}

// maySkip sees to it that records may lack fields before one is written that does.
func (c *Writer) maySkip(ctx context.Context, k *store.Call, w *Write) error {
	owed := c.Owes()
	if len(owed) == 0 {
		return nil
	}
	var names []string
	for _, name := range owed {
		if w.leavesOut(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return c.Announce(ctx, k, func(e *catalog.Entry) (bool, error) { return c.LetLack(ctx, k, e, names) })
}

// addsStray returns an error if a write adds a field where an index would miss it.
func addsStray(writes []Write) error {
	for i := range writes {
		w := &writes[i]
		for _, name := range *w.By.Strays.Load() {
			if w.sets(name) && !(w.Known && w.Old.Has(name)) {
				return w.failed(fmt.Errorf("field %s is in an index of another program, which the store keeps and which has declared fields only; declare it in the record type: %w", name, driver.ErrSchema))
			}
		}
	}
	return nil
}

// setsStray reports whether it depends on what is there, undeclared fields and all, whether a
// write adds one where an index would miss it.
func (w *Write) setsStray() bool {
	names := w.By.Strays.Load()
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
func (c *Writer) mayLetExpire(ctx context.Context, k *store.Call, w *Write) error {
	if w.Next == nil || w.Next.Expires == 0 || c.Shared.Settled.Load() {
		return nil
	}
	return c.StartExpiry(ctx, k)
}

// tellFirst sees to it that the catalog allows what is written: records that expire, or lack fields.
func tellFirst(ctx context.Context, k *store.Call, writes []Write) error {
	for i := range writes {
		w := &writes[i]
		err := w.By.mayLetExpire(ctx, k, w)
		if err == nil {
			err = w.By.maySkip(ctx, k, w)
		}
		if err != nil {
			return w.failed(err)
		}
	}
	return nil
}
