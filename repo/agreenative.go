package repo

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A native index has no rows that could be read by their keys. To ask it for each entry would
// be a request for each, so it is read as a whole, and both sides are compared by sums: that of
// the entries which records should have, and that of those which the index has, for each of
// many parts of the records. Where the sums differ, the records of that part are looked for
// one by one.

// parts is how many parts the records have, by the hash of their keys. One that others change
// meanwhile makes those of its part be looked for.
const parts = 1 << 18

// A ledger has for each part the difference of the sums.
type ledger struct {
	seed maphash.Seed
	sums []uint64
}

func newLedger() *ledger { return &ledger{maphash.MakeSeed(), make([]uint64, parts)} }

// part returns the part of a record, and the hash of an entry of it.
func (l *ledger) part(record driver.Key, entry ...string) (part *uint64, hash uint64) {
	var h maphash.Hash
	h.SetSeed(l.seed)
	for _, text := range [...]string{record.Partition, record.Sort} {
		h.WriteString(text)
		h.WriteByte(0) // no key has it
	}
	part = &l.sums[h.Sum64()%parts]
	for _, text := range entry {
		h.WriteString(text)
		h.WriteByte(0)
	}
	return part, h.Sum64()
}

// due counts an entry that the index should have of a record.
func (l *ledger) due(record driver.Key, partition, sort string) {
	part, hash := l.part(record, partition, sort)
	*part += hash
}

// has counts an entry that it has.
func (l *ledger) has(record driver.Key, partition, sort string) {
	part, hash := l.part(record, partition, sort)
	*part -= hash
}

// differ reports whether the sums of any part do.
func (l *ledger) differ() bool {
	return slices.ContainsFunc(l.sums, func(n uint64) bool { return n != 0 })
}

// differs reports whether those of a record's part do.
func (l *ledger) differs(record driver.Key) bool {
	part, _ := l.part(record)
	return *part != 0
}

// verifyNative counts the entries of records by which a native index does not find them.
func (c *collection) verifyNative(ctx context.Context, k *call, f *faults, x *index, rep *Report) error {
	l := newLedger()
	err := c.addListed(ctx, k, f, x, l, rep)
	byPlace := errors.Is(err, ErrUnsupported)
	if err != nil && !byPlace {
		return err
	}
	var places map[driver.Key]bool
	if byPlace {
		places = map[driver.Key]bool{}
	}
	err = c.each(ctx, k, f, c.records, func(row *driver.Row) error {
		if c.isLive(k, row) {
			rep.Records++
		}
		return c.addDue(l, x, row, places)
	})
	if err == nil && byPlace {
		err = c.addFound(ctx, k, x, l, places, rep)
	}
	if err != nil || !l.differ() {
		return err
	}
	return c.each(ctx, k, f, c.records, func(row *driver.Row) error {
		if !c.isLive(k, row) || !l.differs(row.Key) {
			return nil
		}
		return c.seek(ctx, k, x, row, rep)
	})
}

// addListed adds what x has to a ledger. A store that does not list it is ErrUnsupported.
func (c *collection) addListed(ctx context.Context, k *call, f *faults, x *index, l *ledger, rep *Report) error {
	var text []byte
	for chunk, err := range c.store.driver.Walk(k.walks(ctx), x.table, "") {
		if err := f.unread(err); err != nil {
			return err
		}
		k.got(len(chunk.Rows))
		for i := range chunk.Rows {
			row, parts := &chunk.Rows[i], len(x.part)
			if len(row.Fields) < parts+len(x.sort) {
				return fmt.Errorf("the store lists an entry of index %s without its values: %w", x.name, ErrInternal)
			}
			if text, err = driver.AppendParts(text[:0], x.table.Partition, row.Fields); err != nil {
				return err
			}
			cut := len(text)
			if text, err = driver.AppendParts(text, x.table.Sort[:len(x.sort)], row.Fields[parts:]); err != nil {
				return err
			}
			text = x.suffix(text, &row.Key)
			l.has(row.Key, string(text[:cut]), string(text[cut:]))
			rep.Rows++
		}
	}
	return nil
}

