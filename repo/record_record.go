package repo

import (
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A record is one record as values: the key parts, then the fields by ordinal.
type record struct {
	vals    []driver.Value
	extra   []driver.Pair
	expires int64
	version driver.Token
}

// bytesIn returns about how many bytes a key and values have.
func bytesIn(key driver.Key, vals []driver.Value, extra []driver.Pair) int {
	size := len(key.Partition) + len(key.Sort)
	for i := range vals {
		size += sizeOf(&vals[i])
	}
	for i := range extra {
		size += len(extra[i].Name) + sizeOf(&extra[i].Value)
	}
	return size
}

func sizeOf(v *driver.Value) int {
	n := 8 + len(v.Str())
	for i := range v.List() {
		n += sizeOf(&v.List()[i])
	}
	return n
}

// has reports whether a record has an undeclared field.
func (r *record) has(name string) bool {
	return slices.ContainsFunc(r.extra, func(p driver.Pair) bool { return p.Name == name })
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

// versionOf returns the version of the record in a row.
func versionOf(row *driver.Row) driver.Token {
	if len(row.Ring) > 0 {
		return row.Ring[0]
	}
	if row.Dead {
		return driver.Token{} // a fence made it; nobody wrote a record here
	}
	return row.Rev
}

func (r *record) setExtra(m map[string]any, s *shape) error {
	for name, x := range m {
		if err := checkExtra(name, s); err != nil {
			return err
		}
		v, err := encodeAny(x, 1)
		if err != nil {
			return driver.Errorf("field %.64q: %w", driver.Private(name), err)
		}
		if !v.IsNone() {
			r.extra = append(r.extra, driver.Pair{Name: name, Value: v})
		}
	}
	sortPairs(r.extra)
	return nil
}

// addExtra adds the undeclared fields to m.
func (r *record) addExtra(m map[string]any) error {
	for _, p := range r.extra {
		if p.Value.IsNone() {
			continue
		}
		x, err := anyOf(p.Value)
		if err != nil {
			return driver.Errorf("field %.64q: %w", driver.Private(p.Name), err)
		}
		m[p.Name] = x
	}
	return nil
}
