package layout

import (
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/record"
)

// KeyOf returns the driver's key for parts that were given by a caller.
func (c *Layout) KeyOf(parts []any) (driver.Key, error) {
	var space [4]driver.Value // more parts take space of their own
	key, _, err := c.KeyIn(space[:0], parts)
	return key, err
}

// KeyIn returns the driver's key for parts, and the values of these, in the array
// of vals if they fit.
func (c *Layout) KeyIn(vals []driver.Value, parts []any) (driver.Key, []driver.Value, error) {
	if len(parts) != len(c.Key) {
		return driver.Key{}, nil, failure.Invalid("key has %d parts, want %d: %s", len(parts), len(c.Key), strings.Join(c.keyNames(), ", "))
	}
	vals = slices.Grow(vals[:0], len(parts))
	for i, p := range parts {
		v, err := c.Value(p, i)
		if err != nil {
			return driver.Key{}, nil, err
		}
		vals = append(vals, v)
	}
	key, err := c.KeyOfValues(vals)
	return key, vals, err
}

// KeyOfValues returns the driver's key for values in the order of c.key.
func (c *Layout) KeyOfValues(vals []driver.Value) (driver.Key, error) {
	var scratch [256]byte
	text, err := driver.AppendParts(scratch[:0], c.Records.Partition, vals)
	if err != nil {
		return driver.Key{}, err
	}
	cut := len(text)
	if text, err = driver.AppendParts(text, c.Records.Sort, vals[len(c.Records.Partition):]); err != nil {
		return driver.Key{}, err
	}
	if len(text) > limit.MaxKey {
		return driver.Key{}, fmt.Errorf("key of %d bytes, at most %d: %w", len(text), limit.MaxKey, driver.ErrTooLarge)
	}
	s := string(text)
	return driver.Key{Partition: s[:cut], Sort: s[cut:]}, nil
}

// PartsOf returns the values of a key that a store returned, appended to dst.
func (c *Layout) PartsOf(dst []driver.Value, k driver.Key) ([]driver.Value, error) {
	dst, rest, err := driver.ParseParts(dst, k.Partition, c.Records.Partition)
	if err != nil || rest != "" {
		return dst, fmt.Errorf("partition of a stored key: %w", failure.Corrupt(err))
	}
	dst, rest, err = driver.ParseParts(dst, k.Sort, c.Records.Sort)
	if err != nil || rest != "" {
		return dst, fmt.Errorf("order of a stored key: %w", failure.Corrupt(err))
	}
	return dst, nil
}

// PrintKey returns key values for people.
func (c *Layout) PrintKey(vals []driver.Value) string {
	if c.Redact {
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

// Value returns x as a value of the field at a position.
func (c *Layout) Value(x any, at int) (driver.Value, error) {
	return record.ValueAs(x, c.Cols[at].Name, c.Cols[at].Kind, c.Nanos[at])
}

// CheckSize returns ErrTooLarge for a record that is larger than any store takes.
func (c *Layout) CheckSize(rec *record.Record, key driver.Key) error {
	if size := record.BytesIn(key, rec.Vals, rec.Extra); size > limit.MaxRecord {
		return failure.OfKey(key, fmt.Errorf("record of about %d bytes, at most %d: %w", size, limit.MaxRecord, driver.ErrTooLarge))
	}
	return nil
}

// Quote returns the text of a key for people.
func (c *Layout) Quote(key driver.Key) string {
	if c.Redact {
		return "(redacted)"
	}
	return fmt.Sprintf("%q", key.Partition+key.Sort)
}

// PrintText returns a key that a store returned for people.
func (c *Layout) PrintText(key driver.Key) string {
	vals, err := c.PartsOf(nil, key)
	if err != nil {
		return c.Quote(key)
	}
	return c.PrintKey(vals)
}

// Shown returns the name of a field, as a query or an edit has it, as an argument of an error, for %s. One that nobody
// declared may be personal data, where records have such.
func (c *Layout) Shown(name string) any { return c.asIs(name, failure.Name(name)) }

// Raw is Shown for %.64q.
func (c *Layout) Raw(name string) any { return c.asIs(name, name) }

func (c *Layout) asIs(name, text string) any {
	if field, _ := record.CutPath(strings.TrimSuffix(name, "[]")); c.Extra && c.At(field) < 0 {
		return driver.Private(text)
	}
	return text
}

// KeyFrom returns key values as a caller's Key.
func KeyFrom(vals []driver.Value) []any {
	key := make([]any, len(vals))
	for i, v := range vals {
		key[i], _ = record.AnyOf(v) // no part of a key is absent: an absent one has no text
	}
	return key
}

// Describe returns the values that a record has in an index, for people.
func (c *Layout) Describe(x *Index, vals []driver.Value) string {
	var list []string
	for _, src := range slices.Concat(x.PartitionFrom, x.SortFrom) {
		v := src.Of(vals)
		list = append(list, c.NameOf(&src)+" "+v.String())
	}
	return strings.Join(list, ", ")
}
