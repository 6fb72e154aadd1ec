package memory

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// change returns the row as op makes it. It is nil after a Check and a Delete.
func (v *view) change(token driver.Token, op *driver.Op) (*row, *driver.Refusal) {
	old := v.stored(op)
	if !holds(op, old) {
		return nil, v.refuse(op, old)
	}
	next := &row{
		key: op.Row.Key.Partition + op.Row.Key.Sort,
		cut: len(op.Row.Key.Partition),
		rev: token,
	}
	switch op.Do {
	case driver.Put:
		v.put(next, op)
	case driver.Patch:
		if at := v.patch(next, old, op); at >= 0 {
			refusal := v.refuse(op, old)
			refusal.Overflow, refusal.Edit = true, at
			return nil, refusal
		}
	case driver.Fence:
		fence(next, old, op)
		return next, nil
	default: // Check and Delete
		return nil, nil
	}
	next.ring = ringAfter(old, token, op.Table.Ring)
	return next, nil
}

// holds says whether the condition of op is true of the stored row.
func holds(op *driver.Op, old *row) bool {
	switch op.If {
	case driver.Absent:
		return old == nil
	case driver.Present:
		return old != nil && !old.dead
	case driver.AtRev:
		return old != nil && old.rev == op.Rev
	}
	return true
}

func (v *view) refuse(op *driver.Op, old *row) *driver.Refusal {
	refusal := &driver.Refusal{}
	v.load(&refusal.Row, op.Row.Key, old, nil)
	return refusal
}

// ringAfter returns the last tokens of a row after a change of its content.
func ringAfter(old *row, token driver.Token, size int) []driver.Token {
	if size <= 0 {
		return nil
	}
	ring := []driver.Token{token}
	if old != nil {
		ring = append(ring, old.ring...)
	}
	return ring[:min(size, len(ring))]
}

func (v *view) put(next *row, op *driver.Op) {
	next.expires, next.dead, next.note = op.Row.Expires, op.Row.Dead, op.Row.Meta
	for i, value := range op.Row.Fields {
		next.set(v.Fields[i].Name, value)
	}
	for _, p := range op.Row.Extra {
		next.set(p.Name, p.Value)
	}
}

func fence(next, old *row, op *driver.Op) {
	if old == nil {
		next.dead, next.expires = true, op.Row.Expires
		return
	}
	rev := next.rev
	*next = *old
	next.rev = rev
}

// patch makes next the old row after the edits of op. It returns the index of
// the edit that overflows, or -1.
func (v *view) patch(next, old *row, op *driver.Op) int {
	next.expires, next.dead, next.note = old.expires, old.dead, old.note
	next.fields = slices.Clone(old.fields)
	if op.PatchMeta {
		next.expires, next.note = op.Row.Expires, op.Row.Meta
	}
	for i, e := range op.Edits {
		name := e.Name
		if e.Field >= 0 {
			name = v.Fields[e.Field].Name
		}
		value, ok := frame.Edited(next.field(name), &e)
		if !ok {
			return i
		}
		next.set(name, value)
	}
	return -1
}

// set gives the field name a value, or removes it when the value is absent.
func (r *row) set(name string, value driver.Value) {
	i, ok := slices.BinarySearchFunc(r.fields, name, byName)
	switch {
	case ok && value.IsNone():
		r.fields = slices.Delete(r.fields, i, i+1)
	case ok:
		r.fields[i].Value = value
	case !value.IsNone():
		r.fields = slices.Insert(r.fields, i, driver.Pair{Name: name, Value: value})
	}
}
