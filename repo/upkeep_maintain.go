package repo

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// maintain removes what nobody can see any more. It may have come to the end with an error, of rows
// that cannot be dealt with.
func (c *keeper) maintain(ctx context.Context, k *call) (done reclaimed, ended bool, err error) {
	u := &upkeep{keeper: c, call: k, faults: new(faults)}
	for _, x := range c.indexes { // before the tombstones, by which rows are known to be dead
		if err == nil && x.loose {
			err = u.sweepLoose(ctx, x)
		}
	}
	if err == nil {
		err = u.sweepRecords(ctx)
	}
	return u.done, err == nil, u.faults.with(err)
}

// sweepRecords takes records away that have expired, and old tombstones.
func (u *upkeep) sweepRecords(ctx context.Context) error {
	if s, ok := u.store.driver.(driver.Sweeper); ok {
		return u.sweepPages(ctx, s)
	}
	return u.eachChunk(ctx, u.call, u.faults, u.records, func(rows []driver.Row) error {
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
	mark, ahead := u.call.way.from(u.records)
	for ahead {
		page, err := s.Sweep(u.call.walks(ctx), u.records, mark, u.isForgotten)
		u.call.got(len(page.Rows))
		if err := u.faults.unread(err); err != nil {
			return err
		}
		u.done.Dead += page.Dead
		if err := u.removeExpired(ctx, page.Rows); err != nil {
			return err
		}
		mark, ahead = page.Mark, page.Mark != ""
		if err := u.call.way.pass(ctx, u.records, mark, len(page.Rows)+page.Dead); err != nil {
			return err
		}
	}
	return nil
}

// isForgotten reports whether a row is a tombstone that nobody needs any more. A fence has given
// more time to one whose Rev is younger.
func (c *keeper) isForgotten(row *driver.Row) bool {
	return row.Dead && row.Expires != 0 && row.Expires <= c.store.nowMillis() && c.age(row.Rev) >= c.retention
}

// removeExpired deletes those of some records that have expired.
func (u *upkeep) removeExpired(ctx context.Context, rows []driver.Row) error {
	for i := range rows {
		row := &rows[i]
		if row.Dead || row.Expires == 0 || row.Expires > u.store.nowMillis() {
			continue
		}
		gone, err := u.reclaim(ctx, u.call, row.Key)
		if gone {
			u.done.Expired++
		}
		if err := u.faults.take(u.layoutC, u.records, row.Key, err); err != nil {
			return err
		}
	}
	return nil
}
