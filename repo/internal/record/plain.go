package record

import (
	"math"
	"reflect"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/polystore/polystore/repo/driver"
)

// Fields of the plain types bool, int, int64, float64, string and time.Time, or of
// types made from the first five, are read and written where they lie in the
// struct: reflection costs several times as much as all the rest. The coder of
// such a field does the same, and tells what is wrong where this file gives up.

// plainKind returns the kind of a plain type, or None. It agrees with coders.make.
func plainKind(t reflect.Type) driver.Kind {
	switch {
	case t == timeType:
		return driver.Time
	case isText(t):
		return driver.None
	}
	switch t.Kind() {
	case reflect.Bool:
		return driver.Bool
	case reflect.Float64:
		return driver.Float
	case reflect.String:
		return driver.String
	case reflect.Int, reflect.Int64:
		if t.Size() == unsafe.Sizeof(int64(0)) {
			return driver.Int
		}
	}
	return driver.None
}

// offsetOf returns where in a struct type the field with an index lies. There are
// no pointers on the way: see hidden.
func offsetOf(t reflect.Type, index []int) uintptr {
	var offset uintptr
	for _, i := range index {
		sf := t.Field(i)
		offset, t = offset+sf.Offset, sf.Type
	}
	return offset
}

// load sets the field to x if it is plain, lies in the struct at p, and x fits.
func (f *Field) load(x *driver.Value, p unsafe.Pointer) bool {
	if x.Kind() != f.Plain {
		return false
	}
	p = unsafe.Add(p, f.offset)
	switch f.Plain {
	case driver.String:
		*(*string)(p) = x.Str()
	case driver.Int:
		*(*int64)(p) = x.Int()
	case driver.Time:
		*(*time.Time)(p) = time.UnixMilli(x.Int()).UTC()
	case driver.Bool:
		*(*bool)(p) = x.Bool()
	case driver.Float:
		*(*float64)(p) = x.Float()
	default:
		return false
	}
	return true
}

// store sets x to the field if it is plain, lies in the struct at p, and can be
// stored.
func (f *Field) store(x *driver.Value, p unsafe.Pointer) bool {
	p = unsafe.Add(p, f.offset)
	switch f.Plain {
	case driver.String:
		s := *(*string)(p)
		*x = driver.StringValue(s)
		return utf8.ValidString(s)
	case driver.Int:
		*x = driver.IntValue(*(*int64)(p))
	case driver.Time:
		at := (*time.Time)(p)
		*x = driver.TimeValue(at.UnixMilli())
		return !farOff(*at)
	case driver.Bool:
		*x = driver.BoolValue(*(*bool)(p))
	case driver.Float:
		n := *(*float64)(p)
		*x = driver.FloatValue(n)
		return !math.IsNaN(n)
	default:
		return false
	}
	return true
}
