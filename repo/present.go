package repo

import (
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// Which fields every record has. A record without a column of an index has no row there,
// so that the index has all records only if none lacks the column. Parts of the key are
// never absent. Another field is there if it has a scalar type in the struct, which this
// program never writes as absent, and if no other program has written records without it:
// the catalog names the fields of which that cannot be said. What it cannot know is that
// a program was opened later with a pointer for the same field, or with maps.

// isScalar reports whether a field of a struct always has a value in the store.
func (f *structField) isScalar() bool {
	switch f.kind {
	case driver.Bool, driver.Int, driver.Float, driver.String, driver.Time:
		return !f.nanos && f.typ.Kind() != reflect.Pointer
	}
	return false
}

// zero returns the value of a scalar field that was never set.
func (f *structField) zero() (driver.Value, error) { return f.enc(reflect.New(f.typ).Elem(), 0) }

// isAlways reports whether no record of the collection lacks the field at a position.
func (c *collection) isAlways(at int) bool {
	return at < len(c.key) || c.scalars[at] != nil && !slices.Contains(c.optional, c.cols[at].Name)
}

// addOptional adds fields to those that records may lack.
func (e *catalogEntry) addOptional(name string) {
	if !slices.Contains(e.Optional, name) {
		e.Optional = append(e.Optional, name)
	}
}
