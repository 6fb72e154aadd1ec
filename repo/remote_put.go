package repo

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo/driver"
)

// An index is loose if its rows or claims lie outside the unit of their record, so
// that no commit holds both. docs/design.md states the protocol that keeps them in
// step; the steps W1 to W7, C1, F1 and so on are named after it.
//
// A loose row has its token in its key; a loose claim has it as its Rev. The record
// keeps the tokens of its entries in its Note, and the commit that the row or claim
// was put for needs the record to have the Rev that stands in the row: its base.

// putAll puts what b has to put before a commit (W3), side by side. Until it
// returns nil the commit must not be sent.
func (c *remoteC) putAll(ctx context.Context, k *call, b *builder) error {
	if len(b.puts) == 0 {
		return nil
	}
	if err := b.sharedClaim(c.layoutC); err != nil {
		return err
	}
	errs := make([]error, len(b.puts))
	k.atOnce(len(b.puts), func(i int, k *call) {
		k.within = true
		p := &b.puts[i]
		if p.x.Unique {
			errs[i] = c.claim(ctx, k, b.token, p, b.changes[p.owner])
		} else {
			_, errs[i] = c.sendLoose(ctx, k, b.token, &p.Op)
		}
	})
	for i, err := range errs {
		if err != nil {
			return ofKeyOnce(b.changes[b.puts[i].owner].key, err)
		}
	}
	return nil
}

// sendLoose sends a commit of one row or claim, and the same again while it cannot
// be known whether it was done: that does no harm, however late the first one is.
func (c *remoteC) sendLoose(ctx context.Context, k *call, token driver.Token, op *driver.Op) (*driver.Refusal, error) {
	for attempt := 0; ; attempt++ {
		refusal, err := c.store.commit(ctx, k, token, []driver.Op{*op})
		if !errors.Is(err, driver.ErrUnknownOutcome) {
			return refusal, err
		}
		if attempt == 3 || pause(ctx, attempt+1) != nil {
			return nil, givenUp(ctx, "the rows of an index", err)
		}
	}
}

// dropOwn drops what was put for a commit that did not happen and never will (W7).
func (c *remoteC) dropOwn(b *builder) {
	for i := range b.puts {
		p := &b.puts[i]
		c.cleaner.add(p.x.dropOf(p.Row.Key, b.token), false)
	}
}

// dropOld drops the entries that a commit took out of its records (W6).
func (c *remoteC) dropOld(b *builder) {
	for i := range b.drops {
		c.cleaner.add(b.drops[i].Op, !b.drops[i].x.Unique)
	}
}
