package record

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// Records that are maps.

// The names under which a map record shows what a struct has tagged fields for.
const (
	mapVersion = "_version" // Version
	MapExpires = "_expires" // time.Time
)

func (s *Mapping) encodeMap(m map[string]any, r *Record, cols []driver.Column) error {
	for i := range s.Fields {
		f := &s.Fields[i]
		x, err := ValueAs(m[f.Name], f.Name, cols[f.At].Kind, false)
		if err != nil {
			return fmt.Errorf("field %w", err)
		}
		r.Vals[f.At] = x
	}
	for name, x := range m {
		if s.declares(name) {
			continue
		}
		if err := r.setMapField(name, x, s); err != nil {
			return err
		}
	}
	SortPairs(r.Extra)
	return nil
}

func (s *Mapping) declares(name string) bool {
	for i := range s.Fields {
		if s.Fields[i].Name == name {
			return true
		}
	}
	return false
}

func (r *Record) setMapField(name string, x any, s *Mapping) error {
	switch name {
	case mapVersion:
		v, ok := s.tokenIn(x)
		if !ok {
			return failure.Invalid("field %s is a %T, want a repo.Version", name, x)
		}
		r.Version = v
		return nil
	case MapExpires:
		t, ok := x.(time.Time)
		if !ok {
			return failure.Invalid("field %s is a %T, want a time.Time", name, x)
		}
		r.Expires = ExpiryOf(t)
		return nil
	}
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
	return nil
}

func (s *Mapping) decodeMap(r *Record, v reflect.Value) error {
	if s.only != nil {
		return s.decodeSome(r, v)
	}
	m := make(map[string]any, len(s.Fields)+len(r.Extra)+1)
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.At >= len(r.Vals) || r.Vals[f.At].IsNone() {
			continue
		}
		x, err := AnyOf(r.Vals[f.At])
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
		m[f.Name] = x
	}
	if err := r.addExtra(m); err != nil {
		return err
	}
	m[mapVersion] = s.boxed(r.Version)
	if r.Expires != 0 {
		m[MapExpires] = timeOfExpiry(r.Expires)
	}
	v.Set(reflect.ValueOf(m).Convert(v.Type()))
	return nil
}

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
