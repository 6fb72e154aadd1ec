package upkeep

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// Where a commit can have records of any partitions, a filler commits some at once. Such a commit is small: writers of
// its records, and on some stores all others, wait for it.

const (
	groupRecords = 32
	groupOps     = 2 * groupRecords // from when on a commit takes no further record
	groupBytes   = 128 << 10        // the same, of the records
)

// A filler that was given no rate leaves room for writers: its commits are smaller, one of some records is under way, or
// two of one, and it rests after each as long as that took. So it is slower where the store is, or is busy.
const (
	politeRecords = 8
	politeSingle  = 2
)

// fillRows writes the rows of x for the records of a chunk.
func (c *filler) fillRows(ctx context.Context, u *upkeep, x *layout.Index, rows []driver.Row, p *progress) error {
	together := c.Store.Facts.Scope == driver.ScopeStore && !x.Unique && !x.Remote
	size, most := 1, upkeepAtOnce
	switch {
	case together && c.rate == nil:
		size, most = politeRecords, 1
	case together:
		size = groupRecords
	case c.rate == nil:
		most = politeSingle
	}
	groups := slices.Collect(slices.Chunk(rows, size))
	return u.someAtOnce(ctx, most, len(groups), func(ctx context.Context, k *store.Call, i int) error {
		began := time.Now()
		err := c.fillGroup(ctx, k, x, groups[i])
		if err == nil {
			err = p.add(ctx, k, len(groups[i]))
		}
		if err == nil && c.rate == nil {
			now := time.Now()
			err = store.SleepUntil(ctx, now.Add(now.Sub(began)))
		}
		return err
	})
}

// fillGroup writes the rows of x for some records.
func (c *filler) fillGroup(ctx context.Context, k *store.Call, x *layout.Index, rows []driver.Row) error {
	for len(rows) > 0 {
		n, done := 1, false
		if len(rows) > 1 {
			var err error
			if n, done, err = c.fillSome(ctx, k, x, rows); err != nil {
				return err
			}
		}
		for i := 0; i < n && !done; i++ {
			if err := c.fillRow(ctx, k, x, &rows[i]); err != nil {
				return err
			}
		}
		rows = rows[n:]
	}
	return nil
}

// fillSome writes the rows of x for the first n records by one commit. Done is false if nothing, or nobody knows what,
// has become of it because of one of these records: then one after the other tells.
func (c *filler) fillSome(ctx context.Context, k *store.Call, x *layout.Index, rows []driver.Row) (n int, done bool, err error) {
	b, bytes := change.NewBuilder(c.Store), 0
	defer b.Release()
	for n < len(rows) && len(b.Ops) < groupOps && bytes < groupBytes && !hasKey(rows[:n], rows[n].Key) {
		row := &rows[n]
		n++
		if !c.IsLive(k, row) {
			continue
		}
		bytes += record.BytesIn(row.Key, row.Fields, row.Extra)
		rec, err := c.RecordOf(row)
		if err == nil {
			err = c.add(ctx, k, b, x, row, rec)
		}
		if err != nil {
			return n, false, unlessOfRow(err)
		}
	}
	if len(b.Ops) == 0 {
		return n, true, nil
	}
	refusal, err := c.send(ctx, k, b)
	if errors.Is(err, driver.ErrUnknownOutcome) {
		return n, false, nil
	}
	return n, err == nil && refusal == nil, unlessOfRow(err)
}

// hasKey reports whether a record is among some: a walk may yield it again.
func hasKey(rows []driver.Row, key driver.Key) bool {
	return slices.ContainsFunc(rows, func(row driver.Row) bool { return row.Key == key })
}
