package commit

import (
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
)

// An Edit is an edit to be compiled: repo.Edit.
type Edit struct {
	Do     driver.EditVerb
	Field  string // or a path into one
	Value  any
	Expire bool

	List ListVerb // of an edit of a list by some elements
	Keep int      // how many elements it leaves at most, 0 for all
}

// An editor compiles and applies edits of records of one type.
type editor struct {
	*layout.Layout
	shape *record.Mapping
}

// editsOf checks edits and returns them as the driver's, and those whose values are worked out when the record is
// known.
func (r editor) editsOf(edits []Edit) (list []driver.Edit, work []worked, err error) {
	if len(edits) == 0 {
		return nil, nil, failure.Invalid("no edits")
	}
	list = make([]driver.Edit, 0, len(edits))
	for i, e := range edits {
		if slices.ContainsFunc(edits[:i], func(o Edit) bool { return isWithin(o.Field, e.Field) || isWithin(e.Field, o.Field) }) {
			return nil, nil, failure.Invalid("field %s is edited twice", r.Shown(e.Field))
		}
		if e.Expire {
			continue
		}
		name, path := record.CutPath(e.Field)
		at := r.At(name)
		switch {
		case at >= 0 && at < len(r.Key):
			err = failure.Invalid("field %s is part of the key, which cannot change", name)
		case at >= 0 && r.shape.Decides(at):
			err = failure.Invalid("field %s says of which type a record is; Put or Update makes it one of another type", name)
		case (at < 0 || r.IsHidden(at)) && !r.Extra:
			err = failure.Invalid("field %.64q is not declared", name)
		case path != nil || e.List != 0 || at < 0 && e.isFraction() || at >= 0 && e.Do == driver.Add && r.Cols[at].Kind == driver.Float:
			list, work, err = r.addWorked(list, work, e, name, path)
		default:
			var d driver.Edit
			d, err = r.editOf(e, at)
			list = append(list, d)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return list, work, nil
}

func (r editor) editOf(e Edit, at int) (driver.Edit, error) {
	d := driver.Edit{Do: e.Do, Field: at - len(r.Key), Name: e.Field}
	switch {
	case at < 0:
		return r.extraEdit(d, e)
	case e.Do == driver.Add && r.Cols[at].Kind != driver.Int:
		return d, failure.Invalid("field %s is of kind %s; Add is for numbers", e.Field, r.Cols[at].Kind)
	}
	var err error
	if d.Value, err = r.Value(e.Value, at); err == nil {
		d.Value, err = r.Fit(d.Value, at)
	}
	if d.Do == driver.Set {
		d.Value = r.unlessEmpty(d.Value, at)
	}
	if f := r.Scalars[at]; f != nil && err == nil && d.Value.IsNone() && !r.shape.IsUnion() {
		d.Do = driver.Set
		d.Value, err = f.Zero()
	}
	return d, err
}

func (r editor) extraEdit(d driver.Edit, e Edit) (driver.Edit, error) {
	d.Field = -1
	if err := record.CheckExtra(e.Field, &record.Mapping{}); err != nil {
		return d, err
	}
	v, err := record.EncodeAny(e.Value, 1)
	d.Value = v
	return d, err
}

// checkEdits sees that the fields of T can hold the values of edits. Careful says
// that more can be said only when the record is known.
func (r editor) checkEdits(edits []driver.Edit) (careful bool, err error) {
	size := 0
	for i := range edits {
		e := &edits[i]
		size += record.SizeOf(&e.Value)
		at := len(r.Key) + e.Field
		switch {
		case r.shape.IsUnion(): // which type it is is known when the record is
			careful = true
		case e.Field < 0 || r.shape.IsMap || r.IsHidden(at):
		case e.Do == driver.Add:
			f := r.shape.FieldAt(at)
			careful = careful || f.Plain != driver.Int && !f.Nanos
		default:
			if err := checkFits(&r.shape.FieldAt(at).Field, e.Value); err != nil {
				return false, err
			}
		}
	}
	return careful || size > limit.SmallEdit, nil
}

// checkFits sees that a field of T can hold a value.
func checkFits(f *record.Field, v driver.Value) error {
	if v.IsNone() || v.Kind() == f.Plain {
		return nil // a plain field holds every value of its kind
	}
	into := reflect.New(f.Typ).Elem()
	if err := f.Dec(v, into); err != nil {
		return failure.Invalid("the field %s of the struct, a %s, cannot hold the new value", f.Name, into.Type())
	}
	return nil
}

// checkFit sees that the fields of T can hold what edits made of a record.
func (r editor) checkFit(edits []driver.Edit, rec *record.Record) error {
	if r.shape.IsMap {
		return nil
	}
	for _, e := range edits {
		at := len(r.Key) + e.Field
		if e.Field < 0 {
			at = -1
		}
		f, err := r.shape.FieldIn(rec, at)
		if err == nil && f != nil {
			err = checkFits(f, rec.Vals[at])
		}
		if err != nil {
			return driver.Errorf("%s: %w", r.editName(e), err)
		}
	}
	return nil
}

// editName returns the name of the field of an edit as an argument of an error.
func (r editor) editName(e driver.Edit) any {
	if e.Field < 0 {
		return driver.Private(e.Name)
	}
	return r.Records.Fields[e.Field].Name
}

// edited returns the record that is there with the edits of a change applied.
func (r editor) edited(ch *change.Change) (*record.Record, error) {
	old := &ch.Old
	next := &record.Record{Vals: slices.Clone(old.Vals), Extra: slices.Clone(old.Extra), Expires: old.Expires}
	for _, e := range ch.Edits {
		var v *driver.Value
		if e.Field >= 0 {
			v = &next.Vals[len(r.Key)+e.Field]
		} else {
			v = next.ExtraValue(e.Name)
		}
		x, err := record.EditedValue(*v, e)
		if err != nil {
			return nil, driver.Errorf("%s: %w", r.editName(e), err)
		}
		if *v = x; e.Field < 0 {
			continue
		}
		if *v, err = r.settled(next, len(r.Key)+e.Field); err != nil {
			return nil, driver.Errorf("%s: %w", r.editName(e), err)
		}
	}
	next.Extra = slices.DeleteFunc(next.Extra, func(p driver.Pair) bool { return p.Value.IsNone() })
	record.SortPairs(next.Extra)
	return next, r.CheckSize(next, ch.Key)
}

// settled returns the value that a record with edits has at a position, as the type of the record would have it: what is
// absent when it is empty, and what never is, are known of one of several types when the record is.
func (r editor) settled(rec *record.Record, at int) (driver.Value, error) {
	v := rec.Vals[at]
	if !r.shape.IsUnion() {
		return r.unlessEmpty(v, at), nil
	}
	f, err := r.shape.FieldIn(rec, at)
	switch {
	case err != nil || f == nil:
		return v, err
	case v.IsNone() && f.IsScalar():
		return f.Zero()
	case v.Equal(f.Empty):
		return driver.Value{}, nil
	}
	return v, nil
}

// settledAll returns edits with what they leave in a record of one of several types.
func (r editor) settledAll(edits []driver.Edit, rec *record.Record) []driver.Edit {
	list := slices.Clone(edits)
	for i := range list {
		if e := &list[i]; e.Field >= 0 {
			e.Do, e.Value = driver.Set, rec.Vals[len(r.Key)+e.Field]
		}
	}
	return list
}

// unlessEmpty returns a value for the field at a position, or none where that is absent when it is empty.
func (r editor) unlessEmpty(v driver.Value, at int) driver.Value {
	if e := r.Empties[at]; !e.IsNone() && v.Equal(e) {
		return driver.Value{}
	}
	return v
}

// touchesIndex reports whether an index needs a field that is edited.
func (r editor) touchesIndex(edits []driver.Edit) bool {
	for _, x := range r.Indexes {
		if x.All {
			return true
		}
	}
	for _, e := range edits {
		if e.Field >= 0 && r.Indexed[len(r.Key)+e.Field] {
			return true
		}
	}
	return false
}
