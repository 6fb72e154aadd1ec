package upkeep

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// Maintain removes what nobody can see any more. It may have come to the end with an error, of rows
// that cannot be dealt with.
func (c *Keeper) Maintain(ctx context.Context, k *store.Call) (done reclaimed, ended bool, err error) {
	u := &upkeep{Keeper: c, call: k, faults: new(scan.Faults)}
	for _, x := range c.Indexes { // before the tombstones, by which rows are known to be dead
		if err == nil && x.Loose {
			err = u.sweepLoose(ctx, x)
		}
	}
	if err == nil {
		err = u.sweepRecords(ctx)
	}
	return u.done, err == nil, u.faults.With(err)
}

// sweepRecords takes records away that have expired, and old tombstones.
func (u *upkeep) sweepRecords(ctx context.Context) error {
	if s, ok := u.Store.Driver.(driver.Sweeper); ok {
		return u.sweepPages(ctx, s)
	}
	return u.EachChunk(ctx, u.call, u.faults, u.Records, func(rows []driver.Row) error {
		var old []driver.Row
		for i := range rows {
			if row := &rows[i]; u.isForgotten(row) {
				old = append(old, *row)
			}
		}
		if err := u.removeExpired(ctx, rows); err != nil {
			return err
		}
		return u.removeDead(ctx, old)
	})
}

// sweepPages is sweepRecords in a store that sweeps by itself what is dead.
func (u *upkeep) sweepPages(ctx context.Context, s driver.Sweeper) error {
	mark, ahead := u.call.Way.From(u.Records)
	for ahead {
		page, err := s.Sweep(u.call.Walks(ctx), u.Records, mark, u.isForgotten)
		u.call.Got(len(page.Rows))
		if err := u.faults.Unread(err); err != nil {
			u.call.Way.Judge(mark, err)
			return err
		}
		u.done.Dead += page.Dead
		expired := func(rows []driver.Row) error { return u.removeExpired(ctx, rows) }
		if err := u.call.Way.Through(ctx, u.Records, &page.Chunk, page.Read, expired); err != nil {
			return err
		}
		mark, ahead = page.Mark, page.Mark != ""
	}
	return nil
}

// isForgotten reports whether a row is a tombstone that nobody needs any more. A fence has given
// more time to one whose Rev is younger.
func (c *Keeper) isForgotten(row *driver.Row) bool {
	return row.Dead && row.Expires != 0 && row.Expires <= c.Store.NowMillis() && c.Age(row.Rev) >= c.Retention
}

// removeExpired deletes those of some records that have expired.
func (u *upkeep) removeExpired(ctx context.Context, rows []driver.Row) error {
	for i := range rows {
		row := &rows[i]
		if row.Dead || row.Expires == 0 || row.Expires > u.Store.NowMillis() {
			continue
		}
		gone, err := u.Reclaim(ctx, u.call, row.Key)
		if gone {
			u.done.Expired++
		}
		if err := u.faults.Take(u.Layout, u.Records, row.Key, err); err != nil {
			return err
		}
	}
	return nil
}
