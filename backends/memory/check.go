package memory

import (
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
		if err := v.checkOp(op); err != nil {
			return err
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
	home := op.Table
	if home.Class != driver.Records && home.Home != nil {
		home = home.Home
	}
	return partition{home.Name, op.Row.Key.Partition}
}

func (v *view) checkOp(op *driver.Op) error {
	switch {
	case op.Do > driver.Fence:
		return invalid("verb %d of an op on table %s is unknown", op.Do, v.name)
	case op.If > driver.AtRev:
		return invalid("condition %d of an op on table %s is unknown", op.If, v.name)
	case op.Do == driver.Patch && op.If != driver.Present && op.If != driver.AtRev:
		return invalid("patch on table %s if %s; want present or at rev", v.name, op.If)
	case op.Do == driver.Put:
		return v.checkPut(&op.Row)
	case op.Do == driver.Patch:
		return v.checkEdits(op.Edits)
	}
	return nil
}

func (v *view) checkPut(r *driver.Row) error {
	if len(r.Fields) > len(v.names) {
		return invalid("table %s has %d fields, but a row for it has %d", v.name, len(v.names), len(r.Fields))
	}
	for i, p := range r.Extra {
		if _, declared := v.ordinal[p.Name]; declared {
			return invalid("table %s declares the field %s, but a row has it as an extra one", v.name, p.Name)
		}
		if i > 0 && r.Extra[i-1].Name >= p.Name {
			return invalid("extra field %s of a row for table %s is not after the one before it", p.Name, v.name)
		}
	}
	return nil
}

func (v *view) checkEdits(edits []driver.Edit) error {
	for _, e := range edits {
		_, declared := v.ordinal[e.Name]
		switch {
		case e.Field < -1 || e.Field >= len(v.names):
			return invalid("table %s has no field %d to edit", v.name, e.Field)
		case e.Field == -1 && declared:
			return invalid("table %s declares the field %s; edit it by its ordinal", v.name, e.Name)
		case e.Do > driver.Add:
			return invalid("verb %d of an edit on table %s is unknown", e.Do, v.name)
		case e.Do == driver.Add && e.Value.Kind() != driver.Int:
			return invalid("add on table %s of a %s, want an int", v.name, e.Value.Kind())
		}
	}
	return nil
}
