package frame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// elements marks a column of a native index that stands for each element of a list.
const elements = "[]"

// ValidateNative says what no store can have in a native table: ErrInvalid.
func ValidateNative(t *driver.Table) error {
	if t.Home == nil || t.Home.Class != driver.Records {
		return fmt.Errorf("native table %s has no table of records as its home: %w", t.Name, driver.ErrInvalid)
	}
	if t.Class == driver.Records || len(t.Partition)+len(t.Sort) == 0 {
		return fmt.Errorf("native table %s is no index: %w", t.Name, driver.ErrInvalid)
	}
	for _, c := range slices.Concat(t.Partition, t.Sort) {
		name, isElement := strings.CutSuffix(c.Name, elements)
		has := slices.ContainsFunc(slices.Concat(t.Home.Partition, t.Home.Sort, t.Home.Fields), func(o driver.Column) bool {
			return o.Name == name && (isElement && o.Kind == driver.List || !isElement && o.Kind == c.Kind)
		})
		if !has {
			return fmt.Errorf("native table %s: the home %s has no %s of kind %s: %w", t.Name, t.Home.Name, name, c.Kind, driver.ErrInvalid)
		}
	}
	return nil
}

// Entries makes the entries that rows of t.Home have in a native table t.
type Entries struct {
	t    *driver.Table
	from []entrySource // of the columns of Partition, then of Sort
	keys bool          // some of them come from the key of the row
}

// An entrySource is where the value of a column comes from: a place in the key, or a
// field, each element of it or the whole.
type entrySource struct {
	place int // -1 for a field
	field string
	elem  bool
}

// NewEntries returns what makes the entries of a native table that ValidateNative has
// nothing against.
func NewEntries(t *driver.Table) *Entries {
	e := &Entries{t: t}
	key := slices.Concat(t.Home.Partition, t.Home.Sort)
	for _, c := range slices.Concat(t.Partition, t.Sort) {
		name, isElement := strings.CutSuffix(c.Name, elements)
		place := slices.IndexFunc(key, func(k driver.Column) bool { return k.Name == name })
		e.keys = e.keys || place >= 0
		e.from = append(e.from, entrySource{place, name, isElement})
	}
	return e
}

// Of returns the keys of the entries of a live row. Field returns the value of one of its
// fields. A value of another kind than its column is ErrInvalid.
func (e *Entries) Of(key driver.Key, field func(name string) driver.Value) ([]driver.Key, error) {
	var own []driver.Value
	if e.keys {
		var err error
		if own, err = KeyValues(e.t.Home, key); err != nil {
			return nil, err
		}
	}
	vals := make([]driver.Value, len(e.from))
	list := []driver.Value{{}} // one entry
	for i, src := range e.from {
		if src.place >= 0 {
			vals[i] = own[src.place]
		} else {
			vals[i] = field(src.field)
		}
		if vals[i].IsNone() {
			return nil, nil
		}
		if src.elem {
			list, vals[i] = vals[i].List(), driver.Value{}
		}
	}
	entries := make([]driver.Key, 0, len(list))
	for i, elem := range list {
		if slices.ContainsFunc(list[:i], elem.Equal) {
			continue
		}
		k, err := e.entry(key, vals, elem)
		if err != nil {
			return nil, err
		}
		entries = append(entries, k)
	}
	return entries, nil
}

// KeyValues returns the values of the columns of a key of t.
func KeyValues(t *driver.Table, key driver.Key) ([]driver.Value, error) {
	vals, _, err := driver.ParseParts(nil, key.Partition, t.Partition)
	if err == nil {
		vals, _, err = driver.ParseParts(vals, key.Sort, t.Sort)
	}
	return vals, err
}

// entry returns the key of the entry with an element where vals has none.
func (e *Entries) entry(key driver.Key, vals []driver.Value, elem driver.Value) (driver.Key, error) {
	full := slices.Clone(vals)
	for i := range full {
		if full[i].IsNone() {
			full[i] = elem
		}
	}
	n := len(e.t.Partition)
	text, err := driver.AppendParts(nil, e.t.Partition, full[:n])
	if err != nil {
		return driver.Key{}, err
	}
	cut := len(text)
	if text, err = driver.AppendParts(text, e.t.Sort, full[n:]); err != nil {
		return driver.Key{}, err
	}
	s := string(text)
	if e.t.Class == driver.Rows {
		s += entryOf(e.t, key)
	}
	return driver.Key{Partition: s[:cut], Sort: s[cut:]}, nil
}

// entryOf returns the text with which the entry of a row of t.Home ends.
func entryOf(t *driver.Table, key driver.Key) string {
	if slices.Equal(t.Partition, t.Home.Partition) {
		return key.Sort
	}
	return key.Partition + key.Sort
}
