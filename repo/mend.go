package repo

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// looseKeys returns the keys of the rows that a record has in a loose index by its
// entries, and their tokens. A record that was written without the index has none.
func (c *collection) looseKeys(x *index, row *driver.Row, entries []driver.Key) ([]driver.Key, []driver.Token, error) {
	tokens, err := c.tokensIn(row.Note)
	if err != nil {
		return nil, nil, err
	}
	held := tokens[slices.Index(c.indexes, x)]
	entries = entries[:min(len(entries), len(held))]
	keys := make([]driver.Key, len(entries))
	for i, e := range entries {
		keys[i] = x.tokenKey(e, held[i])
	}
	return keys, held, nil
}

// missingLoose returns the keys of the rows that a record should have in a loose index
// and has not. One without any entry counts as a row that is missing.
func (c *collection) missingLoose(ctx context.Context, k *call, x *index, row *driver.Row, entries []driver.Key) ([]driver.Key, error) {
	keys, held, err := c.looseKeys(x, row, entries)
	if err != nil {
		return nil, err
	}
	rows := make([]driver.Row, len(keys))
	if err := c.store.get(ctx, k, x.table, keys, nil, rows); err != nil {
		return nil, err
	}
	missing := entries[len(keys):]
	for i := range rows {
		if rows[i].Rev.IsZero() || x.Unique && rows[i].Rev != held[i] {
			missing = append(missing, keys[i])
		}
	}
	return missing, nil
}

// mendLoose puts rows and claims again that a record has lost (M1). Such a base is the
// record's Rev only while it has the entry, so that nobody takes the row for one
// whose commit may come.
func (c *collection) mendLoose(ctx context.Context, k *call, x *index, row *driver.Row, missing []driver.Key) error {
	rec, err := c.recordOf(row)
	if err != nil {
		return err
	}
	b := newBuilder()
	defer b.release()
	entries, err := b.entries(nil, c, x, &row.Key, rec.vals)
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
		w := &write{change: change{key: row.Key, keyVals: rec.vals[:len(c.key)], next: rec}}
		if x.Unique {
			err = c.claim(ctx, k, held[i], &b.puts[0], w)
		} else {
			_, err = c.sendLoose(ctx, k, held[i], &b.puts[0].Op)
		}
		if err != nil {
			return ofKey(row.Key, err)
		}
	}
	return nil
}
