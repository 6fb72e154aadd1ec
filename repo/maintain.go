package repo

import (
	"context"
	"errors"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A Reclaimed says what [Repo.Maintain] did.
type Reclaimed struct {
	Expired int // records that had expired and were removed, with their rows
	Dead    int // tombstones that were no longer needed
	Rows    int // rows and claims of indexes in other partitions that no record had, left by what was interrupted
}

// Maintain removes what nobody can see any more: expired records with their
// index rows, old tombstones, and what writers left behind that were interrupted. Run
// it now and then, in one place or several; it may be interrupted at any time. It
// reads everything, as fast as it can: [Store.Maintain] does it for all collections, at a rate.
// What is less than some minutes old it may leave for the next time.
// How old something is it says by this program's clock, which must be right.
//
// Rows that cannot be read or dealt with, as another program wrote them, stay, and keep
// nothing else from being removed: it is done when the error comes that names some of them.
func (r *Repo[T]) Maintain(ctx context.Context) (Reclaimed, error) {
	done, _, err := r.maintain(ctx, nil)
	return done, err
}

// maintain is Maintain on its way through the collection. It may have come to the end with an
// error, of rows that cannot be dealt with.
func (c *collection) maintain(ctx context.Context, way *way) (done Reclaimed, ended bool, err error) {
	k := c.begin("maintain")
	if ctx == nil {
		return done, false, c.end(&k, nil, errNoContext)
	}
	k.way = way
	u := &upkeep{collection: c, call: &k, faults: new(faults)}
	for _, x := range c.indexes { // before the tombstones, by which rows are known to be dead
		if err == nil && x.loose {
			err = u.sweepLoose(ctx, x)
		}
	}
	if err == nil {
		err = u.sweepRecords(ctx)
	}
	return u.done, err == nil, c.end(&k, nil, u.faults.with(err))
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
			u.call.way.judge(mark, err)
			return err
		}
		u.done.Dead += page.Dead
		expired := func(rows []driver.Row) error { return u.removeExpired(ctx, rows) }
		if err := u.call.way.through(ctx, u.records, &page.Chunk, page.Read, expired); err != nil {
			return err
		}
		mark, ahead = page.Mark, page.Mark != ""
	}
	return nil
}

// isForgotten reports whether a row is a tombstone that nobody needs any more. A fence has given
// more time to one whose Rev is younger.
func (c *collection) isForgotten(row *driver.Row) bool {
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
		if err := u.faults.take(u.collection, u.records, row.Key, err); err != nil {
			return err
		}
	}
	return nil
}

// reclaim deletes a record if it has expired, with its rows and claims.
func (c *collection) reclaim(ctx context.Context, k *call, key driver.Key) (gone bool, err error) {
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
func (c *collection) reclaimRow(ctx context.Context, k *call, row *driver.Row, since time.Time) (gone bool, err error) {
	vals, err := c.partsOf(nil, row.Key)
	if err != nil {
		return false, err
	}
	w := write{verb: doDelete, change: change{key: row.Key, keyVals: vals}}
	if err := w.learn(c, k, row, nil); err != nil || !w.old.row || w.old.live || row.Dead {
		return false, err // gone, or renewed
	}
	_, refusal, err := c.try(ctx, k, driver.NewToken(), []write{w}, since)
	if errors.Is(err, ErrUnknownOutcome) {
		err = givenUp(ctx, "an expired record", err) // its outcome is not that of the write which it is in the way of
	}
	return err == nil && refusal == nil, err
}
