package upkeep

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
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
func (c *Keeper) verifyNative(ctx context.Context, k *store.Call, f *scan.Faults, x *layout.Index, rep *report) error {
	l := newLedger()
	err := c.addListed(ctx, k, f, x, l, rep)
	byPlace := errors.Is(err, driver.ErrUnsupported)
	if err != nil && !byPlace {
		return err
	}
	var places map[driver.Key]bool
	if byPlace {
		places = map[driver.Key]bool{}
	}
	err = c.Each(ctx, k, f, c.Records, func(row *driver.Row) error {
		if c.IsLive(k, row) {
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
	return c.Each(ctx, k, f, c.Records, func(row *driver.Row) error {
		if !c.IsLive(k, row) || !l.differs(row.Key) {
			return nil
		}
		return c.seek(ctx, k, x, row, rep)
	})
}

// addListed adds what x has to a ledger. A store that does not list it is ErrUnsupported.
func (c *Keeper) addListed(ctx context.Context, k *store.Call, f *scan.Faults, x *layout.Index, l *ledger, rep *report) error {
	var text []byte
	for chunk, err := range c.Store.Driver.Walk(k.Walks(ctx), x.Table, "") {
		if err := f.Unread(err); err != nil {
			return err
		}
		k.Got(len(chunk.Rows))
		for i := range chunk.Rows {
			row, parts := &chunk.Rows[i], len(x.PartitionFrom)
			if len(row.Fields) < parts+len(x.SortFrom) {
				return fmt.Errorf("the store lists an entry of index %s without its values: %w", x.ID, driver.ErrInternal)
			}
			if text, err = driver.AppendParts(text[:0], x.Table.Partition, row.Fields); err != nil {
				return err
			}
			cut := len(text)
			if text, err = driver.AppendParts(text, x.Table.Sort[:len(x.SortFrom)], row.Fields[parts:]); err != nil {
				return err
			}
			text = x.Suffix(text, &row.Key)
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
func (c *Keeper) addDue(l *ledger, x *layout.Index, row *driver.Row, places map[driver.Key]bool) error {
	if row.Dead {
		return nil
	}
	entries, err := c.nativeEntries(x, row)
	for _, e := range entries {
		if places != nil {
			e = x.PlaceIn(e)
			if len(places) < mostPlaces {
				places[e] = true
			}
		}
		l.due(row.Key, e.Partition, e.Sort)
	}
	return err
}

// addFound adds what x has at places to a ledger.
func (c *Keeper) addFound(ctx context.Context, k *store.Call, x *layout.Index, l *ledger, places map[driver.Key]bool, rep *report) error {
	for place := range places {
		span := driver.Span{Table: x.Table, Key: driver.Key{Partition: place.Partition}, Mask: []int{}}
		if place.Sort != "" {
			span.From, span.To = place.Sort, driver.After(place.Sort)
		}
		if err := c.Bounds(&plan.Plan{X: x, Table: x.Table}, &span); err != nil {
			return err
		}
		for row, err := range c.Store.Driver.Range(k.Asks(ctx, 1), span) {
			if err != nil {
				return err
			}
			l.has(row.Key, place.Partition, place.Sort)
			rep.Rows++
			k.Read(1)
		}
	}
	return nil
}

// nativeEntries returns the entries that x should have of a record.
func (c *Keeper) nativeEntries(x *layout.Index, row *driver.Row) ([]driver.Key, error) {
	rec, err := c.RecordOf(row)
	if err != nil {
		return nil, err
	}
	b := layout.NewEntryMaker()
	defer b.Release()
	entries, err := b.StoredEntries(nil, c.Layout, x, &row.Key, rec.Vals)
	if err != nil {
		return nil, failure.OfKey(row.Key, err)
	}
	return entries, nil
}

// seek counts the entries of a record by which a native index does not find it.
func (c *Keeper) seek(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row, rep *report) error {
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
			err = c.Store.Get(ctx, k, c.Records, []driver.Key{row.Key}, nil, now[:])
		}
		if err != nil || missing == 0 || now[0].Rev == row.Rev || attempt >= limit.MaxAttempts {
			if rep.Missing += missing; missing > 0 {
				rep.sample("the store does not find record %s", c.PrintText(row.Key))
			}
			return err
		}
		if now[0].Key = row.Key; !c.IsLive(k, &now[0]) {
			return nil
		}
		row = &now[0]
	}
}

// findsAt reports whether a native index has a record at an entry.
func (c *Keeper) findsAt(ctx context.Context, k *store.Call, x *layout.Index, e, key driver.Key) (bool, error) {
	span := driver.Span{Table: x.Table, Key: driver.Key{Partition: e.Partition}, From: e.Sort, To: driver.After(e.Sort), Limit: 1, Mask: []int{}}
	if err := c.Bounds(&plan.Plan{X: x, Table: x.Table}, &span); err != nil {
		return false, err
	}
	for row, err := range c.Store.Driver.Range(k.Asks(ctx, 1), span) {
		if err != nil {
			return false, err
		}
		return row.Key == key, nil
	}
	return false, nil
}
