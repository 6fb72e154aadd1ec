package upkeep

import (
	"context"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/commit"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
)

// repairRemote puts rows and claims again that a record has lost (M1). Such a base is the
// record's Rev only while it has the entry, so that nobody takes the row for one
// whose commit may come.
func (c *Keeper) repairRemote(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row, missing []driver.Key) error {
	rec, err := c.RecordOf(row)
	if err != nil {
		return err
	}
	b := change.NewBuilder(c.Store)
	defer b.Release()
	entries, err := b.StoredEntries(nil, c.Layout, x, &row.Key, rec.Vals)
	if err != nil {
		return err
	}
	keys, held, err := c.RemoteKeys(x, row, entries)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if !slices.Contains(missing, key) {
			continue
		}
		b.Token, b.Puts = held[i], b.Puts[:0]
		b.PutRemote(x, &change.Change{Key: row.Key}, entries[i], driver.StringValue(held[i].String()))
		w := &change.Change{Key: row.Key, KeyVals: rec.Vals[:len(c.Key)], Next: rec}
		if x.Unique {
			err = c.Claim(ctx, k, held[i], &b.Puts[0], w)
		} else {
			_, err = c.SendRemote(ctx, k, held[i], &b.Puts[0].Op)
		}
		if err != nil {
			return failure.OfKey(row.Key, err)
		}
	}
	if len(held) < len(entries) {
		return c.rewrite(ctx, k, row.Key, rec.Vals[:len(c.Key)], nil, time.Time{})
	}
	return nil
}

// rewrite writes a record again as it is, with the entries of remote indexes that it lacks:
// those of which the program did not know that wrote it. Row is the record as it was read, after a time; if that
// is nil or changed meanwhile, the record is read here.
func (c *Keeper) rewrite(ctx context.Context, k *store.Call, key driver.Key, keyVals []driver.Value, row *driver.Row, since time.Time) error {
	for attempt := range limit.MaxAttempts {
		if err := store.Pause(ctx, attempt); err != nil {
			return failure.OfKey(key, err)
		}
		writes := []commit.Write{{By: c.Writer, Verb: commit.DoUpdate, Change: change.Change{Key: key, KeyVals: keyVals}}}
		if err := learn(ctx, k, writes, row, &since); err != nil {
			return err
		}
		row = nil
		if !writes[0].Old.Live {
			return nil
		}
		if err := c.MayWrite(ctx); err != nil {
			return failure.OfKeyOnce(key, err)
		}
		done, err := c.sendAgain(ctx, k, writes, since)
		if err != nil {
			return failure.OfKeyOnce(key, err)
		}
		if done {
			return nil
		}
	}
	return failure.OfKey(key, failure.Contention("gave up after %d attempts, other writers were faster each time", limit.MaxAttempts))
}

// readFor is for how long a record that a walk read is taken for what is there. One that changed is read again.
const readFor = time.Minute

// learn lets a write know what is there: row, unless that is nil or was read long ago. Since is a time before it was read.
func learn(ctx context.Context, k *store.Call, writes []commit.Write, row *driver.Row, since *time.Time) error {
	w := &writes[0]
	if row != nil && time.Since(*since) < readFor {
		return w.Learn(w.By, k, row, nil)
	}
	*since = w.By.Clock()
	return commit.ReadOld(ctx, k, writes, false)
}

// sendAgain commits what is there already of one record; done is false if it has changed.
func (c *Keeper) sendAgain(ctx context.Context, k *store.Call, writes []commit.Write, since time.Time) (done bool, err error) {
	w := &writes[0]
	next := w.Old.Record
	w.Next, w.Whole = &next, true
	b := change.NewBuilder(c.Store)
	defer b.Release()
	b.Token = driver.NewToken()
	if err := b.Add(c.Layout, 0, &w.Change); err != nil {
		return false, err
	}
	refusal, err := c.CommitAll(ctx, k, b, writes, since)
	return err == nil && refusal == nil, err
}
