package record

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// SomeOf returns the shape of maps that have some fields of records, or parts of them, under their names.
func SomeOf(names []string, version reflect.Type) *Mapping {
	return &Mapping{IsMap: true, only: names, versions: version}
}

// IsWhole reports whether a shape has fields that are read with the whole record alone: any that it may have, or
// undeclared ones.
func (s *Mapping) IsWhole() bool {
	if s.only != nil {
		return slices.ContainsFunc(s.Fields, func(f placedField) bool { return f.At < 0 })
	}
	return s.IsMap || s.Extra != nil
}

// decodeSome is decodeMap for some fields.
func (s *Mapping) decodeSome(r *Record, v reflect.Value) error {
	m := make(map[string]any, len(s.Fields))
	for i := range s.Fields {
		f := &s.Fields[i]
		x := Within(r.valueOf(f), f.Path)
		if x.IsNone() {
			continue
		}
		of, err := AnyOf(x)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		m[f.Name] = of
	}
	v.Set(reflect.ValueOf(m).Convert(v.Type()))
	return nil
}

// valueOf returns the value of a field, which may be undeclared, or of that in which it is.
func (r *Record) valueOf(f *placedField) driver.Value {
	if f.At >= 0 {
		return r.Vals[f.At]
	}
	name, _ := CutPath(f.Name)
	if i := slices.IndexFunc(r.Extra, func(p driver.Pair) bool { return p.Name == name }); i >= 0 {
		return r.Extra[i].Value
	}
	return driver.Value{}
}
