package repo

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// An Edit changes one field of a record: see [Set], [Unset] and [Add]; or its
// expiry: see [ExpireAt].
type Edit struct {
	do     driver.EditVerb
	field  string
	value  any
	expire bool
}

// Set gives a field a value. Nil, and an empty list, map or run of bytes, remove it. The
// field is one of the record: there are no paths into maps, and a name with a dot is
// ErrInvalid.
func Set(field string, value any) Edit { return Edit{do: driver.Set, field: field, value: value} }

// Unset removes a field; reading it gives the zero value. A field that is never absent in
// the struct, as a number is not, is set to its zero value, which an index has.
func Unset(field string) Edit { return Edit{do: driver.Unset, field: field} }

// Add adds n to an integer field; one that is absent counts as 0. A sum that no
// int64 holds is ErrInvalid, and nothing is written.
func Add(field string, n int64) Edit { return Edit{do: driver.Add, field: field, value: n} }

// ExpireAt makes the record expire at a time, with its index rows; the zero time
// is never.
func ExpireAt(t time.Time) Edit { return Edit{expire: true, field: mapExpires, value: t} }

// Patch changes some fields of a record and returns its new version. Only these
// fields are written. A value that the field of T cannot hold is ErrInvalid. A record
// that is not there is ErrNotFound.
//
// Where an outcome may be unknown (Facts.Uncertain), Patch looks at the record first, so that
// a write whose answer is lost is settled, by Patch itself or by [Repo.Resolve] as long as fewer than four
// others write the record meanwhile. That is one round trip
// more than [Repo.PatchBlind], and two patches of one record at the same time go one after the other.
func (r *Repo[T]) Patch(ctx context.Context, key Key, edits ...Edit) (Version, error) {
	return r.PatchIf(ctx, key, Version{}, edits...)
}

// PatchIf is Patch under the condition that the record has a version, else it
// fails with ErrConflict. The zero Version is no condition.
func (r *Repo[T]) PatchIf(ctx context.Context, key Key, version Version, edits ...Edit) (Version, error) {
	k := r.begin("patch")
	v, err := r.patch(ctx, &k, key, write{expect: version}, edits)
	return v, r.end(&k, key, err)
}

// PatchBlind is Patch without a look at the record: one round trip where Patch has two, and
// patches of one record at the same time do not refuse each other. The price is that an outcome
// may stay Unknown for ever: one whose answer is lost is never sent again, and Resolve knows it
// only if it was done and fewer than four other writes of the record came since. So it is for
// what may be lost, or done twice by whoever tries again: Set rather than Add. The record is read all the same
// if an index needs one of the fields, records may expire, a value is over 4 KiB, or an
// Add is to a field of fewer than 64 bits or without a sign.
func (r *Repo[T]) PatchBlind(ctx context.Context, key Key, edits ...Edit) (Version, error) {
	k := r.begin("patch")
	v, err := r.patch(ctx, &k, key, write{open: true}, edits)
	return v, r.end(&k, key, err)
}

// patch completes w, which says under which condition, and does it.
func (r *Repo[T]) patch(ctx context.Context, k *call, key Key, w write, edits []Edit) (Version, error) {
	if ctx == nil {
		return Version{}, errNoContext
	}
	ws := [1]write{w}
	if err := r.patchOf(&ws[0], key, edits); err != nil {
		return Version{}, err
	}
	return r.run(ctx, k, ws[:])
}

// patchOf makes w the patch of the record under key.
func (r *Repo[T]) patchOf(w *write, key Key, edits []Edit) error {
	dk, vals, err := r.keyIn(nil, key)
	if err != nil {
		return err
	}
	list, err := r.editsOf(edits)
	if err != nil {
		return err
	}
	w.verb, w.asked, w.change = doPatch, list, change{key: dk, keyVals: vals, edits: list}
	var expires int64
	if expires, w.renew = expiryIn(edits); w.renew && !r.expires && !r.mayExpire() {
		return invalid("records of this collection last for ever; give the struct a field tagged `repo:\",expires\"`")
	}
	w.derive = func(w *write) error { return r.derivePatch(w, expires) }
	w.careful, err = r.checkEdits(list)
	return err
}

