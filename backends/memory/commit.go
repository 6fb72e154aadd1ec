package memory

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// Commit does all ops or none.
func (s *store) Commit(_ context.Context, token driver.Token, ops []driver.Op, views []*view) (*driver.Refusal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := views[0].stored(&ops[0]); first != nil && slices.Contains(first.ring, token) {
		return nil, nil // sent again
	}
	next := make([]*row, len(ops))
	end, refused := len(ops), (*driver.Refusal)(nil)
	for i := 0; i < end; i++ {
		if next[i], refused = views[i].change(token, &ops[i]); refused != nil {
			refused.Op, end = i, i
		}
	}
	if refusal, err := refuseNative(ops, views, next, end); refusal != nil || err != nil {
		return refusal, err
	}
	if refused != nil {
		return refused, nil
	}
	for i := range ops {
		views[i].store(&ops[i], next[i])
	}
	return nil, nil
}

// stored returns the row that op names, or nil.
func (v *view) stored(op *driver.Op) *row {
	return v.rows.get(op.Row.Key.Partition + op.Row.Key.Sort)
}

// store makes next, which is nil after a Delete, the row that op names.
func (v *view) store(op *driver.Op, next *row) {
	if next == nil && op.Do != driver.Delete {
		return
	}
	for _, n := range v.natives {
		n.move(v.stored(op), next)
	}
	if next != nil {
		v.rows.set(next)
	} else {
		v.rows.remove(op.Row.Key.Partition + op.Row.Key.Sort)
	}
}
