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
	v := &nativeCheck{Keeper: c, k: k, x: x, sums: newLedger(), rep: rep}
	err := v.addListed(ctx, f)
	byPlace := errors.Is(err, driver.ErrUnsupported)
	if err != nil && !byPlace {
		return err
	}
	if byPlace {
		v.places = map[driver.Key]bool{}
	}
	err = c.Each(ctx, k, f, c.Records, func(row *driver.Row) error {
		if c.IsLive(k, row) {
			rep.Records++
		}
		return v.addDue(row)
	})
	if err == nil && byPlace {
		err = v.addFound(ctx)
	}
	if err != nil || !v.sums.differ() {
		return err
	}
	return c.Each(ctx, k, f, c.Records, func(row *driver.Row) error {
		if !c.IsLive(k, row) || !v.sums.differs(row.Key) {
			return nil
		}
		return v.seek(ctx, row)
	})
}

// A nativeCheck compares a native index with the records.
type nativeCheck struct {
	*Keeper
	k      *store.Call
	x      *layout.Index
	sums   *ledger
	places map[driver.Key]bool // where entries should be; nil if the store lists its entries
	rep    *report
}

// addListed adds what the index has to the sums. A store that does not list it is ErrUnsupported.
func (v *nativeCheck) addListed(ctx context.Context, f *scan.Faults) error {
	var text []byte
	for chunk, err := range v.Store.Driver.Walk(v.k.Walks(ctx), v.x.Table, "") {
		if err := f.Unread(err); err != nil {
			return err
		}
		v.k.Got(len(chunk.Rows))
		for i := range chunk.Rows {
			row, parts := &chunk.Rows[i], len(v.x.PartitionFrom)
			if len(row.Fields) < parts+len(v.x.SortFrom) {
				return fmt.Errorf("the store lists an entry of index %s without its values: %w", v.x.ID, driver.ErrInternal)
			}
			if text, err = driver.AppendParts(text[:0], v.x.Table.Partition, row.Fields); err != nil {
				return err
			}
			cut := len(text)
			if text, err = driver.AppendParts(text, v.x.Table.Sort[:len(v.x.SortFrom)], row.Fields[parts:]); err != nil {
				return err
			}
			text = v.x.Suffix(text, &row.Key)
			v.sums.has(row.Key, string(text[:cut]), string(text[cut:]))
			v.rep.Rows++
		}
	}
	return nil
}

// mostPlaces is how many places of a native index are remembered at most. What is at others
// is looked for one by one.
const mostPlaces = 1 << 16

// addDue adds to the sums what the index should have of a record, expired or not: by its entries
// or, where places are to be noted, by these.
func (v *nativeCheck) addDue(row *driver.Row) error {
	if row.Dead {
		return nil
	}
	entries, err := v.entries(row)
	for _, e := range entries {
		if v.places != nil {
			e = v.x.PlaceIn(e)
			if len(v.places) < mostPlaces {
				v.places[e] = true
			}
		}
		v.sums.due(row.Key, e.Partition, e.Sort)
	}
	return err
}

// addFound adds what the index has at the places to the sums.
func (v *nativeCheck) addFound(ctx context.Context) error {
	for place := range v.places {
		span := driver.Span{Table: v.x.Table, Key: driver.Key{Partition: place.Partition}, Mask: []int{}}
		if place.Sort != "" {
			span.From, span.To = place.Sort, driver.After(place.Sort)
		}
		if err := v.Bounds(&plan.Plan{X: v.x, Table: v.x.Table}, &span); err != nil {
			return err
		}
		for row, err := range v.Store.Driver.Range(v.k.Asks(ctx, 1), span) {
			if err != nil {
				return err
			}
			v.sums.has(row.Key, place.Partition, place.Sort)
			v.rep.Rows++
			v.k.Read(1)
		}
	}
	return nil
}

// entries returns the entries that the index should have of a record.
func (v *nativeCheck) entries(row *driver.Row) ([]driver.Key, error) {
	rec, err := v.RecordOf(row)
	if err != nil {
		return nil, err
	}
	b := layout.NewEntryMaker()
	defer b.Release()
	entries, err := b.StoredEntries(nil, v.Layout, v.x, &row.Key, rec.Vals)
	if err != nil {
		return nil, failure.OfKey(row.Key, err)
	}
	return entries, nil
}

// seek counts the entries of a record by which a native index does not find it.
func (v *nativeCheck) seek(ctx context.Context, row *driver.Row) error {
	for attempt := 0; ; attempt++ {
		entries, err := v.entries(row)
		if err != nil {
			return err
		}
		missing := 0
		for _, e := range entries {
			found, err := v.findsAt(ctx, e, row.Key)
			if err != nil {
				return err
			}
			if !found {
				missing++
			}
		}
		var now [1]driver.Row
		if missing > 0 {
			err = v.Store.Get(ctx, v.k, v.Records, []driver.Key{row.Key}, nil, now[:])
		}
		if err != nil || missing == 0 || now[0].Rev == row.Rev || attempt >= limit.MaxAttempts {
			if v.rep.Missing += missing; missing > 0 {
				v.rep.sample("the store does not find record %s", v.PrintText(row.Key))
			}
			return err
		}
		if now[0].Key = row.Key; !v.IsLive(v.k, &now[0]) {
			return nil
		}
		row = &now[0]
	}
}

// findsAt reports whether a native index has a record at an entry.
func (v *nativeCheck) findsAt(ctx context.Context, e, key driver.Key) (bool, error) {
	span := driver.Span{Table: v.x.Table, Key: driver.Key{Partition: e.Partition}, From: e.Sort, To: driver.After(e.Sort), Limit: 1, Mask: []int{}}
	if err := v.Bounds(&plan.Plan{X: v.x, Table: v.x.Table}, &span); err != nil {
		return false, err
	}
	for row, err := range v.Store.Driver.Range(v.k.Asks(ctx, 1), span) {
		if err != nil {
			return false, err
		}
		return row.Key == key, nil
	}
	return false, nil
}