// derivePatch applies the edits of a patch to what is there.
func (r *Repo[T]) derivePatch(w *write, expires int64) (err error) {
	w.edits = w.asked
	if w.next, err = r.edited(&w.change); err != nil {
		return err
	}
	if w.renew {
		w.next.expires = expires
	}
	for _, e := range w.asked {
		if at := len(r.key) + e.Field; e.Field >= 0 {
			if err := r.checkFits(w.next.vals[at], at); err != nil {
				return err
			}
		}
	}
	w.edits = w.summed(len(r.key))
	return nil
}

const smallEdit = 4 << 10 // bytes of edits that are sent without a look at the record's size

// checkEdits sees that the fields of T can hold the values of edits. Careful says
// that more can be said only when the record is known.
func (r *Repo[T]) checkEdits(edits []driver.Edit) (careful bool, err error) {
	size := 0
	for i := range edits {
		e := &edits[i]
		size += sizeOf(&e.Value)
		at := len(r.key) + e.Field
		switch {
		case e.Field < 0 || r.shape.isMap:
		case e.Do == driver.Add:
			f := r.shape.fieldAt(at)
			careful = careful || f.plain != driver.Int && !f.nanos
		default:
			if err := r.checkFits(e.Value, at); err != nil {
				return false, err
			}
		}
	}
	return careful || size > smallEdit, nil
}

// checkFits sees that the field of T at a position can hold a value.
func (r *Repo[T]) checkFits(v driver.Value, at int) error {
	if r.shape.isMap || v.IsNone() {
		return nil
	}
	f := r.shape.fieldAt(at)
	if v.Kind() == f.plain {
		return nil // a plain field holds every value of its kind
	}
	into := reflect.New(reflect.TypeFor[T]().FieldByIndex(f.index).Type).Elem()
	if err := f.dec(v, into); err != nil {
		return invalid("the field %s of the struct, a %s, cannot hold the new value", f.name, into.Type())
	}
	return nil
}

// expiryIn returns the expiry that edits set, and whether they do.
func expiryIn(edits []Edit) (int64, bool) {
	for _, e := range edits {
		if e.expire {
			return expiryOf(e.value.(time.Time)), true
		}
	}
	return 0, false
}

