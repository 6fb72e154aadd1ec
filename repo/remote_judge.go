package repo

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// A standing is what a record says of a loose row or claim.
type standing uint8

const (
	dead    standing = iota // it will never be live
	pending                 // the commit that it was put for may still come
	live                    // the record has it
)

const (
	grace    = 30 * time.Second // how old what is pending must be for a sweeper to fence it
	rowDelay = time.Minute      // how long a row that a record gave up must stay, for scans under way
)

// A judgement is a standing, and what was read for it.
type judgement struct {
	standing
	owner driver.Key
	row   driver.Row // of the owner
	base  driver.Token
	since time.Time // before row was read
}

// judge reads the record that a loose row or claim names, and says how it stands.
func (c *remoteC) judge(ctx context.Context, k *call, x *index, row *driver.Row) (*judgement, error) {
	owner, err := c.recordKey(x, row)
	if err != nil {
		return nil, err
	}
	since := c.clock()
	var rows [1]driver.Row
	if err := c.store.get(ctx, k, c.records, []driver.Key{owner}, nil, rows[:]); err != nil {
		return nil, err
	}
	rows[0].Key = owner
	return c.judgeBy(x, row, &rows[0], since)
}

// judgeBy is judge by the record that a row names, which was read since a time.
func (c *remoteC) judgeBy(x *index, row, record *driver.Row, since time.Time) (*judgement, error) {
	entry, token, err := x.cutToken(row)
	if err != nil {
		return nil, err
	}
	j := &judgement{owner: record.Key, row: *record, since: since}
	if j.base, err = x.baseOf(row); err != nil {
		return nil, err
	}
	has, err := c.hasEntry(x, record, entry, token)
	switch {
	case err != nil:
		return nil, err
	case has:
		j.standing = live
	case j.row.Rev == j.base:
		j.standing = pending
	}
	return j, nil
}

// hasEntry reports whether a record, expired or not, has an entry with a token in a
// loose index.
func (c *remoteC) hasEntry(x *index, row *driver.Row, entry driver.Key, token driver.Token) (bool, error) {
	if row.Rev.IsZero() || row.Dead {
		return false, nil
	}
	tokens, err := c.tokensIn(row.Note)
	if err != nil {
		return false, err
	}
	rec, err := c.recordOf(row)
	if err != nil {
		return false, err
	}
	b := newEntryMaker()
	defer b.release()
	entries, err := b.storedEntries(nil, c.layoutC, x, &row.Key, rec.vals)
	if err != nil {
		return false, err
	}
	held := tokens[slices.Index(c.indexes, x)]
	i := slices.Index(entries, entry)
	return i >= 0 && i < len(held) && held[i] == token, nil
}

// fence makes sure that no commit on a base ever comes (F1). It returns the Rev that the record
// has then. Whether it was done the record tells when it is read again.
// Since is from before the reading that base is of.
func (c *remoteC) fence(ctx context.Context, k *call, key driver.Key, base driver.Token, since time.Time) (driver.Token, error) {
	token := driver.NewToken() // another one each time, or a late copy could bring it back
	op := driver.Op{Do: driver.Fence, Table: c.records, If: driver.AtRev, Rev: base,
		Row: driver.Row{Key: key, Expires: c.store.nowMillis() + c.retention.Milliseconds()}}
	if base.IsZero() {
		op.If = driver.Absent
	}
	if err := c.notTooOld(since); err != nil {
		return token, err
	}
	_, err := c.store.commit(ctx, k, token, []driver.Op{op})
	if errors.Is(err, driver.ErrUnknownOutcome) {
		return token, nil
	}
	return token, err
}
