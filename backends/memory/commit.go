package memory

import (
	"context"
	"math/bits"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// Commit does all ops or none.
func (s *Store) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if err := s.write(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if len(ops) == 0 {
		return nil, nil
	}
	if err := s.check(token, ops); err != nil {
		return nil, err
	}
	if first := s.stored(&ops[0]); first != nil && slices.Contains(first.ring, token) {
		return nil, nil // sent again
	}
	next := make([]*row, len(ops))
	end, refused := len(ops), (*driver.Refusal)(nil)
	for i := 0; i < end; i++ {
		if next[i], refused = s.change(token, &ops[i]); refused != nil {
			refused.Op, end = i, i
		}
	}
	if refusal, err := s.refuseNative(ops, next, end); refusal != nil || err != nil {
		return refusal, err
	}
	if refused != nil {
		return refused, nil
	}
	for i := range ops {
		s.store(&ops[i], next[i])
	}
	return nil, nil
}

// stored returns the row that op names, or nil.
func (s *Store) stored(op *driver.Op) *row {
	return s.views[op.Table].rows.get(op.Row.Key.Partition + op.Row.Key.Sort)
}

// store makes next, which is nil after a Delete, the row that op names.
func (s *Store) store(op *driver.Op, next *row) {
	if next == nil && op.Do != driver.Delete {
		return
	}
	v := s.views[op.Table]
	for _, n := range v.natives {
		n.move(s.stored(op), next)
	}
	if next != nil {
		v.rows.set(next)
	} else {
		v.rows.remove(op.Row.Key.Partition + op.Row.Key.Sort)
	}
}

// change returns the row as op makes it. It is nil after a Check and a Delete.
func (s *Store) change(token driver.Token, op *driver.Op) (*row, *driver.Refusal) {
	old := s.stored(op)
	if !holds(op, old) {
		return nil, s.refuse(op, old)
	}
	next := &row{
		key: op.Row.Key.Partition + op.Row.Key.Sort,
		cut: len(op.Row.Key.Partition),
		rev: token,
	}
	switch op.Do {
	case driver.Put:
		s.put(next, op)
	case driver.Patch:
		if at := s.patch(next, old, op); at >= 0 {
			refusal := s.refuse(op, old)
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

func (s *Store) refuse(op *driver.Op, old *row) *driver.Refusal {
	refusal := &driver.Refusal{}
	s.views[op.Table].load(&refusal.Row, op.Row.Key, old, nil)
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

func (s *Store) put(next *row, op *driver.Op) {
	v := s.views[op.Table]
	next.expires, next.dead, next.note = op.Row.Expires, op.Row.Dead, op.Row.Note
	for i, value := range op.Row.Fields {
		next.set(v.names[i], value)
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
func (s *Store) patch(next, old *row, op *driver.Op) int {
	v := s.views[op.Table]
	next.expires, next.dead, next.note = old.expires, old.dead, old.note
	next.fields = slices.Clone(old.fields)
	if op.PatchMeta {
		next.expires, next.note = op.Row.Expires, op.Row.Note
	}
	for i, e := range op.Edits {
		name := e.Name
		if e.Field >= 0 {
			name = v.names[e.Field]
		}
		value := e.Value
		switch e.Do {
		case driver.Unset:
			value = driver.Value{}
		case driver.Add:
			sum, ok := add(next.field(name), e.Value)
			if !ok {
				return i
			}
			value = sum
		}
		next.set(name, value)
	}
	return -1
}

// add returns the sum of two Ints; an absent one counts as 0.
func add(have, more driver.Value) (driver.Value, bool) {
	if !have.IsNone() && have.Kind() != driver.Int {
		return driver.Value{}, false
	}
	a, b := have.Int(), more.Int()
	sum, _ := bits.Add64(uint64(a), uint64(b), 0)
	overflow := (a >= 0) == (b >= 0) && (int64(sum) >= 0) != (a >= 0)
	return driver.IntValue(int64(sum)), !overflow
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
