package repo

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// An entryMaker makes the keys of rows. Its memory is reused.
type entryMaker struct {
	text []byte
	vals []driver.Value
	keys []driver.Key // for whoever has it
}

var entryMakers = sync.Pool{New: func() any { return new(entryMaker) }}

func newEntryMaker() *entryMaker {
	b := entryMakers.Get().(*entryMaker)
	b.vals = b.vals[:0]
	return b
}

// release gives b back, without what it refers to.
func (b *entryMaker) release() {
	clear(b.vals[:cap(b.vals)])
	clear(b.keys[:cap(b.keys)])
	entryMakers.Put(b)
}

// entries appends the keys of the rows that x has for a record.
func (b *entryMaker) entries(dst []driver.Key, c *layoutC, x *index, key *driver.Key, vals []driver.Value) ([]driver.Key, error) {
	if missing(x.part, vals) || missing(x.sort, vals) {
		return dst, nil
	}
	if x.multi < 0 {
		dst = append(dst, driver.Key{})
		return dst, b.entry(&dst[len(dst)-1], x, key, vals, driver.Value{})
	}
	list := vals[x.multi].List()
	if len(list) > maxRows {
		return dst, fmt.Errorf("list %s has %d elements, at most %d: %w", c.cols[x.multi].Name, len(list), maxRows, driver.ErrTooLarge)
	}
	for i, elem := range list {
		if slices.ContainsFunc(list[:i], elem.Equal) {
			continue
		}
		dst = append(dst, driver.Key{})
		if err := b.entry(&dst[len(dst)-1], x, key, vals, elem); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// errMisfit is what is wrong with a stored record that does not fit an index.
var errMisfit = fmt.Errorf("mend or remove it with the program that wrote it: %w", driver.ErrSchema)

// storedEntries is entries of a record as the store has it. What does not fit there is no
// mistake of whoever calls.
func (b *entryMaker) storedEntries(dst []driver.Key, c *layoutC, x *index, key *driver.Key, vals []driver.Value) ([]driver.Key, error) {
	dst, err := b.entries(dst, c, x, key, vals)
	if errors.Is(err, driver.ErrInvalid) {
		what := strings.TrimSuffix(err.Error(), ": "+driver.ErrInvalid.Error())
		err = fmt.Errorf("the record %s as it is stored does not fit index %s: %s; %w", c.quote(*key), x.name, what, errMisfit)
	}
	return dst, err
}

// entry makes e the key of the row of x for a record and, in an index over the
// elements of a list, one element.
func (b *entryMaker) entry(e *driver.Key, x *index, key *driver.Key, vals []driver.Value, elem driver.Value) error {
	t, from := x.table, len(b.vals)
	b.gather(x.part, vals, elem)
	if x.Buckets > 0 && !x.native {
		b.vals = append(b.vals, driver.IntValue(bucketOf(key, x.Buckets)))
	}
	parts := len(b.vals) - from
	b.gather(x.sort, vals, elem)
	text, err := driver.AppendParts(b.text[:0], t.Partition, b.vals[from:])
	if err != nil {
		return err
	}
	cut := len(text)
	text, err = driver.AppendParts(text, t.Sort[:len(x.sort)], b.vals[from+parts:])
	if err != nil {
		return err
	}
	if len(text) > maxKey {
		return fmt.Errorf("index key of %d bytes, at most %d: %w", len(text), maxKey, driver.ErrTooLarge)
	}
	b.text, b.vals = x.suffix(text, key), b.vals[:from]
	s := string(b.text)
	*e = driver.Key{Partition: s[:cut], Sort: s[cut:]}
	return nil
}

func (b *entryMaker) gather(srcs []source, vals []driver.Value, elem driver.Value) {
	for _, src := range srcs {
		if src.elem {
			b.vals = append(b.vals, elem)
		} else {
			b.vals = append(b.vals, vals[src.at])
		}
	}
}

// suffix appends the record's key, with which the rows of an index end.
func (x *index) suffix(text []byte, key *driver.Key) []byte {
	if x.Unique {
		return text
	}
	if !x.local {
		text = append(text, key.Partition...)
	}
	return append(text, key.Sort...)
}

func bucketOf(key *driver.Key, buckets int) int64 {
	h := fnv.New32a()
	h.Write([]byte(key.Partition))
	h.Write([]byte(key.Sort))
	return int64(h.Sum32() % uint32(buckets))
}

// recordKey returns the key of the record that a row or claim of x belongs to.
func (c *layoutC) recordKey(x *index, row *driver.Row) (driver.Key, error) {
	text := ""
	if x.loose && !x.Unique {
		entry, _, err := x.cutToken(row)
		if err != nil {
			return driver.Key{}, err
		}
		row = &driver.Row{Key: entry}
	}
	switch {
	case x.Unique && len(row.Fields) > 0:
		text = row.Fields[0].Str()
	case !x.Unique:
		_, rest, ok := driver.CutParts(row.Key.Sort, x.table.Sort[:len(x.sort)])
		if ok && x.local {
			return driver.Key{Partition: row.Key.Partition, Sort: rest}, nil
		}
		text = rest
	}
	head, rest, ok := driver.CutParts(text, c.records.Partition)
	if !ok {
		return driver.Key{}, fmt.Errorf("a row of index %s names no record: %w", x.name, driver.ErrCorrupt)
	}
	return driver.Key{Partition: head, Sort: rest}, nil
}
