package repo

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// findOwner yields the record that has a unique value. The value may pass from
// one record to another, in one commit, between the reading of the claim and that
// of the record that it names: then the claim is another one by now, and it is
// read again. A claim that stayed while its record did not have the value means
// that no record has it.
func (v view[T]) findOwner(ctx context.Context, k *call, p *plan, yield func(*T, position) bool) error {
	var seen driver.Token
	for attempt := range maxAttempts {
		key, rev, err := v.c.claimant(ctx, k, p)
		if err != nil || rev.IsZero() || rev == seen {
			return err
		}
		n, _, err := v.yieldKeys(ctx, k, p, []driver.Key{key}, []string{""}, yield)
		if err != nil || n > 0 {
			return err
		}
		seen = rev
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
	return nil
}

// claimant returns the key of the record that a claim names, and the claim's Rev;
// it is zero when there is none.
func (c *collection) claimant(ctx context.Context, k *call, p *plan) (driver.Key, driver.Token, error) {
	for row, err := range c.rows(ctx, k, p, 1) {
		if err != nil {
			return driver.Key{}, driver.Token{}, err
		}
		key, err := c.recordKey(p.x, row)
		return key, row.Rev, err
	}
	return driver.Key{}, driver.Token{}, nil
}
