package remote

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Standing is what a record says of a remote row or claim.
type Standing uint8

// The standings.
const (
	Dead    Standing = iota // it will never be live
	Pending                 // the commit that it was put for may still come
	Live                    // the record has it
)

// How long what others may need stays.
const (
	Grace    = 30 * time.Second // how old what is pending must be for a sweeper to fence it
	RowDelay = time.Minute      // how long a row that a record gave up must stay, for scans under way
)

// A Judgement is a standing, and what was read for it.
type Judgement struct {
	Standing
	Owner driver.Key
	Row   driver.Row // of the owner
	Base  driver.Token
	Since time.Time // before row was read
}

// Judge reads the record that a remote row or claim names, and says how it stands.
func (c *Remote) Judge(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) (*Judgement, error) {
	owner, err := c.RecordKey(x, row)
	if err != nil {
		return nil, err
	}
	since := c.Clock()
	var rows [1]driver.Row
	if err := c.Store.Get(ctx, k, c.Records, []driver.Key{owner}, nil, rows[:]); err != nil {
		return nil, err
	}
	rows[0].Key = owner
	return c.JudgeBy(x, row, &rows[0], since)
}

// JudgeBy is judge by the record that a row names, which was read since a time.
func (c *Remote) JudgeBy(x *layout.Index, row, record *driver.Row, since time.Time) (*Judgement, error) {
	entry, token, err := x.CutToken(row)
	if err != nil {
		return nil, err
	}
	j := &Judgement{Owner: record.Key, Row: *record, Since: since}
	if j.Base, err = x.BaseOf(row); err != nil {
		return nil, err
	}
	has, err := c.HasEntry(x, record, entry, token)
	switch {
	case err != nil:
		return nil, err
	case has:
		j.Standing = Live
	case j.Row.Rev == j.Base:
		j.Standing = Pending
	}
	return j, nil
}

// HasEntry reports whether a record, expired or not, has an entry with a token in a
// remote index.
func (c *Remote) HasEntry(x *layout.Index, row *driver.Row, entry driver.Key, token driver.Token) (bool, error) {
	if row.Rev.IsZero() || row.Dead {
		return false, nil
	}
	tokens, err := c.TokensIn(row.Meta)
	if err != nil {
		return false, err
	}
	rec, err := c.RecordOf(row)
	if err != nil {
		return false, err
	}
	b := layout.NewEntryMaker()
	defer b.Release()
	entries, err := b.StoredEntries(nil, c.Layout, x, &row.Key, rec.Vals)
	if err != nil {
		return false, err
	}
	held := tokens[slices.Index(c.Indexes, x)]
	i := slices.Index(entries, entry)
	return i >= 0 && i < len(held) && held[i] == token, nil
}

// Fence makes sure that no commit on a base ever comes (F1). It returns the Rev that the record
// has then. Whether it was done the record tells when it is read again.
// Since is from before the reading that base is of.
func (c *Remote) Fence(ctx context.Context, k *store.Call, key driver.Key, base driver.Token, since time.Time) (driver.Token, error) {
	token := driver.NewToken() // another one each time, or a late copy could bring it back
	op := driver.Op{Do: driver.Fence, Table: c.Records, If: driver.AtRev, Rev: base,
		Row: driver.Row{Key: key, Expires: c.Store.NowMillis() + c.Retention.Milliseconds()}}
	if base.IsZero() {
		op.If = driver.Absent
	}
	if err := c.NotTooOld(since); err != nil {
		return token, err
	}
	_, err := c.Store.Commit(ctx, k, token, []driver.Op{op})
	if errors.Is(err, driver.ErrUnknownOutcome) {
		return token, nil
	}
	return token, err
}
