package commit

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
)

// An Edit is an edit to be compiled: repo.Edit.
type Edit struct {
	Do     driver.EditVerb
	Field  string
	Value  any
	Expire bool
}

// editsOf checks edits and returns them as the driver's.
func (c *Writer) editsOf(edits []Edit) ([]driver.Edit, error) {
	if len(edits) == 0 {
		return nil, failure.Invalid("no edits")
	}
	list := make([]driver.Edit, 0, len(edits))
	for i, e := range edits {
		if slices.ContainsFunc(edits[:i], func(o Edit) bool { return o.Field == e.Field }) {
			return nil, failure.Invalid("field %s is edited twice", c.Shown(e.Field))
		}
		if e.Expire {
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

func (c *Writer) editOf(e Edit) (driver.Edit, error) {
	at := c.At(e.Field)
	d := driver.Edit{Do: e.Do, Field: at - len(c.Key), Name: e.Field}
	switch {
	case at < 0 && strings.Contains(e.Field, "."):
		return d, c.NoPath(e.Field)
	case at >= 0 && at < len(c.Key):
		return d, failure.Invalid("field %s is part of the key, which cannot change", e.Field)
	case at < 0 && !c.Extra:
		return d, failure.Invalid("field %.64q is not declared", e.Field)
	case at < 0:
		return c.extraEdit(d, e)
	case e.Do == driver.Add && c.Cols[at].Kind != driver.Int:
		return d, failure.Invalid("field %s is of kind %s; Add is for integers", e.Field, c.Cols[at].Kind)
	}
	var err error
	d.Value, err = c.Value(e.Value, at)
	if d.Do == driver.Set {
		d.Value = c.unlessEmpty(d.Value, at)
	}
	if f := c.Scalars[at]; f != nil && err == nil && d.Value.IsNone() {
		d.Do = driver.Set
		d.Value, err = f.Zero()
	}
	return d, err
}

func (c *Writer) extraEdit(d driver.Edit, e Edit) (driver.Edit, error) {
	d.Field = -1
	if err := record.CheckExtra(e.Field, &record.Mapping{}); err != nil {
		return d, err
	}
	v, err := record.EncodeAny(e.Value, 1)
	d.Value = v
	return d, err
}

// editName returns the name of the field of an edit as an argument of an error.
func (c *Writer) editName(e driver.Edit) any {
	if e.Field < 0 {
		return driver.Private(e.Name)
	}
	return c.Records.Fields[e.Field].Name
}

// isPlain reports whether a patch says all that is written, whatever is there.
func (c *Writer) isPlain(w *Write) bool {
	return !w.careful && !w.Renew && !c.MayExpire() && !c.touchesIndex(w.asked)
}

// edited returns the record that is there with the edits of a change applied.
func (c *Writer) edited(ch *change.Change) (*record.Record, error) {
	old := &ch.Old
	next := &record.Record{Vals: slices.Clone(old.Vals), Extra: slices.Clone(old.Extra), Expires: old.Expires}
	for _, e := range ch.Edits {
		var v *driver.Value
		if e.Field >= 0 {
			v = &next.Vals[len(c.Key)+e.Field]
		} else {
			v = next.ExtraValue(e.Name)
		}
		x, err := record.EditedValue(*v, e)
		if err != nil {
			return nil, driver.Errorf("%s: %w", c.editName(e), err)
		}
		if *v = x; e.Field >= 0 {
			*v = c.unlessEmpty(x, len(c.Key)+e.Field)
		}
	}
	next.Extra = slices.DeleteFunc(next.Extra, func(p driver.Pair) bool { return p.Value.IsNone() })
	record.SortPairs(next.Extra)
	return next, c.CheckSize(next, ch.Key)
}

// unlessEmpty returns a value for the field at a position, or none where that is absent when it is empty.
func (c *Writer) unlessEmpty(v driver.Value, at int) driver.Value {
	if e := c.Empties[at]; !e.IsNone() && v.Equal(e) {
		return driver.Value{}
	}
	return v
}

// patchMask returns the ordinals of the fields that a patch must know, or nil for all:
// those that it adds to, if it is plain, and those that say which entries the record has.
func (c *Writer) patchMask(w *Write) []int {
	if !c.isPlain(w) {
		return nil
	}
	mask := c.IndexMask
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
func (c *Writer) touchesIndex(edits []driver.Edit) bool {
	for _, x := range c.Indexes {
		if x.All {
			return true
		}
	}
	for _, e := range edits {
		if e.Field >= 0 && c.Indexed[len(c.Key)+e.Field] {
			return true
		}
	}
	return false
}

// PatchOf makes w the patch of the record under key.
func (c *Writer) PatchOf(w *Write, key []any, edits []Edit) error {
	dk, vals, err := c.KeyIn(nil, key)
	if err != nil {
		return err
	}
	list, err := c.editsOf(edits)
	if err != nil {
		return err
	}
	w.By, w.Verb, w.asked, w.Change = c, doPatch, list, change.Change{Key: dk, KeyVals: vals, Edits: list}
	var expires int64
	if expires, w.Renew = expiryIn(edits); w.Renew && !c.Expires && !c.MayExpire() {
		return failure.Invalid("records of this collection last for ever; give the struct a field tagged `repo:\",expires\"`")
	}
	w.Derive = func(w *Write) error { return c.derivePatch(w, expires) }
	w.careful, err = c.checkEdits(list)
	return err
}

// derivePatch applies the edits of a patch to what is there.
func (c *Writer) derivePatch(w *Write, expires int64) (err error) {
	w.Edits = w.asked
	if w.Next, err = c.edited(&w.Change); err != nil {
		return err
	}
	if w.Renew {
		w.Next.Expires = expires
	}
	for _, e := range w.asked {
		if at := len(c.Key) + e.Field; e.Field >= 0 {
			if err := c.checkFits(w.Next.Vals[at], at); err != nil {
				return err
			}
		}
	}
	w.Edits = w.Summed(len(c.Key))
	return nil
}

// checkEdits sees that the fields of T can hold the values of edits. Careful says
// that more can be said only when the record is known.
func (c *Writer) checkEdits(edits []driver.Edit) (careful bool, err error) {
	size := 0
	for i := range edits {
		e := &edits[i]
		size += record.SizeOf(&e.Value)
		at := len(c.Key) + e.Field
		switch {
		case e.Field < 0 || c.Shape.IsMap:
		case e.Do == driver.Add:
			f := c.Shape.FieldAt(at)
			careful = careful || f.Plain != driver.Int && !f.Nanos
		default:
			if err := c.checkFits(e.Value, at); err != nil {
				return false, err
			}
		}
	}
	return careful || size > limit.SmallEdit, nil
}

// checkFits sees that the field of T at a position can hold a value.
func (c *Writer) checkFits(v driver.Value, at int) error {
	if c.Shape.IsMap || v.IsNone() {
		return nil
	}
	f := c.Shape.FieldAt(at)
	if v.Kind() == f.Plain {
		return nil // a plain field holds every value of its kind
	}
	into := reflect.New(f.Typ).Elem()
	if err := f.Dec(v, into); err != nil {
		return failure.Invalid("the field %s of the struct, a %s, cannot hold the new value", f.Name, into.Type())
	}
	return nil
}

// expiryIn returns the expiry that edits set, and whether they do.
func expiryIn(edits []Edit) (int64, bool) {
	for _, e := range edits {
		if e.Expire {
			return record.ExpiryOf(e.Value.(time.Time)), true
		}
	}
	return 0, false
}
