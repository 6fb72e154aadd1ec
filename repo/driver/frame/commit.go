package frame

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// fewOps are compared in pairs, which takes less than a sort.
const fewOps = 8

// twice says which two ops of a commit name the same key: ErrInvalid.
func (n Name) twice(ops []driver.Op) error {
	if len(ops) > fewOps {
		return n.twiceOfMany(ops)
	}
	for i := range ops {
		for j := range i {
			if sameKey(&ops[j], &ops[i]) {
				return n.named(j, i, &ops[i])
			}
		}
	}
	return nil
}

var (
	seed   = maphash.MakeSeed()
	orders = sync.Pool{New: func() any { return new([]uint64) }}
)

// twiceOfMany sorts the ops by the hashes of their keys.
func (n Name) twiceOfMany(ops []driver.Op) error {
	kept := orders.Get().(*[]uint64)
	defer orders.Put(kept)
	order := (*kept)[:0]
	for i := range ops {
		k := &ops[i].Row.Key
		hash := maphash.String(seed, k.Partition)*31 ^ maphash.String(seed, k.Sort)
		order = append(order, hash>>32<<32|uint64(uint32(i)))
	}
	slices.Sort(order)
	*kept = order
	for at, a := range order {
		for _, b := range order[at+1:] {
			if a>>32 != b>>32 {
				break
			}
			if i, j := int(uint32(a)), int(uint32(b)); sameKey(&ops[i], &ops[j]) {
				return n.named(i, j, &ops[j])
			}
		}
	}
	return nil
}

func sameKey(a, b *driver.Op) bool {
	return a.Row.Key == b.Row.Key && a.Table.Name == b.Table.Name
}

func (n Name) named(i, j int, op *driver.Op) error {
	return n.Invalid("ops %d and %d of a commit name the same key of table %s", i, j, op.Table.Name)
}

// beyond reports whether an op lies outside the commit scope of the first of its commit.
func beyond(scope driver.Scope, first, op *driver.Op) bool {
	switch scope {
	case driver.ScopeStore:
		return false
	case driver.ScopePartition:
		return op.Row.Key.Partition != first.Row.Key.Partition || op.Table.Root().Name != first.Table.Root().Name
	}
	return true
}

// Fitting says which value of an op has another kind than its field: ErrInvalid. It is
// for stores whose fields have kinds.
func (n Name) Fitting(ops []driver.Op) error {
	for i := range ops {
		if err := n.fitting(&ops[i]); err != nil {
			return err
		}
	}
	return nil
}

func (n Name) fitting(op *driver.Op) error {
	fields := op.Table.Fields
	for i, value := range op.Row.Fields {
		if op.Do == driver.Put && !value.IsNone() && value.Kind() != fields[i].Kind {
			return n.Invalid("put on table %s: the field %s is a %s, not a %s", op.Table.Name, fields[i].Name, value.Kind(), fields[i].Kind)
		}
	}
	for i := range op.Edits {
		e := &op.Edits[i]
		if op.Do != driver.Patch || e.Do != driver.Set || e.Field < 0 || e.Value.IsNone() {
			continue
		}
		if f := fields[e.Field]; e.Value.Kind() != f.Kind {
			return n.Invalid("patch on table %s: the field %s is a %s, not a %s", op.Table.Name, f.Name, e.Value.Kind(), f.Kind)
		}
	}
	return nil
}

// ErrBeaten is what an attempt at a commit returns that did nothing, because another
// commit was faster, and that may be made again. What wraps it says how it was noticed.
var ErrBeaten = errors.New("another commit was faster")

// Patience is how long a commit is tried again that others were faster than.
const Patience = 10 * time.Second

// Contend calls attempt until it returns something else than ErrBeaten, with pauses, and
// ErrThrottled when it has had no luck for long.
func (n Name) Contend(ctx context.Context, addr string, attempt func() (*driver.Refusal, error)) (*driver.Refusal, error) {
	begun := time.Now()
	for i := 0; ; i++ {
		refusal, err := attempt()
		if !errors.Is(err, ErrBeaten) {
			return refusal, err
		}
		if time.Since(begun) > Patience {
			return nil, fmt.Errorf("%s: commit: %s: tried again for %s: %w: %w", string(n), addr, Patience, driver.ErrThrottled, err)
		}
		if err := Sleep(ctx, pause(i)); err != nil {
			return nil, n.Ended(err)
		}
		driver.TallyOf(ctx).Beaten()
	}
}

// pause returns how long to wait before a commit is tried again: longer each time, and
// never as long as its rivals.
func pause(attempt int) time.Duration {
	most := time.Millisecond << min(attempt, 6)
	return rand.N(most) + most/4
}
