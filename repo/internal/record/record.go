package record

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// A Record is one record as values: the key parts, then the fields by ordinal.
type Record struct {
	Vals    []driver.Value
	Extra   []driver.Pair
	Expires int64
	Version driver.Token
	Keeps   bool // its type says nothing of undeclared fields, where other types do
}

// BytesIn returns about how many bytes a key and values have.
func BytesIn(key driver.Key, vals []driver.Value, extra []driver.Pair) int {
	size := len(key.Partition) + len(key.Sort)
	for i := range vals {
		size += SizeOf(&vals[i])
	}
	for i := range extra {
		size += len(extra[i].Name) + SizeOf(&extra[i].Value)
	}
	return size
}

// SizeOf returns about how many bytes a value has.
func SizeOf(v *driver.Value) int {
	n := 8 + len(v.Str())
	for i := range v.List() {
		n += SizeOf(&v.List()[i])
	}
	return n
}

// Has reports whether a record has an undeclared field.
func (r *Record) Has(name string) bool {
	return slices.ContainsFunc(r.Extra, func(p driver.Pair) bool { return p.Name == name })
}

// ExtraValue returns where the undeclared field name is kept, after making it.
func (r *Record) ExtraValue(name string) *driver.Value {
	i := slices.IndexFunc(r.Extra, func(p driver.Pair) bool { return p.Name == name })
	if i < 0 {
		i = len(r.Extra)
		r.Extra = append(r.Extra, driver.Pair{Name: name})
	}
	return &r.Extra[i].Value
}

// EditedValue returns what an edit makes of a value.
func EditedValue(old driver.Value, e driver.Edit) (driver.Value, error) {
	switch {
	case e.Do == driver.Set:
		return e.Value, nil
	case e.Do == driver.Unset:
		return driver.Value{}, nil
	case old.Kind() != driver.Int && !old.IsNone():
		return old, failure.Invalid("add to a %s", old.Kind())
	}
	a, b := old.Int(), e.Value.Int()
	sum := a + b
	if (a > 0) == (b > 0) && (sum > 0) != (a > 0) && a != 0 && b != 0 {
		return old, failure.Invalid("the sum is over the range of int64")
	}
	return driver.IntValue(sum), nil
}

// VersionOf returns the version of the record in a row.
func VersionOf(row *driver.Row) driver.Token {
	if len(row.Ring) > 0 {
		return row.Ring[0]
	}
	if row.Dead {
		return driver.Token{} // a fence made it; nobody wrote a record here
	}
	return row.Rev
}

func (r *Record) setExtra(m map[string]any, s *Mapping) error {
	for name, x := range m {
		if err := CheckExtra(name, s); err != nil {
			return err
		}
		v, err := EncodeAny(x, 1)
		if err != nil {
			return driver.Errorf("field %.64q: %w", driver.Private(name), err)
		}
		if !v.IsNone() {
			r.Extra = append(r.Extra, driver.Pair{Name: name, Value: v})
		}
	}
	SortPairs(r.Extra)
	return nil
}

// A column is a field of a collection, with its position.
type column struct {
	name string
	at   int
}

// addOthers adds fields at some positions to m.
func (r *Record) addOthers(m map[string]any, cols []column) error {
	for _, col := range cols {
		if col.at >= len(r.Vals) || r.Vals[col.at].IsNone() {
			continue
		}
		x, err := AnyOf(r.Vals[col.at])
		if err != nil {
			return fmt.Errorf("field %s: %w", col.name, err)
		}
		m[col.name] = x
	}
	return nil
}

// addExtra adds the undeclared fields to m.
func (r *Record) addExtra(m map[string]any) error {
	for _, p := range r.Extra {
		if p.Value.IsNone() {
			continue
		}
		x, err := AnyOf(p.Value)
		if err != nil {
			return driver.Errorf("field %.64q: %w", driver.Private(p.Name), err)
		}
		m[p.Name] = x
	}
	return nil
}
