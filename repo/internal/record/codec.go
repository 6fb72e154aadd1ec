package record

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"time"
	"unicode/utf8"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
)

// A coder converts between Go values of one type and driver values of one kind.
// It is made once a type; kind is None for an interface.
type coder struct {
	Kind driver.Kind
	Elem driver.Kind // of a List: the kind of its elements
	enc  func(v reflect.Value, depth int) (driver.Value, error)
	Dec  func(v driver.Value, into reflect.Value) error

	round rounder
	part  func(name string) *Field // of a map, a struct or a list; nil where values have no parts
	parts func() []string          // of a struct: their names
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	anyType       = reflect.TypeFor[any]()
	marshalType   = reflect.TypeFor[encoding.TextMarshaler]()
	unmarshalType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// A coders makes coders, and knows those under way for types that hold themselves.
type coders struct {
	made    map[reflect.Type]*coder
	version reflect.Type // of version fields; nil where there are none
	paths   bool         // a field may be named by a path into another one
}

func newCoders(version reflect.Type) coders { return coders{map[reflect.Type]*coder{}, version, false} }

func (m coders) of(t reflect.Type) (*coder, error) {
	if c := m.made[t]; c != nil {
		return c, nil
	}
	c := &coder{}
	if t.Kind() == reflect.Struct {
		c.Kind = driver.Map // for pointers to a type that is under way
	}
	m.made[t] = c
	made, err := m.make(t)
	if err != nil {
		delete(m.made, t) // so that each field of the type is told of
		return nil, err
	}
	*c = made
	return c, nil
}

func (m coders) make(t reflect.Type) (coder, error) {
	switch {
	case t == timeType:
		return timeCoder(), nil
	case t == anyType:
		return anyCoder(), nil
	case isText(t):
		return textCoder(), nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return boolCoder(), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intCoder(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintCoder(), nil
	case reflect.Float32, reflect.Float64:
		return floatCoder(), nil
	case reflect.String:
		return stringCoder(), nil
	case reflect.Pointer:
		return m.pointer(t)
	case reflect.Slice, reflect.Array:
		return m.list(t)
	case reflect.Map:
		return m.mapping(t)
	case reflect.Struct:
		return m.structure(t)
	}
	return coder{}, fmt.Errorf("type %s cannot be stored; make it implement encoding.TextMarshaler and TextUnmarshaler: %w", t, driver.ErrSchema)
}

// mismatch is the error of a stored value that does not fit a Go type. A value that is
// absent within a list has no place there: [driver.Value] says so.
func mismatch(v driver.Value, into reflect.Value) error {
	if v.IsNone() {
		return errNull
	}
	return fmt.Errorf("a stored %s does not fit a Go %s: %w", v.Kind(), into.Type(), driver.ErrSchema)
}

// isText reports whether values of a type are stored as the text that they make.
func isText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshalType) && p.Implements(unmarshalType)
}

// farOff reports whether an int64 cannot hold the Unix milliseconds of a time.
func farOff(t time.Time) bool {
	const most = math.MaxInt64/1000 - 1
	s := t.Unix()
	return s > most || s < -most
}

// timeValue returns t as a value.
func timeValue(t time.Time) (driver.Value, error) {
	if farOff(t) {
		return driver.Value{}, failure.Invalid("a time is too far off for milliseconds")
	}
	return driver.TimeValue(t.UnixMilli()), nil
}

// address returns a pointer to the T that v is, or to a copy if v has no address.
// Unlike v.Interface and v.Set it allocates nothing in the first case.
func address[T any](v reflect.Value) *T {
	if v.CanAddr() {
		return v.Addr().Interface().(*T)
	}
	t := v.Interface().(T)
	return &t
}

func boolCoder() coder {
	return coder{Kind: driver.Bool,
		enc: func(v reflect.Value, _ int) (driver.Value, error) { return driver.BoolValue(v.Bool()), nil },
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.Bool {
				return mismatch(v, into)
			}
			into.SetBool(v.Bool())
			return nil
		}}
}

