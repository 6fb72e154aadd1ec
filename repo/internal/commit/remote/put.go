package remote

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/store"
)

// An index is remote if its rows or claims lie outside the commit scope of their record, so
// that no commit holds both. docs/explanation/protocol.md states the protocol that keeps them in
// step; the steps W1 to W7, C1, F1 and so on are named after it.
//
// A remote row has its token in its key; a remote claim has it as its Rev. The record
// keeps the tokens of its entries in its Meta, and the commit that the row or claim
// was put for needs the record to have the Rev that stands in the row: its base.

// Put puts one row or claim of the collection before a commit of b.
func (c *Remote) Put(ctx context.Context, k *store.Call, b *change.Builder, p *change.RemoteOp) error {
	if p.X.Unique {
		return c.Claim(ctx, k, b.Token, p, b.Changes[p.Owner])
	}
	_, err := c.SendRemote(ctx, k, b.Token, &p.Op)
	return err
}

// SendRemote sends a commit of one row or claim, and the same again while it cannot
// be known whether it was done: that does no harm, however late the first one is.
func (c *Remote) SendRemote(ctx context.Context, k *store.Call, token driver.Token, op *driver.Op) (*driver.Refusal, error) {
	for attempt := 0; ; attempt++ {
		refusal, err := c.Store.Commit(ctx, k, token, []driver.Op{*op})
		if !errors.Is(err, driver.ErrUnknownOutcome) {
			return refusal, err
		}
		if attempt == 3 || store.Pause(ctx, attempt+1) != nil {
			return nil, failure.GivenUp(ctx, "the rows of an index", err)
		}
	}
}

// DropOwn drops what was put for a commit that did not happen and never will (W7).
func (c *Remote) DropOwn(b *change.Builder) {
	for i := range b.Puts {
		p := &b.Puts[i]
		c.Cleaner.add(p.X.DropOf(p.Row.Key, b.Token), false)
	}
}

// DropOld drops the entries that a commit took out of its records (W6).
func (c *Remote) DropOld(b *change.Builder) {
	for i := range b.Drops {
		c.Cleaner.add(b.Drops[i].Op, !b.Drops[i].X.Unique)
	}
}
