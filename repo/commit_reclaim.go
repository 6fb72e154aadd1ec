package repo

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// reclaim deletes a record if it has expired, with its rows and claims.
func (c *writer) reclaim(ctx context.Context, k *call, key driver.Key) (gone bool, err error) {
	if _, err := c.partsOf(nil, key); err != nil {
		return false, err // nobody can be asked for such a key
	}
	since := c.clock()
	var rows [1]driver.Row
	if err := c.store.get(ctx, k, c.records, []driver.Key{key}, nil, rows[:]); err != nil {
		return false, err
	}
	rows[0].Key = key
	return c.reclaimRow(ctx, k, &rows[0], since)
}

// reclaimRow is reclaim of a record that was read, since a time before that.
func (c *writer) reclaimRow(ctx context.Context, k *call, row *driver.Row, since time.Time) (gone bool, err error) {
	vals, err := c.partsOf(nil, row.Key)
	if err != nil {
		return false, err
	}
	w := write{verb: doDelete, change: change{key: row.Key, keyVals: vals}}
	if err := w.learn(c, k, row, nil); err != nil || !w.old.row || w.old.live || row.Dead {
		return false, err // gone, or renewed
	}
	_, refusal, err := c.try(ctx, k, driver.NewToken(), []write{w}, since)
	if errors.Is(err, driver.ErrUnknownOutcome) {
		err = givenUp(ctx, "an expired record", err) // its outcome is not that of the write which it is in the way of
	}
	return err == nil && refusal == nil, err
}
