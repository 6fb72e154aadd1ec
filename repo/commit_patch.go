package repo

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// An editDef is an edit to be compiled: repo.Edit.
type editDef struct {
	do     driver.EditVerb
	field  string
	value  any
	expire bool
}

// editsOf checks edits and returns them as the driver's.
func (c *writer) editsOf(edits []editDef) ([]driver.Edit, error) {
	if len(edits) == 0 {
		return nil, invalid("no edits")
	}
	list := make([]driver.Edit, 0, len(edits))
	for i, e := range edits {
		if slices.ContainsFunc(edits[:i], func(o editDef) bool { return o.field == e.field }) {
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

func (c *writer) editOf(e editDef) (driver.Edit, error) {
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

func (c *writer) extraEdit(d driver.Edit, e editDef) (driver.Edit, error) {
	d.Field = -1
	if err := checkExtra(e.field, &shape{}); err != nil {
		return d, err
	}
	v, err := encodeAny(e.value, 1)
	d.Value = v
	return d, err
}

// editName returns the name of the field of an edit as an argument of an error.
func (c *writer) editName(e driver.Edit) any {
	if e.Field < 0 {
		return driver.Private(e.Name)
	}
	return c.records.Fields[e.Field].Name
}

// isPlain reports whether a patch says all that is written, whatever is there.
func (c *writer) isPlain(w *write) bool {
	return !w.careful && !w.renew && !c.mayExpire() && !c.touchesIndex(w.asked)
}

// edited returns the record that is there with the edits of a change applied.
func (c *writer) edited(ch *change) (*record, error) {
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
func (c *writer) unlessEmpty(v driver.Value, at int) driver.Value {
	if e := c.empties[at]; !e.IsNone() && v.Equal(e) {
		return driver.Value{}
	}
	return v
}

// patchMask returns the ordinals of the fields that a patch must know, or nil for all:
// those that it adds to, if it is plain, and those that say which entries the record has.
func (c *writer) patchMask(w *write) []int {
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
func (c *writer) touchesIndex(edits []driver.Edit) bool {
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

// patchOf makes w the patch of the record under key.
func (c *writer) patchOf(w *write, key []any, edits []editDef) error {
	dk, vals, err := c.keyIn(nil, key)
	if err != nil {
		return err
	}
	list, err := c.editsOf(edits)
	if err != nil {
		return err
	}
	w.verb, w.asked, w.change = doPatch, list, change{key: dk, keyVals: vals, edits: list}
	var expires int64
	if expires, w.renew = expiryIn(edits); w.renew && !c.expires && !c.mayExpire() {
		return invalid("records of this collection last for ever; give the struct a field tagged `repo:\",expires\"`")
	}
	w.derive = func(w *write) error { return c.derivePatch(w, expires) }
	w.careful, err = c.checkEdits(list)
	return err
}

// derivePatch applies the edits of a patch to what is there.
func (c *writer) derivePatch(w *write, expires int64) (err error) {
	w.edits = w.asked
	if w.next, err = c.edited(&w.change); err != nil {
		return err
	}
	if w.renew {
		w.next.expires = expires
	}
	for _, e := range w.asked {
		if at := len(c.key) + e.Field; e.Field >= 0 {
			if err := c.checkFits(w.next.vals[at], at); err != nil {
				return err
			}
		}
	}
	w.edits = w.summed(len(c.key))
	return nil
}

// checkEdits sees that the fields of T can hold the values of edits. Careful says
// that more can be said only when the record is known.
func (c *writer) checkEdits(edits []driver.Edit) (careful bool, err error) {
	size := 0
	for i := range edits {
		e := &edits[i]
		size += sizeOf(&e.Value)
		at := len(c.key) + e.Field
		switch {
		case e.Field < 0 || c.shape.isMap:
		case e.Do == driver.Add:
			f := c.shape.fieldAt(at)
			careful = careful || f.plain != driver.Int && !f.nanos
		default:
			if err := c.checkFits(e.Value, at); err != nil {
				return false, err
			}
		}
	}
	return careful || size > smallEdit, nil
}

// checkFits sees that the field of T at a position can hold a value.
func (c *writer) checkFits(v driver.Value, at int) error {
	if c.shape.isMap || v.IsNone() {
		return nil
	}
	f := c.shape.fieldAt(at)
	if v.Kind() == f.plain {
		return nil // a plain field holds every value of its kind
	}
	into := reflect.New(f.typ).Elem()
	if err := f.dec(v, into); err != nil {
		return invalid("the field %s of the struct, a %s, cannot hold the new value", f.name, into.Type())
	}
	return nil
}

// expiryIn returns the expiry that edits set, and whether they do.
func expiryIn(edits []editDef) (int64, bool) {
	for _, e := range edits {
		if e.expire {
			return expiryOf(e.value.(time.Time)), true
		}
	}
	return 0, false
}
