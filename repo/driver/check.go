package driver

import (
	"fmt"
	"slices"
)

// Validate says what makes op one that no store can do, whatever rows there are:
// it is ErrInvalid. A backend calls it for every op of a commit before it does
// anything, and sees to what concerns several ops, and the commit scope; package frame does so for it.
func (op *Op) Validate() error {
	t := op.Table
	switch {
	case op.Do > Fence:
		return fmt.Errorf("op on table %s: the verb %d is unknown: %w", t.Name, op.Do, ErrInvalid)
	case op.If > AtRev:
		return op.invalid("the condition %d is unknown", op.If)
	case t.Unconditional && (op.If != Any || op.Do != Put && op.Do != Delete):
		return op.invalid("if %s; want a put or delete if any of a table that is plain", op.If)
	case t.KeyOnly && (op.If != Any || op.Do != Put && op.Do != Delete || !op.Row.isKey()):
		return op.invalid("want a put or delete of a key alone, if any, of a table that is bare")
	case (op.Do == Patch || op.Do == Fence) && t.Class != Records:
		return op.invalid("it is for records, and these are %s", t.Class)
	case op.Do == Patch && op.If != Present && op.If != AtRev:
		return op.invalid("if %s; want present or at rev", op.If)
	case op.Do == Fence && op.If != Absent && op.If != AtRev:
		return op.invalid("if %s; want absent or at rev", op.If)
	case op.Do == Put:
		return op.validatePut()
	case op.Do == Patch:
		return op.validateEdits()
	}
	return nil
}

// isKey reports whether a row is to have a key alone.
func (r *Row) isKey() bool {
	return len(r.Fields) == 0 && len(r.Extra) == 0 && r.Expires == 0 && r.Meta == "" && !r.Dead
}

func (op *Op) invalid(format string, args ...any) error {
	return fmt.Errorf("%s on table %s: %s: %w", op.Do, op.Table.Name, fmt.Sprintf(format, args...), ErrInvalid)
}

func (op *Op) validatePut() error {
	t, r := op.Table, &op.Row
	if len(r.Fields) > len(t.Fields) {
		return op.invalid("the row has %d fields and the table %d", len(r.Fields), len(t.Fields))
	}
	if r.Dead && t.Class != Records {
		return op.invalid("only records can be dead, and these are %s", t.Class)
	}
	for i := range r.Extra {
		name := r.Extra[i].Name
		if t.declares(name) {
			return op.invalid("the table declares the field %s, and the row has it as an extra one", name)
		}
		if i > 0 && r.Extra[i-1].Name >= name {
			return op.invalid("extra field %s does not come after the one before it", name)
		}
	}
	return nil
}

func (op *Op) validateEdits() error {
	t := op.Table
	for i := range op.Edits {
		e := &op.Edits[i]
		switch {
		case e.Field < -1 || e.Field >= len(t.Fields):
			return op.invalid("the table has no field %d to edit", e.Field)
		case e.Field == -1 && t.declares(e.Name):
			return op.invalid("the table declares the field %s; edit it by its ordinal", e.Name)
		case e.Do > Add:
			return op.invalid("the verb %d of an edit is unknown", e.Do)
		case e.Do == Add && e.Value.Kind() != Int:
			return op.invalid("add of a value of kind %s, want int", e.Value.Kind())
		case slices.ContainsFunc(op.Edits[:i], e.same):
			return op.invalid("two edits of one field")
		}
	}
	return nil
}

// same reports whether both edits are of one field.
func (e *Edit) same(o Edit) bool {
	return e.Field == o.Field && (e.Field >= 0 || e.Name == o.Name)
}

func (t *Table) declares(field string) bool {
	return slices.ContainsFunc(t.Fields, func(c Column) bool { return c.Name == field })
}

// ValidateMask says which ordinal of a mask the table has no field for: ErrInvalid.
func (t *Table) ValidateMask(mask []int) error {
	for _, ordinal := range mask {
		if ordinal < 0 || ordinal >= len(t.Fields) {
			return fmt.Errorf("table %s has no field %d to read: %w", t.Name, ordinal, ErrInvalid)
		}
	}
	return nil
}
