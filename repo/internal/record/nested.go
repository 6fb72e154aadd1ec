package record

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
)

func (m coders) pointer(t reflect.Type) (coder, error) {
	elem, err := m.of(t.Elem())
	if err != nil {
		return coder{}, err
	}
	kind := elem.Kind
	return coder{Kind: kind, round: roundPointer(elem),
		enc: func(v reflect.Value, depth int) (driver.Value, error) {
			if v.IsNil() {
				return driver.Value{}, nil
			}
			if depth >= limit.MaxDepth {
				return driver.Value{}, tooDeep()
			}
			return elem.enc(v.Elem(), depth+1)
		},
		Dec: func(v driver.Value, into reflect.Value) error {
			into.Set(reflect.New(t.Elem()))
			return elem.Dec(v, into.Elem())
		},
		part: func(name string) *Field {
			if elem.part == nil { // it is known when the type is whole
				return nil
			}
			return elem.part(name)
		},
		parts: func() []string {
			if elem.parts == nil {
				return nil
			}
			return elem.parts()
		}}, nil
}

func tooDeep() error {
	return failure.Invalid("value is nested over %d deep, or holds itself", limit.MaxDepth)
}

func (m coders) list(t reflect.Type) (coder, error) {
	if t.Elem().Kind() == reflect.Uint8 && t.Kind() == reflect.Slice {
		return bytesCoder(), nil
	}
	elem, err := m.of(t.Elem())
	if err != nil {
		return coder{}, err
	}
	return coder{Kind: driver.List, Elem: elem.Kind, round: roundList(elem),
		enc: func(v reflect.Value, depth int) (driver.Value, error) { return encodeList(elem, v, depth) },
		Dec: func(v driver.Value, into reflect.Value) error { return decodeList(elem, v, into) },
		part: func(name string) *Field {
			if _, ok := ElementAt(name); !ok {
				return nil
			}
			return &Field{coder: elem}
		}}, nil
}

func bytesCoder() coder {
	return coder{Kind: driver.Bytes,
		enc: func(v reflect.Value, _ int) (driver.Value, error) { return driver.BytesValue(string(v.Bytes())), nil },
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.Bytes {
				return mismatch(v, into)
			}
			into.SetBytes([]byte(v.Str()))
			return nil
		}}
}

func encodeList(elem *coder, v reflect.Value, depth int) (driver.Value, error) {
	if depth >= limit.MaxDepth {
		return driver.Value{}, tooDeep()
	}
	list := make([]driver.Value, v.Len())
	for i := range list {
		x, err := elem.enc(v.Index(i), depth+1)
		if err == nil && x.IsNone() {
			err = failure.Invalid("an element of a list may not be nil or empty")
		}
		if err != nil {
			return driver.Value{}, fmt.Errorf("[%d]: %w", i, err)
		}
		list[i] = x
	}
	return driver.ListValue(list), nil
}

