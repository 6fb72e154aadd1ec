package memory

import (
	"fmt"

	"github.com/polystore/polystore/repo/driver"
)

// check says what makes a commit one that no store could do.
func (s *Store) check(token driver.Token, ops []driver.Op) error {
	if token.IsZero() {
		return invalid("commit without a token")
	}
	type name struct{ table, key string }
	named := map[name]int{}
	for i := range ops {
		op := &ops[i]
		v, err := s.view(op.Table)
		if err != nil {
			return err
		}
		if err := op.Validate(); err != nil {
			return fmt.Errorf("memory: %w", err)
		}
		key := name{v.name, op.Row.Key.Partition + op.Row.Key.Sort}
		if earlier, ok := named[key]; ok {
			return invalid("ops %d and %d of a commit name the same key of table %s", earlier, i, v.name)
		}
		named[key] = i
	}
	return s.checkUnit(ops)
}

// checkUnit says which op lies outside the unit of the first.
func (s *Store) checkUnit(ops []driver.Op) error {
	for i := range ops {
		inside := s.unit == driver.UnitStore || i == 0
		if s.unit == driver.UnitPartition {
			inside = place(&ops[i]) == place(&ops[0])
		}
		if !inside {
			return invalid("op %d of a commit, on table %s, lies outside the %s of op 0, on table %s",
				i, ops[i].Table.Name, s.unit, ops[0].Table.Name)
		}
	}
	return nil
}

type partition struct{ table, partition string }

// place returns the partition of the Records table with which op is committed.
func place(op *driver.Op) partition {
	return partition{op.Table.Root().Name, op.Row.Key.Partition}
}
