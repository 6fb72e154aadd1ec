package record

import (
	"fmt"
	"reflect"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
)

// anyCoder keeps a value of whatever type it has.
func anyCoder() coder {
	return coder{Kind: driver.None, round: roundAny,
		enc: func(v reflect.Value, depth int) (driver.Value, error) {
			if v.IsNil() {
				return driver.Value{}, nil
			}
			return EncodeAny(v.Interface(), depth)
		},
		Dec: func(v driver.Value, into reflect.Value) error {
			x, err := AnyOf(v)
			if err == nil {
				into.Set(reflect.ValueOf(x))
			}
			return err
		},
		part: somePart}
}

// errNull is the error of a list with an element that is absent. No list is written so.
var errNull = fmt.Errorf("a null where a value belongs: another program wrote it; mend or remove it: %w", driver.ErrCorrupt)

// EncodeAny returns the driver value of x, by x's own type.
func EncodeAny(x any, depth int) (driver.Value, error) {
	switch x := x.(type) {
	case nil:
		return driver.Value{}, nil
	case string:
		return textValue(x)
	case bool:
		return driver.BoolValue(x), nil
	case int:
		return driver.IntValue(int64(x)), nil
	case int64:
		return driver.IntValue(x), nil
	case time.Time:
		return timeValue(x)
	}
	if depth >= limit.MaxDepth {
		return driver.Value{}, tooDeep()
	}
	v := reflect.ValueOf(x)
	c, err := newCoders(nil).of(v.Type())
	if err != nil {
		return driver.Value{}, fmt.Errorf("%w: %w", err, driver.ErrInvalid)
	}
	return c.enc(v, depth)
}

// AnyOf returns v as the plainest Go value: bool, int64, float64, string, []byte,
// time.Time in UTC, []any or map[string]any. An absent value is ErrCorrupt, except
// within a map: there the key is left out.
func AnyOf(v driver.Value) (any, error) {
	switch v.Kind() {
	case driver.Bool:
		return v.Bool(), nil
	case driver.Int:
		return v.Int(), nil
	case driver.Float:
		return v.Float(), nil
	case driver.String:
		return v.Str(), nil
	case driver.Bytes:
		return []byte(v.Str()), nil
	case driver.Time:
		return time.UnixMilli(v.Int()).UTC(), nil
	case driver.List:
		return anyList(v.List())
	case driver.Map:
		return anyMap(v.List())
	}
	return nil, errNull
}

func anyList(from []driver.Value) (any, error) {
	list := make([]any, len(from))
	for i, v := range from {
		x, err := AnyOf(v)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		list[i] = x
	}
	return list, nil
}

func anyMap(flat []driver.Value) (any, error) {
	m := make(map[string]any, len(flat)/2)
	for i := 0; i+1 < len(flat); i += 2 {
		if flat[i+1].IsNone() {
			continue
		}
		x, err := AnyOf(flat[i+1])
		if err != nil {
			return nil, fmt.Errorf("a map entry: %w", err)
		}
		m[flat[i].Str()] = x
	}
	return m, nil
}

// ValueAs returns x, which a caller gave for a field, as a value of the field's
// kind; field is its name for errors. An integer is accepted for a Float, and a time
// for an Int if nanos says that the field keeps a time's nanoseconds.
func ValueAs[Name string | driver.Private](x any, field Name, kind driver.Kind, nanos bool) (driver.Value, error) {
	v, err := EncodeAny(x, 0)
	if err != nil {
		return v, driver.Errorf("%s: %w", field, err)
	}
	switch {
	case nanos && v.Kind() == driver.Time:
		at := reflect.ValueOf(x)
		for at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		return nanosCoder().enc(at, 0)
	case v.Kind() == kind, v.IsNone():
		return v, nil
	case v.Kind() == driver.Int && kind == driver.Float:
		return driver.FloatValue(float64(v.Int())), nil
	}
	return driver.Value{}, failure.Invalid("%s is of kind %s, not %s", field, kind, v.Kind())
}
