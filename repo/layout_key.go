package repo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// keyOf returns the driver's key for parts that were given by a caller.
func (c *layoutC) keyOf(parts []any) (driver.Key, error) {
	key, _, err := c.keyIn(nil, parts)
	return key, err
}

// keyIn returns the driver's key for parts, and the values of these, in the array
// of vals if they fit.
func (c *layoutC) keyIn(vals []driver.Value, parts []any) (driver.Key, []driver.Value, error) {
	if len(parts) != len(c.key) {
		return driver.Key{}, nil, invalid("key has %d parts, want %d: %s", len(parts), len(c.key), strings.Join(c.keyNames(), ", "))
	}
	vals = slices.Grow(vals[:0], len(parts))
	for i, p := range parts {
		v, err := c.value(p, i)
		if err != nil {
			return driver.Key{}, nil, err
		}
		vals = append(vals, v)
	}
	key, err := c.keyOfValues(vals)
	return key, vals, err
}

// keyOfValues returns the driver's key for values in the order of c.key.
func (c *layoutC) keyOfValues(vals []driver.Value) (driver.Key, error) {
	var scratch [256]byte
	text, err := driver.AppendParts(scratch[:0], c.records.Partition, vals)
	if err != nil {
		return driver.Key{}, err
	}
	cut := len(text)
	if text, err = driver.AppendParts(text, c.records.Sort, vals[len(c.records.Partition):]); err != nil {
		return driver.Key{}, err
	}
	if len(text) > maxKey {
		return driver.Key{}, fmt.Errorf("key of %d bytes, at most %d: %w", len(text), maxKey, driver.ErrTooLarge)
	}
	s := string(text)
	return driver.Key{Partition: s[:cut], Sort: s[cut:]}, nil
}

// partsOf returns the values of a key that a store returned, appended to dst.
func (c *layoutC) partsOf(dst []driver.Value, k driver.Key) ([]driver.Value, error) {
	dst, rest, err := driver.ParseParts(dst, k.Partition, c.records.Partition)
	if err != nil || rest != "" {
		return dst, fmt.Errorf("partition of a stored key: %w", corrupt(err))
	}
	dst, rest, err = driver.ParseParts(dst, k.Sort, c.records.Sort)
	if err != nil || rest != "" {
		return dst, fmt.Errorf("order of a stored key: %w", corrupt(err))
	}
	return dst, nil
}

// printKey returns key values for people.
func (c *layoutC) printKey(vals []driver.Value) string {
	if c.redact {
		return "(redacted)"
	}
	parts := make([]string, len(vals))
	for i, v := range vals {
		if v.Kind() == driver.String {
			parts[i] = v.Str()
		} else {
			parts[i] = v.String()
		}
	}
	return strings.Join(parts, "/")
}

// value returns x as a value of the field at a position.
func (c *layoutC) value(x any, at int) (driver.Value, error) {
	return valueAs(x, c.cols[at].Name, c.cols[at].Kind, c.nanos[at])
}

func (c *layoutC) checkSize(rec *record, key driver.Key) error {
	if size := bytesIn(key, rec.vals, rec.extra); size > maxRecord {
		return ofKey(key, fmt.Errorf("record of about %d bytes, at most %d: %w", size, maxRecord, driver.ErrTooLarge))
	}
	return nil
}

// quote returns the text of a key for people.
func (c *layoutC) quote(key driver.Key) string {
	if c.redact {
		return "(redacted)"
	}
	return fmt.Sprintf("%q", key.Partition+key.Sort)
}

// printText returns a key that a store returned for people.
func (c *layoutC) printText(key driver.Key) string {
	vals, err := c.partsOf(nil, key)
	if err != nil {
		return c.quote(key)
	}
	return c.printKey(vals)
}

// shown returns the name of a field, as a query or an edit has it, as an argument of an error. One
// that nobody declared may be personal data, where records have such.
func (c *layoutC) shown(name string) any {
	if bare, _ := strings.CutSuffix(name, "[]"); c.extra && c.at(bare) < 0 {
		return driver.Private(name)
	}
	return name
}

// noPath is the error for a name with a dot where a field is wanted. Paths into maps do
// not exist, and a name that looks like one must not mean another thing later.
func (c *layoutC) noPath(name string) error {
	return invalid("field %.64q: there are no paths into maps; name the whole field, %.64q, or declare a field of its own for the value",
		c.shown(name), c.shown(name[:strings.IndexByte(name, '.')]))
}

// keyFrom returns key values as a caller's Key.
func keyFrom(vals []driver.Value) []any {
	key := make([]any, len(vals))
	for i, v := range vals {
		key[i], _ = anyOf(v) // no part of a key is absent: an absent one has no text
	}
	return key
}

// describe returns the values that a record has in an index, for people.
func (c *layoutC) describe(x *index, vals []driver.Value) string {
	var list []string
	for _, src := range slices.Concat(x.part, x.sort) {
		list = append(list, c.cols[src.at].Name+" "+vals[src.at].String())
	}
	return strings.Join(list, ", ")
}