func intCoder() coder {
	return coder{Kind: driver.Int,
		enc: func(v reflect.Value, _ int) (driver.Value, error) { return driver.IntValue(v.Int()), nil },
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.Int || into.OverflowInt(v.Int()) {
				return mismatch(v, into)
			}
			into.SetInt(v.Int())
			return nil
		}}
}

func uintCoder() coder {
	return coder{Kind: driver.Int,
		enc: func(v reflect.Value, _ int) (driver.Value, error) {
			if v.Uint() > math.MaxInt64 {
				return driver.Value{}, failure.Invalid("a number is over %d, the greatest integer", int64(math.MaxInt64))
			}
			return driver.IntValue(int64(v.Uint())), nil
		},
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.Int || v.Int() < 0 || into.OverflowUint(uint64(v.Int())) {
				return mismatch(v, into)
			}
			into.SetUint(uint64(v.Int()))
			return nil
		}}
}

func floatCoder() coder {
	return coder{Kind: driver.Float,
		enc: func(v reflect.Value, _ int) (driver.Value, error) {
			if math.IsNaN(v.Float()) {
				return driver.Value{}, failure.Invalid("not a number (NaN)")
			}
			return driver.FloatValue(v.Float()), nil
		},
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.Float || into.OverflowFloat(v.Float()) {
				return mismatch(v, into)
			}
			into.SetFloat(v.Float())
			return nil
		}}
}

func textValue(s string) (driver.Value, error) {
	if !utf8.ValidString(s) {
		return driver.Value{}, failure.Invalid("text is not valid UTF-8")
	}
	return driver.StringValue(s), nil
}

func stringCoder() coder {
	return coder{Kind: driver.String,
		enc: func(v reflect.Value, _ int) (driver.Value, error) { return textValue(v.String()) },
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.String {
				return mismatch(v, into)
			}
			into.SetString(v.Str())
			return nil
		}}
}

func textCoder() coder {
	return coder{Kind: driver.String,
		enc: func(v reflect.Value, _ int) (driver.Value, error) {
			if !v.CanAddr() { // the method may be one of the pointer
				p := reflect.New(v.Type()).Elem()
				p.Set(v)
				v = p
			}
			text, err := v.Addr().Interface().(encoding.TextMarshaler).MarshalText()
			if err != nil {
				return driver.Value{}, fmt.Errorf("%w: %w", driver.Hide(err, "its text cannot be made"), driver.ErrInvalid)
			}
			return textValue(string(text))
		},
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.String {
				return mismatch(v, into)
			}
			if err := into.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(v.Str())); err != nil {
				return fmt.Errorf("%w: %w", driver.Hide(err, "its text cannot be read"), driver.ErrSchema)
			}
			return nil
		}}
}

func timeCoder() coder {
	return coder{Kind: driver.Time, round: roundTime(milliseconds),
		enc: func(v reflect.Value, _ int) (driver.Value, error) {
			return timeValue(*address[time.Time](v))
		},
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.Time {
				return mismatch(v, into)
			}
			*address[time.Time](into) = time.UnixMilli(v.Int()).UTC()
			return nil
		}}
}

// nanosCoder keeps a time as its Unix nanoseconds; the zero time is absent.
func nanosCoder() *coder {
	return &coder{Kind: driver.Int, round: roundTime(nanoseconds),
		enc: func(v reflect.Value, _ int) (driver.Value, error) {
			t := *address[time.Time](v)
			if t.IsZero() {
				return driver.Value{}, nil
			}
			if n := t.UnixNano(); time.Unix(0, n).Equal(t) {
				return driver.IntValue(n), nil
			}
			return driver.Value{}, failure.Invalid("a time is too far off for nanoseconds (1678 to 2262)")
		},
		Dec: func(v driver.Value, into reflect.Value) error {
			if v.Kind() != driver.Int {
				return mismatch(v, into)
			}
			*address[time.Time](into) = time.Unix(0, v.Int()).UTC()
			return nil
		}}
}
