package backend

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Twice says which two ops of a commit name the same key: ErrInvalid.
func (n Name) Twice(ops []driver.Op) error {
	type place struct {
		table string
		key   driver.Key
	}
	if len(ops) <= fewOps {
		for i := range ops {
			for j := range i {
				if ops[j].Row.Key == ops[i].Row.Key && ops[j].Table.Name == ops[i].Table.Name {
					return n.twice(j, i, &ops[i])
				}
			}
		}
		return nil
	}
	named := make(map[place]int, len(ops))
	for i := range ops {
		at := place{ops[i].Table.Name, ops[i].Row.Key}
		if earlier, ok := named[at]; ok {
			return n.twice(earlier, i, &ops[i])
		}
		named[at] = i
	}
	return nil
}

// fewOps are compared in pairs, which takes less than a map of them.
const fewOps = 8

func (n Name) twice(i, j int, op *driver.Op) error {
	return n.Invalid("ops %d and %d of a commit name the same key of table %s", i, j, op.Table.Name)
}

// Fitting says which value of an op has another kind than its field: ErrInvalid. It is
// for stores whose fields have kinds. Fields are those of the op's table.
func (n Name) Fitting(fields []driver.Column, op *driver.Op) error {
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
