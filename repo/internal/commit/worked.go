package commit

import (
	"math"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
)

// A ListVerb says what an edit does with a list.
type ListVerb uint8

// The edits of lists.
const (
	Push      ListVerb = 1 + iota // after its last element
	PushFront                     // before its first
	Pull                          // away, wherever they are
)

// A worked edit goes by what a field holds, and sets it.
type worked struct {
	edit int // its place among the edits of the driver
	work func(old driver.Value, in *record.Field) (driver.Value, error)
}

// isWithin reports whether a name is another one, or that of a part of it.
func isWithin(name, other string) bool {
	rest, ok := strings.CutPrefix(name, other)
	return ok && (rest == "" || rest[0] == '.')
}

// addWorked compiles an edit of a field, at a path in it, which goes by what is there.
func (r editor) addWorked(list []driver.Edit, work []worked, e Edit, name string, path []string) ([]driver.Edit, []worked, error) {
	d := driver.Edit{Do: driver.Set, Field: -1, Name: name}
	if at := r.At(name); at >= 0 {
		d.Field = at - len(r.Key)
		if err := r.takes(e, r.Cols[at], path); err != nil {
			return nil, nil, err
		}
	} else if err := record.CheckExtra(name, &record.Mapping{}); err != nil {
		return nil, nil, err
	}
	fit, nanos, err := r.fitting(e.Field, path)
	if err != nil {
		return nil, nil, err
	}
	change, err := workOf(e, nanos)
	if err != nil {
		return nil, nil, driver.Errorf("%s: %w", r.Shown(e.Field), err)
	}
	at := slices.IndexFunc(list, func(o driver.Edit) bool { return o.Name == name })
	if at < 0 {
		at, list = len(list), append(list, d)
	}
	return list, append(work, worked{at, func(old driver.Value, in *record.Field) (driver.Value, error) {
		v, err := within(old, path, func(old driver.Value) (driver.Value, error) {
			v, err := change(old)
			if err != nil {
				return v, err
			}
			return fit(v, in)
		})
		if err != nil {
			err = driver.Errorf("%s: %w", r.Shown(e.Field), err)
		}
		return v, err
	}}), nil
}

// fitting returns what makes a new value at a path what a struct would have there: none where an empty one is absent, and
// a float of an integer. It is given the field of the type that the record has, nil if that is undeclared. Nanos says that
// a time is kept there with its nanoseconds. A path to a part that no record can have is ErrInvalid.
func (r editor) fitting(name string, path []string) (fit func(driver.Value, *record.Field) (driver.Value, error), nanos bool, err error) {
	_, kind, err := r.Find(name)
	return func(v driver.Value, in *record.Field) (driver.Value, error) {
		kind := kind
		if path != nil && in != nil {
			of, err := layout.KindOf(in, path)
			if err != nil || v.Equal(in.Part(path).Empty) {
				return driver.Value{}, err
			}
			if of.Kind != driver.None {
				kind = of
			}
		}
		if path != nil && kind.Kind == driver.Float && v.Kind() == driver.Int {
			v = driver.FloatValue(float64(v.Int()))
		}
		return v, nil
	}, path != nil && kind.Nanos, err
}

// takes is ErrInvalid if a field has no part at a path, or is no list where an edit is of one.
func (r editor) takes(e Edit, col driver.Column, path []string) error {
	switch {
	case path != nil && col.Kind != driver.Map && col.Kind != driver.List && col.Kind != driver.None:
		return failure.Invalid("field %s is of kind %s, which has no parts", col.Name, col.Kind)
	case path == nil && e.List != 0 && col.Kind != driver.List && col.Kind != driver.None:
		return failure.Invalid("field %s is of kind %s, not a list", col.Name, col.Kind)
	}
	return nil
}

// isFraction reports whether an edit adds a fraction.
func (e *Edit) isFraction() bool {
	_, is := e.Value.(float64)
	return e.Do == driver.Add && is
}

// workOf returns what an edit makes of a value.
func workOf(e Edit, nanos bool) (func(driver.Value) (driver.Value, error), error) {
	if e.Keep < 0 {
		return nil, failure.Invalid("a list of at most %d elements", e.Keep)
	}
	v, err := record.EncodeAny(e.Value, 1)
	if nanos && v.Kind() == driver.Time {
		v, err = record.ValueAs(e.Value, failure.Name(e.Field), driver.Int, true)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case e.List != 0:
		return func(old driver.Value) (driver.Value, error) { return e.listed(old, v.List()) }, nil
	case e.Do == driver.Add && v.Kind() != driver.Int && v.Kind() != driver.Float:
		return nil, failure.Invalid("Add of a %s", v.Kind())
	case e.Do == driver.Add:
		return func(old driver.Value) (driver.Value, error) { return sum(old, v) }, nil
	}
	return func(driver.Value) (driver.Value, error) { return v, nil }, nil
}

