package record

import (
	"reflect"
	"time"
)

// A store keeps the milliseconds of a time, in UTC. So a record that was written is given the times that
// it has when it is read: else the first answer of a service would differ from the next.

// A rounder gives the times in v what is stored of them, and reports whether one changes. With look it
// reports no more than that; else v can be set. What v refers to may be somebody else's, too: where
// something changes there, v refers to a copy from then on, and nothing is copied or set where nothing
// changes. A type whose values hold no time has none.
type rounder func(v reflect.Value, look bool) (changes bool)

func milliseconds(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// nanoseconds leaves the zero time, which is absent, as it is.
func nanoseconds(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return time.Unix(0, t.UnixNano()).UTC()
}

func roundTime(round func(time.Time) time.Time) rounder {
	return func(v reflect.Value, look bool) bool {
		t := address[time.Time](v)
		next := round(*t)
		differs := *t != next // in its zone, too
		if differs && !look {
			*t = next
		}
		return differs
	}
}

// roundAny goes by the type that a value has.
func roundAny(v reflect.Value, look bool) bool {
	if v.IsNil() {
		return false
	}
	switch v.Interface().(type) {
	case string, bool, int, int64, float64:
		return false
	}
	c, err := newCoders(nil).of(v.Elem().Type())
	if err != nil || !c.roundIn(v.Elem(), true) {
		return false
	}
	if !look {
		next := reflect.New(v.Elem().Type()).Elem()
		next.Set(v.Elem())
		c.round(next, false)
		v.Set(next)
	}
	return true
}

// isOpen reports whether a coder is under way, for a type that holds itself.
func (c *coder) isOpen() bool { return c.enc == nil }

// mayRound reports whether values of c may hold times.
func (c *coder) mayRound() bool { return c.round != nil || c.isOpen() }

func (c *coder) roundIn(v reflect.Value, look bool) bool { return c.round != nil && c.round(v, look) }

func roundPointer(elem *coder) rounder {
	if !elem.mayRound() {
		return nil
	}
	return func(v reflect.Value, look bool) bool {
		if v.IsNil() || !elem.roundIn(v.Elem(), true) {
			return false
		}
		if !look {
			next := reflect.New(v.Type().Elem())
			next.Elem().Set(v.Elem())
			elem.roundIn(next.Elem(), false)
			v.Set(next)
		}
		return true
	}
}

func roundList(elem *coder) rounder {
	if !elem.mayRound() {
		return nil
	}
	return func(v reflect.Value, look bool) (changes bool) {
		for i := range v.Len() {
			changes = changes || elem.roundIn(v.Index(i), true)
		}
		if !changes || look {
			return changes
		}
		if v.Kind() == reflect.Slice {
			next := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(next, v)
			v.Set(next)
		}
		for i := range v.Len() {
			elem.roundIn(v.Index(i), false)
		}
		return true
	}
}

func roundMap(elem *coder) rounder {
	if !elem.mayRound() {
		return nil
	}
	return func(v reflect.Value, look bool) (changes bool) {
		for it := v.MapRange(); !changes && it.Next(); {
			changes = elem.roundIn(it.Value(), true)
		}
		if !changes || look {
			return changes
		}
		next := reflect.MakeMapWithSize(v.Type(), v.Len())
		for it := v.MapRange(); it.Next(); {
			x := reflect.New(v.Type().Elem()).Elem()
			x.Set(it.Value())
			elem.roundIn(x, false)
			next.SetMapIndex(it.Key(), x)
		}
		v.Set(next)
		return true
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
	return func(v reflect.Value, look bool) (changes bool) {
		for i := range fields {
			changes = fields[i].roundIn(v.FieldByIndex(fields[i].index), look) || changes
		}
		return changes
	}
}

// round gives the record v, of which r was made, the times that r has.
func (s *Mapping) round(v reflect.Value, r *Record) {
	if s.IsMap {
		m := v.Interface().(map[string]any)
		for name, x := range m {
			if roundAny(reflect.ValueOf(&x).Elem(), false) {
				m[name] = x
			}
		}
		if r.Expires != 0 {
			m[MapExpires] = timeOfExpiry(r.Expires)
		}
		return
	}
	for i := range s.Fields {
		s.Fields[i].roundIn(v.FieldByIndex(s.Fields[i].index), false)
	}
	if s.Expires != nil {
		t, next := address[time.Time](v.FieldByIndex(s.Expires)), timeOfExpiry(r.Expires)
		if *t != next {
			*t = next
		}
	}
	if s.Extra != nil {
		roundExtra(v.FieldByIndex(s.Extra), false)
	}
}

var roundExtra = roundMap(&coder{round: roundAny})