// editsOf checks edits and returns them as the driver's.
func (c *collection) editsOf(edits []Edit) ([]driver.Edit, error) {
	if len(edits) == 0 {
		return nil, invalid("no edits")
	}
	list := make([]driver.Edit, 0, len(edits))
	for i, e := range edits {
		if slices.ContainsFunc(edits[:i], func(o Edit) bool { return o.field == e.field }) {
			return nil, invalid("field %s is edited twice", c.shown(e.field))
		}
		if e.expire {
			continue
		}
		d, err := c.editOf(e)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

func (c *collection) editOf(e Edit) (driver.Edit, error) {
	at := c.at(e.field)
	d := driver.Edit{Do: e.do, Field: at - len(c.key), Name: e.field}
	switch {
	case at < 0 && strings.Contains(e.field, "."):
		return d, c.noPath(e.field)
	case at >= 0 && at < len(c.key):
		return d, invalid("field %s is part of the key, which cannot change", e.field)
	case at < 0 && !c.extra:
		return d, invalid("field %.64q is not declared", e.field)
	case at < 0:
		return c.extraEdit(d, e)
	case e.do == driver.Add && c.cols[at].Kind != driver.Int:
		return d, invalid("field %s is of kind %s; Add is for integers", e.field, c.cols[at].Kind)
	}
	var err error
	d.Value, err = c.value(e.value, at)
	if d.Do == driver.Set {
		d.Value = c.unlessEmpty(d.Value, at)
	}
	if f := c.scalars[at]; f != nil && err == nil && d.Value.IsNone() {
		d.Do = driver.Set
		d.Value, err = f.zero()
	}
	return d, err
}

func (c *collection) extraEdit(d driver.Edit, e Edit) (driver.Edit, error) {
	d.Field = -1
	if err := checkExtra(e.field, &shape{}); err != nil {
		return d, err
	}
	v, err := encodeAny(e.value, 1)
	d.Value = v
	return d, err
}

// editName returns the name of the field of an edit as an argument of an error.
func (c *collection) editName(e driver.Edit) any {
	if e.Field < 0 {
		return driver.Private(e.Name)
	}
	return c.records.Fields[e.Field].Name
}

// summed returns the edits of a change with what each Add comes to: of a record that is
// written only as it was read that says the same, and no store has to add.
func (ch *change) summed(key int) []driver.Edit {
	isAdd := func(e driver.Edit) bool { return e.Do == driver.Add }
	if ch.next == nil || !slices.ContainsFunc(ch.edits, isAdd) {
		return ch.edits
	}
	list := slices.Clone(ch.edits)
	for i := range list {
		e := &list[i]
		switch {
		case e.Do != driver.Add:
		case e.Field >= 0:
			e.Do, e.Value = driver.Set, ch.next.vals[key+e.Field]
		default:
			e.Do, e.Value = driver.Set, *ch.next.extraValue(e.Name)
		}
	}
	return list
}

// isPlain reports whether a patch says all that is written, whatever is there.
func (c *collection) isPlain(w *write) bool {
	return !w.careful && !w.renew && !c.mayExpire() && !c.touchesIndex(w.asked)
}

// patchMask returns the ordinals of the fields that a patch must know, or nil for all:
// those that it adds to, if it is plain, and those that say which entries the record has.
func (c *collection) patchMask(w *write) []int {
	if !c.isPlain(w) {
		return nil
	}
	mask := c.indexMask
	for _, e := range w.asked {
		switch {
		case e.Do != driver.Add:
		case e.Field < 0:
			return nil
		default: // no index needs it, and it is edited once
			mask = append(mask[:len(mask):len(mask)], e.Field)
		}
	}
	return mask
}

// touchesIndex reports whether an index needs a field that is edited.
func (c *collection) touchesIndex(edits []driver.Edit) bool {
	for _, x := range c.indexes {
		if x.all {
			return true
		}
	}
	for _, e := range edits {
		if e.Field >= 0 && c.indexed[len(c.key)+e.Field] {
			return true
		}
	}
	return false
}

// edited returns the record that is there with the edits of a change applied.
func (c *collection) edited(ch *change) (*record, error) {
	old := &ch.old
	next := &record{vals: slices.Clone(old.vals), extra: slices.Clone(old.extra), expires: old.expires}
	for _, e := range ch.edits {
		var v *driver.Value
		if e.Field >= 0 {
			v = &next.vals[len(c.key)+e.Field]
		} else {
			v = next.extraValue(e.Name)
		}
		x, err := editedValue(*v, e)
		if err != nil {
			return nil, driver.Errorf("%s: %w", c.editName(e), err)
		}
		if *v = x; e.Field >= 0 {
			*v = c.unlessEmpty(x, len(c.key)+e.Field)
		}
	}
	next.extra = slices.DeleteFunc(next.extra, func(p driver.Pair) bool { return p.Value.IsNone() })
	sortPairs(next.extra)
	return next, c.checkSize(next, ch.key)
}

// unlessEmpty returns a value for the field at a position, or none where that is absent when it is empty.
func (c *collection) unlessEmpty(v driver.Value, at int) driver.Value {
	if e := c.empties[at]; !e.IsNone() && v.Equal(e) {
		return driver.Value{}
	}
	return v
}

// extraValue returns where the undeclared field name is kept, after making it.
func (r *record) extraValue(name string) *driver.Value {
	i := slices.IndexFunc(r.extra, func(p driver.Pair) bool { return p.Name == name })
	if i < 0 {
		i = len(r.extra)
		r.extra = append(r.extra, driver.Pair{Name: name})
	}
	return &r.extra[i].Value
}

func editedValue(old driver.Value, e driver.Edit) (driver.Value, error) {
	switch {
	case e.Do == driver.Set:
		return e.Value, nil
	case e.Do == driver.Unset:
		return driver.Value{}, nil
	case old.Kind() != driver.Int && !old.IsNone():
		return old, invalid("add to a %s", old.Kind())
	}
	a, b := old.Int(), e.Value.Int()
	sum := a + b
	if (a > 0) == (b > 0) && (sum > 0) != (a > 0) && a != 0 && b != 0 {
		return old, invalid("the sum is over the range of int64")
	}
	return driver.IntValue(sum), nil
}
