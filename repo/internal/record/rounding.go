package record

import (
	"reflect"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A store keeps the milliseconds of a time, in UTC. So a record that was written is given the times that
// it has when it is read: else the first answer of a service would differ from the next.

// A rounder gives the times in v, which can be set, what is stored of them, and reports whether one
// changed. What v refers to may be somebody else's, too: where something changes there, v refers to a
// copy from then on. A type whose values hold no time has none.
type rounder func(v reflect.Value) (changed bool)

func milliseconds(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// nanoseconds leaves the zero time, which is absent, as it is.
func nanoseconds(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.Unix(0, t.UnixNano()).UTC()
}

func roundTime(round func(time.Time) time.Time) rounder {
	return func(v reflect.Value) bool {
		t := address[time.Time](v)
		was := *t
		*t = round(was)
		return *t != was
	}
}

// roundAny goes by the type that a value has.
func roundAny(v reflect.Value) bool {
	if v.IsNil() {
		return false
	}
	switch v.Interface().(type) {
	case string, bool, int, int64, float64:
		return false
	}
	c, err := newCoders(nil).of(v.Elem().Type())
	if err != nil || c.round == nil {
		return false
	}
	next := reflect.New(v.Elem().Type()).Elem()
	next.Set(v.Elem())
	changed := c.round(next)
	if changed {
		v.Set(next)
	}
	return changed
}

// isOpen reports whether a coder is under way, for a type that holds itself.
func (c *coder) isOpen() bool { return c.enc == nil }

// mayRound reports whether values of c may hold times.
func (c *coder) mayRound() bool { return c.round != nil || c.isOpen() }

func (c *coder) roundIn(v reflect.Value) bool { return c.round != nil && c.round(v) }

func roundPointer(elem *coder) rounder {
	if !elem.mayRound() {
		return nil
	}
	return func(v reflect.Value) bool {
		if v.IsNil() {
			return false
		}
		next := reflect.New(v.Type().Elem())
		next.Elem().Set(v.Elem())
		changed := elem.roundIn(next.Elem())
		if changed {
			v.Set(next)
		}
		return changed
	}
}

func roundList(elem *coder) rounder {
	if !elem.mayRound() {
		return nil
	}
	return func(v reflect.Value) (changed bool) {
		next := v
		if v.Kind() == reflect.Slice {
			next = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(next, v)
		}
		for i := range next.Len() {
			changed = elem.roundIn(next.Index(i)) || changed
		}
		if changed && v.Kind() == reflect.Slice {
			v.Set(next)
		}
		return changed
	}
}

func roundMap(elem *coder) rounder {
	if !elem.mayRound() {
		return nil
	}
	return func(v reflect.Value) (changed bool) {
		next := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			x := reflect.New(v.Type().Elem()).Elem()
			x.Set(it.Value())
			changed = elem.roundIn(x) || changed
			next.SetMapIndex(it.Key(), x)
		}
		if changed {
			v.Set(next)
		}
		return changed
	}
}

func roundStruct(fields []Field) rounder {
	may := false
	for i := range fields {
		may = may || fields[i].mayRound()
	}
	if !may {
		return nil
	}
	return func(v reflect.Value) (changed bool) {
		for i := range fields {
			changed = fields[i].roundIn(v.FieldByIndex(fields[i].index)) || changed
		}
		return changed
	}
}

// round gives the record v, of which r was made, the times that r has.
func (s *Mapping) round(v reflect.Value, r *Record) {
	if s.IsMap {
		m := v.Interface().(map[string]any)
		for name := range m {
			x := m[name]
			if roundAny(reflect.ValueOf(&x).Elem()) {
				m[name] = x
			}
		}
		return
	}
	p := v.Addr().UnsafePointer()
	for i := range s.Fields {
		if f := &s.Fields[i]; f.round != nil && (f.Plain != driver.Time || !f.load(&r.Vals[f.At], p)) {
			f.round(v.FieldByIndex(f.index))
		}
	}
	if s.Expires != nil {
		*address[time.Time](v.FieldByIndex(s.Expires)) = timeOfExpiry(r.Expires)
	}
	if s.Extra != nil {
		roundExtra(v.FieldByIndex(s.Extra))
	}
}

var roundExtra = roundMap(&coder{round: roundAny})
