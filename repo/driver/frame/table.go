package frame

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// Validate says what no store can have in a table: ErrInvalid.
func Validate(t *driver.Table) error {
	if len(t.Partition) == 0 {
		return fmt.Errorf("table %s has no partition columns: %w", t.Name, driver.ErrInvalid)
	}
	for i, f := range t.Fields {
		if slices.ContainsFunc(t.Fields[:i], func(c driver.Column) bool { return c.Name == f.Name }) {
			return fmt.Errorf("table %s declares the field %s twice: %w", t.Name, f.Name, driver.ErrInvalid)
		}
	}
	return nil
}

// OtherKey is the error of declaring a table whose name has another key already.
func OtherKey(t *driver.Table) error {
	return fmt.Errorf("table %s exists with other key columns; take another name, or drop it: %w", t.Name, driver.ErrSchema)
}

// OtherKind is the error of declaring a field of t that is of another kind already.
func OtherKind(t *driver.Table, f driver.Column, have string) error {
	return fmt.Errorf("field %s of table %s is a %s, not a %s; take another name: %w", f.Name, t.Name, have, f.Kind, driver.ErrSchema)
}

// A Column is a driver.Column as a catalog has it, in JSON.
type Column struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	Desc bool   `json:"desc,omitempty"`
}

// Columns returns columns as a catalog has them, nil for none.
func Columns(cols []driver.Column) []Column {
	var list []Column
	for _, c := range cols {
		list = append(list, Column{c.Name, c.Kind.String(), c.Desc})
	}
	return list
}

// ParseColumns reads what Columns returned. A kind that there is not is ErrCorrupt.
func ParseColumns(cols []Column) ([]driver.Column, error) {
	var list []driver.Column
	for _, c := range cols {
		kind, ok := KindOf(c.Kind)
		if !ok {
			return nil, fmt.Errorf("column %s of kind %q: %w", c.Name, c.Kind, driver.ErrCorrupt)
		}
		list = append(list, driver.Column{Name: c.Name, Kind: kind, Desc: c.Desc})
	}
	return list, nil
}

// KindOf returns the kind of a column that a catalog has by its name.
func KindOf(name string) (driver.Kind, bool) {
	for k := driver.Bool; k <= driver.Map; k++ {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}