// listed returns a list after an edit by some elements.
func (e *Edit) listed(old driver.Value, elems []driver.Value) (driver.Value, error) {
	if !old.IsNone() && old.Kind() != driver.List {
		return old, failure.Invalid("it is a %s, not a list", old.Kind())
	}
	list := slices.Clone(old.List())
	switch e.List {
	case Push:
		list = append(list, elems...)
		if e.Keep > 0 {
			list = list[max(0, len(list)-e.Keep):]
		}
	case PushFront:
		list = append(slices.Clone(elems), list...)
		if e.Keep > 0 {
			list = list[:min(len(list), e.Keep)]
		}
	case Pull:
		list = slices.DeleteFunc(list, func(v driver.Value) bool { return slices.ContainsFunc(elems, v.Equal) })
	}
	if old.IsNone() && len(list) == 0 {
		return old, nil
	}
	return driver.ListValue(list), nil
}

// sum adds numbers, of which the first may be absent.
func sum(old, by driver.Value) (driver.Value, error) {
	if old.Kind() == driver.Float || old.IsNone() && by.Kind() == driver.Float {
		n := by.Float()
		if by.Kind() == driver.Int {
			n = float64(by.Int())
		}
		if n += old.Float(); math.IsInf(n, 0) || math.IsNaN(n) {
			return old, failure.Invalid("the sum is no number")
		}
		return driver.FloatValue(n), nil
	}
	if by.Kind() == driver.Float {
		return old, failure.Invalid("add a fraction to a %s", old.Kind())
	}
	return record.EditedValue(old, driver.Edit{Do: driver.Add, Value: by})
}

// within changes the value at a path in another one. Maps on the way that are not there are made, if the new value is
// not absent.
func within(old driver.Value, path []string, work func(driver.Value) (driver.Value, error)) (driver.Value, error) {
	if len(path) == 0 {
		return work(old)
	}
	switch old.Kind() {
	case driver.None:
		v, err := within(driver.Value{}, path[1:], work)
		if err != nil || v.IsNone() {
			return v, err
		}
		return driver.MapValue([]driver.Value{driver.StringValue(path[0]), v}), nil
	case driver.Map:
		return withinMap(old.List(), path, work)
	case driver.List:
		list := slices.Clone(old.List())
		i, ok := record.ElementAt(path[0])
		if !ok || i >= len(list) {
			return old, failure.Invalid("a list of %d elements has none at %.64q", len(list), driver.Private(path[0]))
		}
		v, err := within(list[i], path[1:], work)
		if list[i] = v; err == nil && list[i].IsNone() {
			err = failure.Invalid("an element of a list may not be nil or empty; see Pull")
		}
		return driver.ListValue(list), err
	}
	return old, failure.Invalid("a %s has no part %.64q", old.Kind(), driver.Private(path[0]))
}

// withinMap is within of a map, which has its names and values by turns, sorted.
func withinMap(flat []driver.Value, path []string, work func(driver.Value) (driver.Value, error)) (driver.Value, error) {
	at, old := 0, driver.Value{}
	for at < len(flat) && flat[at].Str() < path[0] {
		at += 2
	}
	has := at < len(flat) && flat[at].Str() == path[0]
	if has {
		old = flat[at+1]
	}
	v, err := within(old, path[1:], work)
	if err != nil {
		return v, err
	}
	next := slices.Clone(flat)
	switch {
	case has && v.IsNone():
		next = slices.Delete(next, at, at+2)
	case has:
		next[at+1] = v
	case !v.IsNone():
		next = slices.Insert(next, at, driver.StringValue(path[0]), v)
	}
	return driver.MapValue(next), nil
}

// workOut returns edits with what they come to that go by what is there.
func (r editor) workOut(old *change.Stored, asked []driver.Edit, work []worked) ([]driver.Edit, error) {
	if len(work) == 0 {
		return asked, nil
	}
	edits := slices.Clone(asked)
	for i, w := range work {
		e := &edits[w.edit]
		first := !slices.ContainsFunc(work[:i], func(o worked) bool { return o.edit == w.edit })
		switch {
		case !first:
		case e.Field >= 0:
			e.Value = old.Vals[len(r.Key)+e.Field]
		default:
			e.Value = driver.Value{}
			if at := slices.IndexFunc(old.Extra, func(p driver.Pair) bool { return p.Name == e.Name }); at >= 0 {
				e.Value = old.Extra[at].Value
			}
		}
		var in *record.Field
		var err error
		if e.Field >= 0 && !r.shape.IsMap {
			in, err = r.shape.FieldIn(&old.Record, len(r.Key)+e.Field)
		}
		if err == nil {
			e.Value, err = w.work(e.Value, in)
		}
		if err != nil {
			return nil, err
		}
		if at := len(r.Key) + e.Field; e.Field >= 0 {
			if e.Value, err = r.Fit(e.Value, at); err != nil {
				return nil, err
			}
			e.Value = r.unlessEmpty(e.Value, at)
		}
	}
	return edits, nil
}
