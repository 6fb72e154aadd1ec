package commit

import (
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/record"
)

// WriteOf returns the write that makes rec the record under its key.
func (c *Writer) WriteOf(verb Verb, rec reflect.Value) (Write, error) {
	var w Write
	err := c.PrepareWrite(&w, new(record.Record), verb, rec)
	return w, err
}

// WriteOfKey returns a write of a verb on the record under a key.
func (c *Writer) WriteOfKey(verb Verb, key []any) (Write, error) {
	dk, vals, err := c.KeyIn(nil, key)
	return Write{By: c, Verb: verb, Change: change.Change{Key: dk, KeyVals: vals}}, err
}

// PrepareWrite makes w, which is zero, the write that makes rec the record under
// its key; next is where its values go.
func (c *Writer) PrepareWrite(w *Write, next *record.Record, verb Verb, rec reflect.Value) error {
	w.By = c
	err := c.encode(next, rec)
	if err != nil {
		return err
	}
	w.KeyVals = next.Vals[:len(c.Key):len(c.Key)]
	if w.Key, err = c.KeyOfValues(w.KeyVals); err != nil {
		return err
	}
	if err := c.CheckSize(next, w.Key); err != nil {
		return err
	}
	w.Verb, w.Next, w.Expect = verb, next, next.Version
	if verb == DoInsert && !next.Version.IsZero() {
		return failure.OfKey(w.Key, failure.Invalid("the record to insert has a version already; clear it to insert a copy, or use Replace, or Put"))
	}
	w.keep = verb != DoInsert && c.keeps()
	return nil
}

// encode makes next the values of rec. It reuses the array of next.vals.
func (c *Writer) encode(next *record.Record, rec reflect.Value) error {
	*next = record.Record{Vals: slices.Grow(next.Vals[:0], len(c.Cols))[:len(c.Cols)]}
	clear(next.Vals)
	if err := c.Shape.Derive(rec); err != nil {
		return err
	}
	if err := c.Shape.Encode(rec, next, c.Cols); err != nil {
		return err
	}
	return c.FitAll(next.Vals)
}

// Derive lets fn change the record that is there and makes w.next its values.
func (c *Writer) Derive(w *Write, rec reflect.Value, fn func() error) error {
	return c.deriveFrom(w, &w.Old.Record, rec, fn)
}

// deriveFrom is Derive with another record in the place of the one that is there.
func (c *Writer) deriveFrom(w *Write, from *record.Record, rec reflect.Value, fn func() error) error {
	next := w.Next
	w.Whole = true
	if err := c.Shape.Decode(from, rec); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	if err := c.encode(next, rec); err != nil {
		return err
	}
	now := next.Vals[:len(c.Key)]
	if !slices.EqualFunc(now, w.KeyVals, driver.Value.Equal) {
		return failure.Invalid("the update changes the key to %s; insert a new record and delete this one", c.PrintKey(now))
	}
	return c.keep(w)
}
