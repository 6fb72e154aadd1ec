package repo

import (
	"context"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// findOwner yields the record that has a unique value. Where claim and record change
// in one commit the value may pass from one record to another between the reading of
// the one and of the other: then the claim is another one by now, and it is read
// again. A claim that stayed while its record did not have the value means that no
// record has it. A loose claim is read once: one whose record does not have it with
// its token is nobody's (L3).
func (v view[T]) findOwner(ctx context.Context, k *call, p *plan, yield func(*T, position) bool) error {
	var out T
	into := reflect.ValueOf(&out).Elem()
	run := *p
	m := match{c: v.c, k: k, whole: p, mask: v.mask, yield: func(rec *record, at position) (bool, error) {
		if err := v.shape.decode(rec, into); err != nil {
			return false, err
		}
		return yield(&out, at), nil
	}}
	b := newReadBuffer(1)
	defer b.release()
	var seen driver.Token
	for attempt := range maxAttempts {
		key, rev, err := v.c.claimant(ctx, k, p)
		if err != nil || rev.IsZero() || rev == seen {
			return err
		}
		if p.x.loose {
			run.claim = rev
		}
		n, _, err := m.records(ctx, b, &run, []found{{key: key}})
		if err != nil || n > 0 || p.x.loose {
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
func (c *reader) claimant(ctx context.Context, k *call, p *plan) (driver.Key, driver.Token, error) {
	for row, err := range c.rows(ctx, k, p, 1) {
		if err != nil {
			return driver.Key{}, driver.Token{}, err
		}
		key, err := c.recordKey(p.x, row)
		return key, row.Rev, err
	}
	return driver.Key{}, driver.Token{}, nil
}

// holdsClaim reports whether a record has the claim that a plan found it by.
func holdsClaim(p *plan, c *layoutC, row *driver.Row) (bool, error) {
	if p.claim.IsZero() {
		return true, nil
	}
	tokens, err := c.tokensIn(row.Note)
	return err == nil && slices.Contains(tokens[slices.Index(c.indexes, p.x)], p.claim), err
}
