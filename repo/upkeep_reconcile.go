package repo

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// Records and the rows of an index agree if each record has its rows, and each row a
// record. Who looks at all of them asks for many at once, and then again for each of the
// few that seem to disagree: others may be writing.

// A due is what a record should have in an index.
type due struct {
	keys  []driver.Key
	held  []driver.Token // of a loose index: that of each key
	never []driver.Key   // of a loose index: the entries for which no row was ever put
}

// dueOf returns what a record should have in x.
func (c *keeper) dueOf(x *index, row *driver.Row) (e due, err error) {
	rec, err := c.recordOf(row)
	if err != nil {
		return e, err
	}
	b := newEntryMaker()
	defer b.release()
	if e.keys, err = b.storedEntries(nil, c.layoutC, x, &row.Key, rec.vals); err != nil || !x.loose || len(e.keys) == 0 {
		return e, err
	}
	entries := e.keys
	e.keys, e.held, err = c.looseKeys(x, row, entries)
	e.never = entries[len(e.keys):]
	return e, err
}

// lacks returns the keys of the rows that the record of a key should have in x and has
// not; rows are what the store has under those of e.
func (c *keeper) lacks(x *index, record driver.Key, e *due, rows []driver.Row) []driver.Key {
	missing := e.never
	for i := range rows {
		row := &rows[i]
		has := !row.Rev.IsZero()
		switch row.Key = e.keys[i]; {
		case has && x.loose:
			has = !x.Unique || row.Rev == e.held[i]
		case has:
			owner, err := c.recordKey(x, row)
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
func (c *keeper) missingRows(ctx context.Context, k *call, x *index, row *driver.Row) ([]driver.Key, error) {
	e, err := c.dueOf(x, row)
	if err != nil {
		return nil, err
	}
	rows, err := c.readAll(ctx, k, x.table, e.keys, x.ownerMask())
	return c.lacks(x, row.Key, &e, rows), err
}

// complete reports of each record whether it has all its rows in x. False may also mean
// that it cannot be told from here.
func (c *keeper) complete(ctx context.Context, k *call, x *index, records []driver.Row) ([]bool, error) {
	whole, all := make([]bool, len(records)), make([]due, len(records))
	var keys []driver.Key
	for i := range records {
		if c.isLive(k, &records[i]) {
			e, err := c.dueOf(x, &records[i])
			if whole[i] = err == nil; whole[i] {
				all[i], keys = e, append(keys, e.keys...)
			}
		}
	}
	rows, err := c.readAll(ctx, k, x.table, keys, x.ownerMask())
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
func (c *keeper) upheld(ctx context.Context, k *call, x *index, rows []driver.Row) ([]bool, error) {
	good := make([]bool, len(rows))
	var keys []driver.Key
	for i := range rows {
		owner, err := c.recordKey(x, &rows[i])
		if good[i] = err == nil; good[i] {
			keys = append(keys, owner)
		}
	}
	records, err := c.readAll(ctx, k, c.records, keys, nil)
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
func (c *keeper) upholds(x *index, row, record *driver.Row) (bool, error) {
	if !x.loose {
		return c.hasRow(x, row, record)
	}
	entry, token, err := x.cutToken(row)
	if err == nil {
		_, err = x.baseOf(row)
	}
	if err != nil {
		return false, err
	}
	return c.hasEntry(x, record, entry, token)
}

// unlessOfRow returns an error unless it is about a row: which one will be seen when the
// rows are looked at one by one.
func unlessOfRow(err error) error {
	if isOfRow(err) {
		return nil
	}
	return err
}

// readAll reads the rows of keys, some at once.
func (c *keeper) readAll(ctx context.Context, k *call, t *driver.Table, keys []driver.Key, mask []int) ([]driver.Row, error) {
	rows := make([]driver.Row, len(keys))
	for from := 0; from < len(keys); from += batchSize {
		to := min(from+batchSize, len(keys))
		if err := c.store.get(ctx, k, t, keys[from:to], mask, rows[from:to]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
