package layout

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
)

// An EntryMaker makes the keys of rows. Its memory is reused.
type EntryMaker struct {
	text []byte
	Vals []driver.Value
	Keys []driver.Key // for whoever has it
}

var entryMakers = sync.Pool{New: func() any { return new(EntryMaker) }}

// NewEntryMaker returns a maker of index entries. Release it afterwards.
func NewEntryMaker() *EntryMaker {
	b := entryMakers.Get().(*EntryMaker)
	b.Vals = b.Vals[:0]
	return b
}

// Release gives b back, without what it refers to.
func (b *EntryMaker) Release() {
	clear(b.Vals[:cap(b.Vals)])
	clear(b.Keys[:cap(b.Keys)])
	entryMakers.Put(b)
}

// Entries appends the keys of the rows that x has for a record.
func (b *EntryMaker) Entries(dst []driver.Key, c *Layout, x *Index, key *driver.Key, vals []driver.Value) ([]driver.Key, error) {
	if Missing(x.PartitionFrom, vals) || Missing(x.SortFrom, vals) {
		return dst, nil
	}
	if x.Multi < 0 {
		dst = append(dst, driver.Key{})
		return dst, b.entry(&dst[len(dst)-1], x, key, vals, driver.Value{})
	}
	elems := x.list.Of(vals)
	list := elems.List()
	if len(list) > limit.MaxRows {
		return dst, fmt.Errorf("list %s has %d elements, at most %d: %w", c.NameOf(&x.list), len(list), limit.MaxRows, driver.ErrTooLarge)
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

// ErrMisfit is what is wrong with a stored record that does not fit an index.
var ErrMisfit = fmt.Errorf("mend or remove it with the program that wrote it: %w", driver.ErrSchema)

// StoredEntries is entries of a record as the store has it. What does not fit there is no
// mistake of whoever calls.
func (b *EntryMaker) StoredEntries(dst []driver.Key, c *Layout, x *Index, key *driver.Key, vals []driver.Value) ([]driver.Key, error) {
	dst, err := b.Entries(dst, c, x, key, vals)
	if errors.Is(err, driver.ErrInvalid) {
		what := strings.TrimSuffix(err.Error(), ": "+driver.ErrInvalid.Error())
		err = fmt.Errorf("the record %s as it is stored does not fit index %s: %s; %w", c.Quote(*key), x.ID, what, ErrMisfit)
	}
	return dst, err
}

// entry makes e the key of the row of x for a record and, in an index over the
// elements of a list, one element.
func (b *EntryMaker) entry(e *driver.Key, x *Index, key *driver.Key, vals []driver.Value, elem driver.Value) error {
	t, from := x.Table, len(b.Vals)
	b.gather(x.PartitionFrom, vals, elem)
	if x.Buckets > 0 && !x.Native {
		b.Vals = append(b.Vals, driver.IntValue(bucketOf(key, x.Buckets)))
	}
	parts := len(b.Vals) - from
	b.gather(x.SortFrom, vals, elem)
	text, err := driver.AppendParts(b.text[:0], t.Partition, b.Vals[from:])
	if err != nil {
		return err
	}
	cut := len(text)
	text, err = driver.AppendParts(text, t.Sort[:len(x.SortFrom)], b.Vals[from+parts:])
	if err != nil {
		return err
	}
	if len(text) > limit.MaxKey {
		return fmt.Errorf("index key of %d bytes, at most %d: %w", len(text), limit.MaxKey, driver.ErrTooLarge)
	}
	b.text, b.Vals = x.Suffix(text, key), b.Vals[:from]
	s := string(b.text)
	*e = driver.Key{Partition: s[:cut], Sort: s[cut:]}
	return nil
}

func (b *EntryMaker) gather(srcs []Source, vals []driver.Value, elem driver.Value) {
	for i := range srcs {
		if src := &srcs[i]; src.Elem {
			b.Vals = append(b.Vals, elem)
		} else {
			b.Vals = append(b.Vals, src.Of(vals))
		}
	}
}

// Suffix appends the record's key, with which the rows of an index end.
func (x *Index) Suffix(text []byte, key *driver.Key) []byte {
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

// RecordKey returns the key of the record that a row or claim of x belongs to.
func (c *Layout) RecordKey(x *Index, row *driver.Row) (driver.Key, error) {
	text := ""
	if x.Remote && !x.Unique {
		entry, _, err := x.CutToken(row)
		if err != nil {
			return driver.Key{}, err
		}
		row = &driver.Row{Key: entry}
	}
	switch {
	case x.Unique && len(row.Fields) > 0:
		text = row.Fields[0].Str()
	case !x.Unique:
		_, rest, ok := driver.CutParts(row.Key.Sort, x.Table.Sort[:len(x.SortFrom)])
		if ok && x.local {
			return driver.Key{Partition: row.Key.Partition, Sort: rest}, nil
		}
		text = rest
	}
	head, rest, ok := driver.CutParts(text, c.Records.Partition)
	if !ok {
		return driver.Key{}, fmt.Errorf("a row of index %s names no record: %w", x.ID, driver.ErrCorrupt)
	}
	return driver.Key{Partition: head, Sort: rest}, nil
}
