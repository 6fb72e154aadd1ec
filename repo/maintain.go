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
	var f faults
	for _, x := range c.indexes { // before the tombstones, by which rows are known to be dead
		if err == nil && x.loose {
			err = c.sweepLoose(ctx, &k, &f, x, &done)
		}
	}
	if err == nil {
		err = c.each(ctx, &k, &f, c.records, func(row *driver.Row) error { return c.remove(ctx, &k, row, &done) })
	}
	return done, err == nil, c.end(&k, nil, f.with(err))
}

// remove takes a record away if it has expired, or is an old tombstone.
func (c *collection) remove(ctx context.Context, k *call, row *driver.Row, done *Reclaimed) error {
	if row.Expires == 0 || row.Expires > c.store.nowMillis() {
		return nil
	}
	if !row.Dead {
		gone, err := c.reclaim(ctx, k, row.Key)
		if gone {
			done.Expired++
		}
		return err
	}
	if c.age(row.Rev) < c.retention { // a fence has given it more time
		return nil
	}
	refusal, err := c.store.commit(ctx, k, driver.NewToken(),
		[]driver.Op{{Do: driver.Delete, Table: c.records, Row: driver.Row{Key: row.Key}, If: driver.AtRev, Rev: row.Rev}})
	if err == nil && refusal == nil {
		done.Dead++
	}
	return err
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

// sweepLoose drops the rows or claims of a loose index that no record has (S1 to S3).
func (c *collection) sweepLoose(ctx context.Context, k *call, f *faults, x *index, done *Reclaimed) error {
	return c.each(ctx, k, f, x.table, func(row *driver.Row) error {
		dropped, err := c.sweepRow(ctx, k, x, row)
		if dropped {
			done.Rows++
		}
		return err
	})
}

// sweepRow drops a row or claim if it is dead, and fences its record first if the
// commit for which it was put may still come although it is old.
func (c *collection) sweepRow(ctx context.Context, k *call, x *index, row *driver.Row) (dropped bool, err error) {
	_, token, err := x.cutToken(row)
	if err != nil {
		return false, err
	}
	j, err := c.judge(ctx, k, x, row)
	if err != nil {
		return false, err
	}
	if j.standing == pending && c.age(token) > grace {
		if _, err := c.fence(ctx, k, j.owner, j.base, j.since); err != nil {
			return false, err
		}
		if j, err = c.judge(ctx, k, x, row); err != nil {
			return false, err
		}
	}
	if j.standing != dead || !x.Unique && !c.restedSince(&j.row) {
		return false, nil
	}
	op := x.dropOf(row.Key, token)
	op.Row.Hint = row.Hint
	refusal, err := c.sendLoose(ctx, k, driver.NewToken(), &op)
	return err == nil && refusal == nil, err
}

// restedSince reports whether a record has not changed for as long as a row that it
// gave up must stay: a scan under way may need it.
func (c *collection) restedSince(row *driver.Row) bool {
	return row.Rev.IsZero() || c.age(row.Rev) > rowDelay+clockMargin
}
