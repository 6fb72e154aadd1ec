package repo

import (
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A native index is kept by the store: nothing is written for it, and a run of it has
// the records themselves, so that it covers whatever is wanted. It has no buckets, for
// the store spreads it as it likes.

// nativeAccess returns how a shape that needs some fields is read from x: with what
// says at which place of the index a record is.
func (c *collection) nativeAccess(s *shape, x *index, needs []int) access {
	needs = slices.Concat(needs, x.needs)
	slices.Sort(needs)
	return c.recordAccess(s, slices.Compact(needs))
}

// addNative checks what a change would make of the entries in a native index, which
// the store keeps: too large a key is refused as it is elsewhere.
func (b *builder) addNative(c *collection, x *index, ch *change) (err error) {
	if ch.next == nil {
		return nil
	}
	if b.after, err = b.entries(b.after[:0], c, x, &ch.key, ch.next.vals); err != nil || !x.Unique {
		return err
	}
	for _, e := range b.after {
		b.values = append(b.values, nativeValue{x: x, key: e})
	}
	return nil
}

// A nativeValue is a value that a change wants to have alone.
type nativeValue struct {
	x     *index
	key   driver.Key
	owner int // the change
}

// sharedValue returns the error for a value of a unique native index that two records
// of a group want.
func (b *builder) sharedValue(c *collection, writes []write) error {
	if len(b.values) < 2 {
		return nil
	}
	first := make(map[nativeValue]int, len(b.values)) // the change that wants it
	for _, v := range b.values {
		owner := v.owner
		v.owner = 0
		if o, taken := first[v]; taken && o != owner {
			w := &writes[owner]
			return ofKey(w.key, c.taken(v.x, writes[o].key, w))
		}
		first[v] = owner
	}
	return nil
}

// placeOf returns the place of a row of a run: its own Sort or, in a native index, that
// of the entry by which the record is there. There is none if the record, which another
// program wrote, has no such entry.
func (c *collection) placeOf(p *plan, row *driver.Row) (position, error) {
	if p.x == nil || !p.x.native {
		return position(row.Key.Sort), nil
	}
	b := newReadBuffer(0)
	defer b.release()
	rec, err := c.recordOfRow(b, p, row)
	if err != nil {
		return "", err
	}
	return c.placeIn(p, &row.Key, rec.vals)
}

// placeIn is placeOf for a record that was taken out of its row.
func (c *collection) placeIn(p *plan, key *driver.Key, vals []driver.Value) (position, error) {
	b := newBuilder()
	defer b.release()
	var err error
	if b.after, err = b.storedEntries(b.after[:0], c, p.x, key, vals); err != nil {
		return "", ofKey(*key, err)
	}
	for _, e := range b.after {
		if e.Partition == p.parts[0].Partition && p.has(e.Sort) {
			return position(e.Sort), nil
		}
	}
	return "", ofKey(*key, fmt.Errorf("the store found the record by index %s, in which it has no place: %w", p.x.name, ErrCorrupt))
}

// bounds completes the span of a native index with the values of its ends.
func (c *collection) bounds(p *plan, span *driver.Span) (err error) {
	if p.x == nil || !p.x.native {
		return nil
	}
	if span.Low, err = c.boundOf(p, span.Key.Partition, span.From); err == nil {
		span.High, err = c.boundOf(p, span.Key.Partition, span.To)
	}
	return err
}

// boundOf returns the end of a run that a text stands for: columns of entries, or what
// comes after them. "" is the end of the partition on that side, which needs no bound.
func (c *collection) boundOf(p *plan, partition, text string) (*driver.Bound, error) {
	if text == "" {
		return nil, nil
	}
	var b driver.Bound
	if head, over := driver.Before(text); over {
		b.Over, text = true, head
	}
	rest := text
	var err error
	for i := 0; i < len(p.table.Sort) && rest != ""; i++ {
		if b.Values, rest, err = driver.ParseParts(b.Values, rest, p.table.Sort[i:i+1]); err != nil {
			return nil, err
		}
	}
	if rest != "" {
		row := driver.Row{Key: driver.Key{Partition: partition, Sort: text}}
		key, err := c.recordKey(p.x, &row)
		if err != nil {
			return nil, err
		}
		b.Record = &key
	}
	return &b, nil
}
