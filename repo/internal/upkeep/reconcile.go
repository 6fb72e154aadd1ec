package upkeep

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// Records and the rows of an index agree if each record has its rows, and each row a
// record. Who looks at all of them asks for many at once, and then again for each of the
// few that seem to disagree: others may be writing.

// A due is what a record should have in an index.
type due struct {
	keys  []driver.Key
	held  []driver.Token // of a remote index: that of each key
	never []driver.Key   // of a remote index: the entries for which no row was ever put
}

// dueOf returns what a record should have in x.
func (c *Keeper) dueOf(x *layout.Index, row *driver.Row) (e due, err error) {
	rec, err := c.RecordOf(row)
	if err != nil {
		return e, err
	}
	b := layout.NewEntryMaker()
	defer b.Release()
	if e.keys, err = b.StoredEntries(nil, c.Layout, x, &row.Key, rec.Vals); err != nil || !x.Remote || len(e.keys) == 0 {
		return e, err
	}
	entries := e.keys
	e.keys, e.held, err = c.RemoteKeys(x, row, entries)
	e.never = entries[len(e.keys):]
	return e, err
}

// lacks returns the keys of the rows that the record of a key should have in x and has
// not; rows are what the store has under those of e.
func (c *Keeper) lacks(x *layout.Index, record driver.Key, e *due, rows []driver.Row) []driver.Key {
	missing := e.never
	for i := range rows {
		row := &rows[i]
		has := !row.Rev.IsZero()
		switch row.Key = e.keys[i]; {
		case has && x.Remote:
			has = !x.Unique || row.Rev == e.held[i]
		case has:
			owner, err := c.RecordKey(x, row)
			has = err == nil && owner == record
		}
		if !has {
			missing = append(missing, row.Key)
		}
	}
	return missing
}

// missingRows returns the keys of the rows that a record should have in x and has not.
// One without any entry counts as a row that is missing.
func (c *Keeper) missingRows(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) ([]driver.Key, error) {
	e, err := c.dueOf(x, row)
	if err != nil {
		return nil, err
	}
	rows, err := c.readAll(ctx, k, x.Table, e.keys, x.OwnerMask())
	return c.lacks(x, row.Key, &e, rows), err
}

// complete reports of each record whether it has all its rows in x. False may also mean
// that it cannot be told from here.
func (c *Keeper) complete(ctx context.Context, k *store.Call, x *layout.Index, records []driver.Row) ([]bool, error) {
	whole, all := make([]bool, len(records)), make([]due, len(records))
	var keys []driver.Key
	for i := range records {
		if c.IsLive(k, &records[i]) {
			e, err := c.dueOf(x, &records[i])
			if whole[i] = err == nil; whole[i] {
				all[i], keys = e, append(keys, e.keys...)
			}
		}
	}
	rows, err := c.readAll(ctx, k, x.Table, keys, x.OwnerMask())
	if err != nil {
		return make([]bool, len(records)), unlessOfRow(err)
	}
	for i := range records {
		n := len(all[i].keys)
		whole[i] = whole[i] && len(c.lacks(x, records[i].Key, &all[i], rows[:n])) == 0
		rows = rows[n:]
	}
	return whole, nil
}

// upheld reports of each row of x whether the record that it names has it. False may also
// mean that it cannot be told from here.
func (c *Keeper) upheld(ctx context.Context, k *store.Call, x *layout.Index, rows []driver.Row) ([]bool, error) {
	good := make([]bool, len(rows))
	var keys []driver.Key
	for i := range rows {
		owner, err := c.RecordKey(x, &rows[i])
		if good[i] = err == nil; good[i] {
			keys = append(keys, owner)
		}
	}
	records, err := c.readAll(ctx, k, c.Records, keys, nil)
	if err != nil {
		return make([]bool, len(rows)), unlessOfRow(err)
	}
	for i := range rows {
		if good[i] {
			records[0].Key = keys[0]
			has, err := c.upholds(x, &rows[i], &records[0])
			good[i] = has && err == nil
			records, keys = records[1:], keys[1:]
		}
	}
	return good, nil
}

// upholds reports whether a record, expired or not, has a row of x.
func (c *Keeper) upholds(x *layout.Index, row, record *driver.Row) (bool, error) {
	if !x.Remote {
		return c.hasRow(x, row, record)
	}
	entry, token, err := x.CutToken(row)
	if err == nil {
		_, err = x.BaseOf(row)
	}
	if err != nil {
		return false, err
	}
	return c.HasEntry(x, record, entry, token)
}

// unlessOfRow returns an error unless it is about a row: which one will be seen when the
// rows are looked at one by one.
func unlessOfRow(err error) error {
	if scan.IsOfRow(err) {
		return nil
	}
	return err
}

// readAll reads the rows of keys, some at once.
func (c *Keeper) readAll(ctx context.Context, k *store.Call, t *driver.Table, keys []driver.Key, mask []int) ([]driver.Row, error) {
	rows := make([]driver.Row, len(keys))
	for from := 0; from < len(keys); from += limit.BatchSize {
		to := min(from+limit.BatchSize, len(keys))
		if err := c.Store.Get(ctx, k, t, keys[from:to], mask, rows[from:to]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
