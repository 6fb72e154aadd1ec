package backend

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

// Entries returns the keys of the entries that a live row of t.Home has in the native
// table t. Field returns the value of one of its fields. A value of another kind than
// its column is ErrInvalid.
func Entries(t *driver.Table, key driver.Key, field func(name string) driver.Value) ([]driver.Key, error) {
	own, err := keyValues(t.Home, key)
	if err != nil {
		return nil, err
	}
	cols := slices.Concat(t.Partition, t.Sort)
	vals := make([]driver.Value, len(cols))
	list := []driver.Value{{}} // one entry
	for i, c := range cols {
		name, isElement := strings.CutSuffix(c.Name, elements)
		v, ok := own[name]
		if !ok {
			v = field(name)
		}
		if v.IsNone() {
			return nil, nil
		}
		if vals[i] = v; isElement {
			list, vals[i] = v.List(), driver.Value{}
		}
	}
	var entries []driver.Key
	for i, elem := range list {
		if slices.ContainsFunc(list[:i], elem.Equal) {
			continue
		}
		e, err := entry(t, key, cols, vals, elem)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func keyValues(t *driver.Table, key driver.Key) (map[string]driver.Value, error) {
	own := map[string]driver.Value{}
	for _, part := range []struct {
		text string
		cols []driver.Column
	}{{key.Partition, t.Partition}, {key.Sort, t.Sort}} {
		vals, _, err := driver.ParseParts(nil, part.text, part.cols)
		if err != nil {
			return nil, err
		}
		for i, c := range part.cols {
			own[c.Name] = vals[i]
		}
	}
	return own, nil
}

// entry returns the key of the entry with an element where vals has none.
func entry(t *driver.Table, key driver.Key, cols []driver.Column, vals []driver.Value, elem driver.Value) (driver.Key, error) {
	full := slices.Clone(vals)
	for i := range full {
		if full[i].IsNone() {
			full[i] = elem
		}
	}
	n := len(t.Partition)
	part, err := driver.AppendParts(nil, cols[:n], full[:n])
	if err != nil {
		return driver.Key{}, err
	}
	sort, err := driver.AppendParts(nil, cols[n:], full[n:])
	if err != nil {
		return driver.Key{}, err
	}
	if t.Class == driver.Rows {
		sort = append(sort, EntryOf(t, key)...)
	}
	return driver.Key{Partition: string(part), Sort: string(sort)}, nil
}

// EntryOf returns the text with which the entry of a row of t.Home ends.
func EntryOf(t *driver.Table, key driver.Key) string {
	if slices.Equal(t.Partition, t.Home.Partition) {
		return key.Sort
	}
	return key.Partition + key.Sort
}