func decodeList(elem *coder, v driver.Value, into reflect.Value) error {
	list := v.List()
	if v.Kind() != driver.List {
		return mismatch(v, into)
	}
	if into.Kind() == reflect.Slice {
		into.Set(reflect.MakeSlice(into.Type(), len(list), len(list)))
	} else if len(list) != into.Len() {
		return mismatch(v, into)
	}
	for i, x := range list {
		if err := elem.Dec(x, into.Index(i)); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

func (m coders) mapping(t reflect.Type) (coder, error) {
	if t.Key().Kind() != reflect.String {
		return coder{}, fmt.Errorf("map %s has keys that are not text: %w", t, driver.ErrSchema)
	}
	elem, err := m.of(t.Elem())
	if err != nil {
		return coder{}, err
	}
	return coder{Kind: driver.Map, round: roundMap(elem),
		enc:  func(v reflect.Value, depth int) (driver.Value, error) { return encodeMap(elem, v, depth) },
		Dec:  func(v driver.Value, into reflect.Value) error { return decodeMap(elem, v, into) },
		part: func(string) *Field { return &Field{coder: elem} }}, nil
}

// CheckMapKey is ErrInvalid for a text that no map can have as a key.
func CheckMapKey(k string) error {
	if !utf8.ValidString(k) || strings.IndexByte(k, 0) >= 0 {
		return failure.Invalid("a map key is not valid UTF-8 or holds NUL")
	}
	return nil
}

func encodeMap(elem *coder, v reflect.Value, depth int) (driver.Value, error) {
	if depth >= limit.MaxDepth {
		return driver.Value{}, tooDeep()
	}
	var pairs []driver.Pair
	for it := v.MapRange(); it.Next(); {
		k := it.Key().String()
		x, err := elem.enc(it.Value(), depth+1)
		if err == nil {
			err = CheckMapKey(k)
		}
		if err != nil {
			return driver.Value{}, fmt.Errorf("a map entry: %w", err)
		}
		if !x.IsNone() {
			pairs = append(pairs, driver.Pair{Name: k, Value: x})
		}
	}
	return mapOf(pairs), nil
}

// mapOf returns pairs, in any order, as a Map.
func mapOf(pairs []driver.Pair) driver.Value {
	SortPairs(pairs)
	flat := make([]driver.Value, 0, 2*len(pairs))
	for _, p := range pairs {
		flat = append(flat, driver.StringValue(p.Name), p.Value)
	}
	return driver.MapValue(flat)
}

// SortPairs sorts fields by name, as stores keep them.
func SortPairs(pairs []driver.Pair) {
	sort.Slice(pairs, func(i, j int) bool { return pairs[i].Name < pairs[j].Name })
}

func decodeMap(elem *coder, v driver.Value, into reflect.Value) error {
	if v.Kind() != driver.Map {
		return mismatch(v, into)
	}
	flat, t := v.List(), into.Type()
	into.Set(reflect.MakeMapWithSize(t, len(flat)/2))
	for i := 0; i+1 < len(flat); i += 2 {
		if flat[i+1].IsNone() {
			continue
		}
		x := reflect.New(t.Elem()).Elem()
		if err := elem.Dec(flat[i+1], x); err != nil {
			return fmt.Errorf("a map entry: %w", err)
		}
		into.SetMapIndex(reflect.ValueOf(flat[i].Str()).Convert(t.Key()), x)
	}
	return nil
}

// structure keeps a nested struct as a Map of its fields.
func (m coders) structure(t reflect.Type) (coder, error) {
	m.paths = false
	fields, err := structFields(t, m)
	if err != nil {
		return coder{}, err
	}
	for _, f := range fields {
		if f.role != roleField {
			return coder{}, fmt.Errorf("type %s: field %s: a nested struct has no version, expiry or extra fields: %w", t, f.goName, driver.ErrSchema)
		}
	}
	if len(fields) == 0 && t.NumField() > 0 {
		return coder{}, fmt.Errorf("type %s has no exported field, so nothing of it would be stored; make it implement encoding.TextMarshaler and TextUnmarshaler, or leave it out by `repo:\"-\"`: %w", t, driver.ErrSchema)
	}
	byName := map[string]*Field{}
	for i := range fields {
		byName[fields[i].Name] = &fields[i]
	}
	return coder{Kind: driver.Map, round: roundStruct(fields),
		enc:   func(v reflect.Value, depth int) (driver.Value, error) { return encodeStruct(fields, v, depth) },
		Dec:   func(v driver.Value, into reflect.Value) error { return decodeStruct(byName, v, into) },
		part:  func(name string) *Field { return byName[name] },
		parts: func() []string { return slices.Sorted(maps.Keys(byName)) }}, nil
}

func encodeStruct(fields []Field, v reflect.Value, depth int) (driver.Value, error) {
	if depth >= limit.MaxDepth {
		return driver.Value{}, tooDeep()
	}
	pairs := make([]driver.Pair, 0, len(fields))
	for i := range fields {
		x, err := fields[i].enc(v.FieldByIndex(fields[i].index), depth+1)
		if err != nil {
			return driver.Value{}, fmt.Errorf("%s: %w", fields[i].Name, err)
		}
		if !x.IsNone() {
			pairs = append(pairs, driver.Pair{Name: fields[i].Name, Value: x})
		}
	}
	return mapOf(pairs), nil
}

func decodeStruct(byName map[string]*Field, v driver.Value, into reflect.Value) error {
	if v.Kind() != driver.Map {
		return mismatch(v, into)
	}
	into.SetZero()
	flat := v.List()
	for i := 0; i+1 < len(flat); i += 2 {
		f := byName[flat[i].Str()]
		if f == nil || flat[i+1].IsNone() {
			continue
		}
		if err := f.Dec(flat[i+1], into.FieldByIndex(f.index)); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}
