package commit

import (
	"reflect"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
)

// isPlain reports whether a patch says all that is written, whatever is there.
func (c *Writer) isPlain(w *Write) bool {
	return !w.careful && !w.Renew && !c.MayExpire() && !c.editor().touchesIndex(w.asked)
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

// PatchOf makes w the patch of the record under key.
func (c *Writer) PatchOf(w *Write, key []any, edits []Edit) error {
	dk, vals, err := c.KeyIn(nil, key)
	if err != nil {
		return err
	}
	ed := c.editor()
	list, work, err := ed.editsOf(edits)
	if err != nil {
		return err
	}
	w.By, w.Verb, w.asked, w.work, w.Change = c, doPatch, list, work, change.Change{Key: dk, KeyVals: vals, Edits: list}
	var expires int64
	if expires, w.Renew = expiryIn(edits); w.Renew && !c.Expires && !c.MayExpire() {
		return failure.Invalid("records of this collection last for ever; give the struct a field tagged `repo:\",expires\"`")
	}
	w.Derive = func(w *Write) error { return c.derivePatch(w, expires) }
	w.careful, err = ed.checkEdits(list)
	w.careful = w.careful || len(work) > 0
	if rec, ok := c.Shape.Derived(); ok {
		w.patchDerived(rec, expires)
	}
	return err
}

// patchDerived makes a patch an update, since it changes more than its edits say.
func (w *Write) patchDerived(rec reflect.Value, expires int64) {
	w.Verb, w.Open, w.Edits, w.careful = DoUpdate, false, nil, false
	asked, renew := w.asked, w.Renew
	w.asked, w.Renew = nil, false
	w.Derive = func(w *Write) error {
		ed := w.By.editor()
		edits, err := ed.workOut(&w.Old, asked, w.work)
		if err != nil {
			return err
		}
		of := change.Change{Old: w.Old, Edits: edits}
		edited, err := ed.edited(&of)
		if err == nil {
			err = ed.checkFit(asked, edited)
		}
		if err != nil {
			return err
		}
		if renew {
			edited.Expires = expires
		}
		w.Next = new(record.Record)
		err = w.By.deriveFrom(w, edited, rec, func() error { return nil })
		if renew {
			w.Next.Expires = expires
		}
		return err
	}
}

// derivePatch applies the edits of a patch to what is there.
func (c *Writer) derivePatch(w *Write, expires int64) (err error) {
	ed := c.editor()
	if w.Edits, err = ed.workOut(&w.Old, w.asked, w.work); err != nil {
		return err
	}
	if w.Next, err = ed.edited(&w.Change); err != nil {
		return err
	}
	if w.Renew {
		w.Next.Expires = expires
	}
	w.Edits = w.Summed(len(c.Key))
	if c.Shape.IsUnion() {
		w.Edits = ed.settledAll(w.Edits, w.Next)
	}
	return ed.checkFit(w.asked, w.Next)
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
