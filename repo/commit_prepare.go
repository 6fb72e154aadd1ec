package repo

import (
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// writeOf returns the write that makes rec the record under its key.
func (c *writer) writeOf(verb verb, rec reflect.Value) (write, error) {
	var w write
	err := c.prepareWrite(&w, new(record), verb, rec)
	return w, err
}

// writeOfKey returns a write of a verb on the record under a key.
func (c *writer) writeOfKey(verb verb, key []any) (write, error) {
	dk, vals, err := c.keyIn(nil, key)
	return write{verb: verb, change: change{key: dk, keyVals: vals}}, err
}

// prepareWrite makes w, which is zero, the write that makes rec the record under
// its key; next is where its values go.
func (c *writer) prepareWrite(w *write, next *record, verb verb, rec reflect.Value) error {
	err := c.encode(next, rec)
	if err != nil {
		return err
	}
	w.keyVals = next.vals[:len(c.key):len(c.key)]
	if w.key, err = c.keyOfValues(w.keyVals); err != nil {
		return err
	}
	if err := c.checkSize(next, w.key); err != nil {
		return err
	}
	w.verb, w.next, w.expect = verb, next, next.version
	if verb == doInsert && !next.version.IsZero() {
		return ofKey(w.key, invalid("the record to insert has a version already; clear it to insert a copy, or use Replace, or Put"))
	}
	w.keep = verb != doInsert && c.keeps()
	return nil
}

// encode makes next the values of rec. It reuses the array of next.vals.
func (c *writer) encode(next *record, rec reflect.Value) error {
	*next = record{vals: slices.Grow(next.vals[:0], len(c.cols))[:len(c.cols)]}
	clear(next.vals)
	return c.shape.encode(rec, next, c.cols)
}

// derive lets fn change the record that is there and makes w.next its values.
func (c *writer) derive(w *write, rec reflect.Value, fn func() error) error {
	old, next := &w.old, w.next
	w.whole = true
	if err := c.shape.decode(&old.record, rec); err != nil {
		return err
	}
	if err := fn(); err != nil {
		return err
	}
	if err := c.encode(next, rec); err != nil {
		return err
	}
	now := next.vals[:len(c.key)]
	if !slices.EqualFunc(now, w.keyVals, driver.Value.Equal) {
		return invalid("the update changes the key to %s; insert a new record and delete this one", c.printKey(now))
	}
	return c.keep(w)
}