// mostPlaces is how many places of a native index are remembered at most. What is at others
// is looked for one by one.
const mostPlaces = 1 << 16

// addDue adds to a ledger what x should have of a record, expired or not: by its entries or,
// where places are to be noted, by these.
func (c *collection) addDue(l *ledger, x *index, row *driver.Row, places map[driver.Key]bool) error {
	if row.Dead {
		return nil
	}
	entries, err := c.nativeEntries(x, row)
	for _, e := range entries {
		if places != nil {
			e = x.placeIn(e)
			if len(places) < mostPlaces {
				places[e] = true
			}
		}
		l.due(row.Key, e.Partition, e.Sort)
	}
	return err
}

// placeIn returns the part of a native index in which an entry lies, and of no record
// another one: a partition, or the part of it with one element.
func (x *index) placeIn(e driver.Key) driver.Key {
	at := slices.IndexFunc(x.sort, func(s source) bool { return s.elem })
	head, _, _ := driver.CutParts(e.Sort, x.table.Sort[:at+1])
	return driver.Key{Partition: e.Partition, Sort: head}
}

// addFound adds what x has at places to a ledger.
func (c *collection) addFound(ctx context.Context, k *call, x *index, l *ledger, places map[driver.Key]bool, rep *Report) error {
	for place := range places {
		span := driver.Span{Table: x.table, Key: driver.Key{Partition: place.Partition}, Mask: []int{}}
		if place.Sort != "" {
			span.From, span.To = place.Sort, driver.After(place.Sort)
		}
		if err := c.bounds(&plan{x: x, table: x.table}, &span); err != nil {
			return err
		}
		for row, err := range c.store.driver.Range(k.asks(ctx, 1), span) {
			if err != nil {
				return err
			}
			l.has(row.Key, place.Partition, place.Sort)
			rep.Rows++
			k.rows++
		}
	}
	return nil
}

// nativeEntries returns the entries that x should have of a record.
func (c *collection) nativeEntries(x *index, row *driver.Row) ([]driver.Key, error) {
	rec, err := c.recordOf(row)
	if err != nil {
		return nil, err
	}
	b := newBuilder()
	defer b.release()
	entries, err := b.storedEntries(nil, c, x, &row.Key, rec.vals)
	if err != nil {
		return nil, ofKey(row.Key, err)
	}
	return entries, nil
}

// seek counts the entries of a record by which a native index does not find it.
func (c *collection) seek(ctx context.Context, k *call, x *index, row *driver.Row, rep *Report) error {
	for attempt := 0; ; attempt++ {
		entries, err := c.nativeEntries(x, row)
		if err != nil {
			return err
		}
		missing := 0
		for _, e := range entries {
			found, err := c.findsAt(ctx, k, x, e, row.Key)
			if err != nil {
				return err
			}
			if !found {
				missing++
			}
		}
		var now [1]driver.Row
		if missing > 0 {
			err = c.store.get(ctx, k, c.records, []driver.Key{row.Key}, nil, now[:])
		}
		if err != nil || missing == 0 || now[0].Rev == row.Rev || attempt >= maxAttempts {
			if rep.Missing += missing; missing > 0 {
				rep.sample("the store does not find record %s", c.printText(row.Key))
			}
			return err
		}
		if now[0].Key = row.Key; !c.isLive(k, &now[0]) {
			return nil
		}
		row = &now[0]
	}
}

// findsAt reports whether a native index has a record at an entry.
func (c *collection) findsAt(ctx context.Context, k *call, x *index, e, key driver.Key) (bool, error) {
	span := driver.Span{Table: x.table, Key: driver.Key{Partition: e.Partition}, From: e.Sort, To: driver.After(e.Sort), Limit: 1, Mask: []int{}}
	if err := c.bounds(&plan{x: x, table: x.table}, &span); err != nil {
		return false, err
	}
	for row, err := range c.store.driver.Range(k.asks(ctx, 1), span) {
		if err != nil {
			return false, err
		}
		return row.Key == key, nil
	}
	return false, nil
}
