package repo

import (
	"context"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// mendLoose puts rows and claims again that a record has lost (M1). Such a base is the
// record's Rev only while it has the entry, so that nobody takes the row for one
// whose commit may come.
func (c *keeper) mendLoose(ctx context.Context, k *call, x *index, row *driver.Row, missing []driver.Key) error {
	rec, err := c.recordOf(row)
	if err != nil {
		return err
	}
	b := newBuilder(c.store)
	defer b.release()
	entries, err := b.storedEntries(nil, c.layoutC, x, &row.Key, rec.vals)
	if err != nil {
		return err
	}
	keys, held, err := c.looseKeys(x, row, entries)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if !slices.Contains(missing, key) {
			continue
		}
		b.token, b.puts = held[i], b.puts[:0]
		b.putLoose(x, &change{key: row.Key}, entries[i], driver.StringValue(held[i].String()))
		w := &change{key: row.Key, keyVals: rec.vals[:len(c.key)], next: rec}
		if x.Unique {
			err = c.claim(ctx, k, held[i], &b.puts[0], w)
		} else {
			_, err = c.sendLoose(ctx, k, held[i], &b.puts[0].Op)
		}
		if err != nil {
			return ofKey(row.Key, err)
		}
	}
	if len(held) < len(entries) {
		return c.rewrite(ctx, k, row.Key, rec.vals[:len(c.key)])
	}
	return nil
}

// rewrite writes a record again as it is, with the entries of loose indexes that it lacks:
// those of which the program did not know that wrote it.
func (c *keeper) rewrite(ctx context.Context, k *call, key driver.Key, keyVals []driver.Value) error {
	for attempt := range maxAttempts {
		if err := pause(ctx, attempt); err != nil {
			return ofKey(key, err)
		}
		since, writes := c.clock(), []write{{verb: doUpdate, change: change{key: key, keyVals: keyVals}}}
		if err := c.readOld(ctx, k, writes, false); err != nil {
			return err
		}
		if !writes[0].old.live {
			return nil
		}
		done, err := c.sendAgain(ctx, k, writes, since)
		if err != nil {
			return ofKeyOnce(key, err)
		}
		if done {
			return nil
		}
	}
	return ofKey(key, contention("gave up after %d attempts, other writers were faster each time", maxAttempts))
}

// sendAgain commits what is there already of one record; done is false if it has changed.
func (c *keeper) sendAgain(ctx context.Context, k *call, writes []write, since time.Time) (done bool, err error) {
	w := &writes[0]
	next := w.old.record
	w.next, w.whole = &next, true
	b := newBuilder(c.store)
	defer b.release()
	b.token = driver.NewToken()
	if err := b.add(c.layoutC, 0, &w.change); err != nil {
		return false, err
	}
	refusal, err := c.commitAll(ctx, k, b, writes, since)
	return err == nil && refusal == nil, err
}
