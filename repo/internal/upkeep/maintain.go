package upkeep

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// Maintain removes what nobody can see any more, and adds what a late write left out. It may have come to the end with an error, of rows
// that cannot be dealt with.
func (c *Keeper) Maintain(ctx context.Context, k *store.Call) (done reclaimed, ended bool, err error) {
	u := &upkeep{Keeper: c, call: k, faults: new(scan.Faults)}
	for _, x := range c.Indexes { // before the tombstones, by which rows are known to be dead
		if err == nil && x.Remote {
			err = u.sweepRemote(ctx, x)
		}
	}
	if err == nil {
		err = u.sweepRecords(ctx)
	}
	return u.done, err == nil, u.faults.With(err)
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
