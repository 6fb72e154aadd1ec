package pebble

import "github.com/polystore/polystore/repo/driver"

// check says what makes op one that no store could do.
func (v *view) check(op *driver.Op) error {
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
		if _, declared := v.ordinals[p.Name]; declared {
			return invalid("table %s declares the field %s, but a row has it as an extra one", v.name, p.Name)
		}
		if i > 0 && r.Extra[i-1].Name >= p.Name {
			return invalid("extra field %s of a row for table %s is not after the one before it", p.Name, v.name)
		}
	}
	return nil
}

func (v *view) checkEdits(edits []driver.Edit) error {
	for i := range edits {
		e := &edits[i]
		_, declared := v.ordinals[e.Name]
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
