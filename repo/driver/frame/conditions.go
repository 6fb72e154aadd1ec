package frame

import "github.com/polystore/polystore/repo/driver"

// Holds says whether the condition of op is true of a row, which has no Rev if there is
// none.
func Holds(op *driver.Op, row *driver.Row) bool {
	switch op.If {
	case driver.Absent:
		return row.Rev.IsZero()
	case driver.Present:
		return !row.Rev.IsZero() && !row.Dead
	case driver.AtRev:
		return !row.Rev.IsZero() && row.Rev == op.Rev
	}
	return true
}

// Refuse returns the refusal of the first op that rows refuse, nil if they refuse none.
func Refuse(ops []driver.Op, rows []driver.Row) *driver.Refusal {
	for i := range ops {
		if !Holds(&ops[i], &rows[i]) {
			return &driver.Refusal{Op: i, Row: rows[i]}
		}
		if at := Overflows(&ops[i], &rows[i]); at >= 0 {
			return &driver.Refusal{Op: i, Row: rows[i], Overflow: true, Edit: at}
		}
	}
	return nil
}

// Overflows returns the place of the first edit of op that cannot be done to a row, or
// -1.
func Overflows(op *driver.Op, row *driver.Row) int {
	if op.Do != driver.Patch {
		return -1
	}
	for i := range op.Edits {
		if e := &op.Edits[i]; e.Do == driver.Add {
			if _, ok := Sum(FieldOf(row, e), e.Value.Int()); !ok {
				return i
			}
		}
	}
	return -1
}

// Sum adds to a value, if it is an int or absent and the sum is an int.
func Sum(have driver.Value, more int64) (driver.Value, bool) {
	if !have.IsNone() && have.Kind() != driver.Int {
		return have, false
	}
	sum := have.Int() + more
	return driver.IntValue(sum), (have.Int() < 0) != (more < 0) || (sum < 0) == (more < 0)
}

// Edited returns the value of a field after an edit; ok is false for a sum that cannot be.
func Edited(have driver.Value, e *driver.Edit) (next driver.Value, ok bool) {
	switch e.Do {
	case driver.Unset:
		return driver.Value{}, true
	case driver.Add:
		return Sum(have, e.Value.Int())
	}
	return e.Value, true
}

// FieldOf returns the value of a row that an edit means.
func FieldOf(row *driver.Row, e *driver.Edit) driver.Value {
	if e.Field >= 0 {
		if e.Field < len(row.Fields) {
			return row.Fields[e.Field]
		}
		return driver.Value{}
	}
	for i := range row.Extra {
		if row.Extra[i].Name == e.Name {
			return row.Extra[i].Value
		}
	}
	return driver.Value{}
}
