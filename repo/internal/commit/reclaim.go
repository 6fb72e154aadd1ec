package commit

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// Reclaim deletes a record if it has expired, with its rows and claims.
func (c *Writer) Reclaim(ctx context.Context, k *store.Call, key driver.Key) (gone bool, err error) {
	if _, err := c.PartsOf(nil, key); err != nil {
		return false, err // nobody can be asked for such a key
	}
	since := c.Clock()
	var rows [1]driver.Row
	if err := c.Store.Get(ctx, k, c.Records, []driver.Key{key}, nil, rows[:]); err != nil {
		return false, err
	}
	rows[0].Key = key
	return c.reclaimRow(ctx, k, &rows[0], since)
}

// reclaimRow is reclaim of a record that was read, since a time before that.
func (c *Writer) reclaimRow(ctx context.Context, k *store.Call, row *driver.Row, since time.Time) (gone bool, err error) {
	vals, err := c.PartsOf(nil, row.Key)
	if err != nil {
		return false, err
	}
	w := Write{By: c, Verb: DoDelete, Change: change.Change{Key: row.Key, KeyVals: vals}}
	if err := w.Learn(c, k, row, nil); err != nil || !w.Old.Row || w.Old.Live || row.Dead {
		return false, err // gone, or renewed
	}
	_, refusal, err := try(ctx, k, driver.NewToken(), []Write{w}, since)
	if errors.Is(err, driver.ErrUnknownOutcome) {
		err = failure.GivenUp(ctx, "an expired record", err) // its outcome is not that of the write which it is in the way of
	}
	return err == nil && refusal == nil, err
}
