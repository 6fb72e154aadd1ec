package nested

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A kind is what a value of a sub-object is.
type kind uint8

const (
	absent kind = iota
	text
	integer
	truth
)

func (k kind) String() string { return [...]string{"absent", "text", "integer", "bool"}[k] }

// A value is comparable: equal values have the same kind and text.
type value struct {
	kind kind
	text string
}

// An object is the values of a sub-object, by the fields of the shape.
type object []value

var marshaler = reflect.TypeFor[encoding.TextMarshaler]()

func isMarshaler(t reflect.Type) bool {
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

// kindOf returns the kind of the values of a type, or absent if these have none.
func kindOf(t reflect.Type) kind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case isMarshaler(t):
		return absent
	case k == reflect.String:
		return text
	case k >= reflect.Int && k <= reflect.Int64, k >= reflect.Uint && k <= reflect.Uintptr:
		return integer
	case k == reflect.Bool:
		return truth
	}
	return absent
}

// valueOf returns the value of a variable of a type that has a kind; a nil pointer is absent.
func valueOf(v reflect.Value) (value, error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return value{}, nil
		}
		v = v.Elem()
	}
	switch {
	case v.Kind() == reflect.String:
		return value{text, v.String()}, nil
	case v.Kind() == reflect.Bool:
		return value{truth, strconv.FormatBool(v.Bool())}, nil
	case v.CanInt():
		return value{integer, strconv.FormatInt(v.Int(), 10)}, nil
	case v.Uint() > math.MaxInt64:
		return value{}, driver.Errorf("%s is above the greatest int64: %w", driver.Private(strconv.FormatUint(v.Uint(), 10)), repo.ErrInvalid)
	default:
		return value{integer, strconv.FormatUint(v.Uint(), 10)}, nil
	}
}

// givenValue returns the value that a caller asks for.
func givenValue(x any) (value, error) {
	v := reflect.ValueOf(x)
	if !v.IsValid() || kindOf(v.Type()) == absent || v.Kind() == reflect.Pointer {
		return value{}, fmt.Errorf("a value of type %T; a query asks for texts, integers and bools: %w", x, repo.ErrInvalid)
	}
	return valueOf(v)
}
