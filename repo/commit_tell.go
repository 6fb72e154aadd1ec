package repo

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// leavesOut reports whether a record that a write makes lacks a field.
func (c *writer) leavesOut(w *write, name string) bool {
	at := c.at(name)
	switch {
	case w.verb == doPatch: // of what is there all may be known, or some
	case w.next != nil && at >= 0:
		return w.next.vals[at].IsNone()
	case w.next != nil:
		return !w.next.has(name)
	}
	return slices.ContainsFunc(w.edits, func(e driver.Edit) bool {
		return c.editName(e) == name && e.Do != driver.Add && e.Value.IsNone()
	})
}

// maySkip sees to it that records may lack fields before one is written that does.
func (c *writer) maySkip(ctx context.Context, k *call, writes []write) error {
	owed := c.owes()
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
		if err := c.announce(ctx, k, func(e *catalogEntry) (bool, error) { return c.letLack(ctx, k, e, names) }); err != nil {
			return ofKey(writes[i].key, err)
		}
	}
	return nil
}

// addsStray returns an error if a write adds a field where an index would miss it.
func (c *writer) addsStray(writes []write) error {
	for i := range writes {
		w := &writes[i]
		for _, name := range *c.strays.Load() {
			if w.sets(name) && !(w.known && w.old.has(name)) {
				return ofKey(w.key, fmt.Errorf("field %s is in an index of another program, which the store keeps and which has declared fields only; declare it in the record type: %w", name, driver.ErrSchema))
			}
		}
	}
	return nil
}

// sets reports whether a write makes a record with an undeclared field.
func (w *write) sets(name string) bool {
	if w.next != nil {
		return w.next.has(name)
	}
	return slices.ContainsFunc(w.edits, func(e driver.Edit) bool { return e.Field < 0 && e.Name == name && e.Do != driver.Unset })
}

// mayLetExpire sees to it that records may expire before one is written that does.
func (c *writer) mayLetExpire(ctx context.Context, k *call, writes []write) error {
	if c.shared.settled.Load() {
		return nil
	}
	for i := range writes {
		if next := writes[i].next; next == nil || next.expires == 0 {
			continue
		}
		if err := c.startExpiry(ctx, k); err != nil {
			return ofKey(writes[i].key, err)
		}
		return nil
	}
	return nil
}

// tellFirst sees to it that the catalog allows what is written: records that expire, or lack fields.
func (c *writer) tellFirst(ctx context.Context, k *call, writes []write) error {
	if err := c.mayLetExpire(ctx, k, writes); err != nil {
		return err
	}
	return c.maySkip(ctx, k, writes)
}
