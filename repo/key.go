package repo

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Key names one record: the values of the schema's Partition and Sort fields,
// in that order. Integers of any size fit integer fields; a type that implements
// encoding.TextMarshaler and TextUnmarshaler fits a text field.
type Key []any

// String returns the parts joined by '/'. It is meant for people: two keys may
// have the same string.
func (k Key) String() string {
	parts := make([]string, len(k))
	for i, p := range k {
		switch p := p.(type) {
		case time.Time:
			parts[i] = p.UTC().Format(time.RFC3339Nano)
		default:
			parts[i] = fmt.Sprint(p)
		}
	}
	return strings.Join(parts, "/")
}

// keyOf returns the driver's key for parts that were given by a caller.
func (c *collection) keyOf(parts Key) (driver.Key, error) {
	key, _, err := c.keyIn(nil, parts)
	return key, err
}

// keyIn returns the driver's key for parts, and the values of these, in the array
// of vals if they fit.
func (c *collection) keyIn(vals []driver.Value, parts Key) (driver.Key, []driver.Value, error) {
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
func (c *collection) keyOfValues(vals []driver.Value) (driver.Key, error) {
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
		return driver.Key{}, fmt.Errorf("key of %d bytes, at most %d: %w", len(text), maxKey, ErrTooLarge)
	}
	s := string(text)
	return driver.Key{Partition: s[:cut], Sort: s[cut:]}, nil
}

// partsOf returns the values of a key that a store returned, appended to dst.
func (c *collection) partsOf(dst []driver.Value, k driver.Key) ([]driver.Value, error) {
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
func (c *collection) printKey(vals []driver.Value) string {
	if c.store.opts.Redact {
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
func (c *collection) value(x any, at int) (driver.Value, error) {
	return valueAs(x, c.cols[at].Name, c.cols[at].Kind, c.nanos[at])
}

func (c *collection) checkSize(rec *record, key driver.Key) error {
	if size := bytesIn(key, rec.vals, rec.extra); size > maxRecord {
		return ofKey(key, fmt.Errorf("record of about %d bytes, at most %d: %w", size, maxRecord, ErrTooLarge))
	}
	return nil
}
