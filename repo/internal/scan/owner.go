package scan

import (
	"context"
	"reflect"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// findOwners yields the record of each of the unique values of a plan.
func (v View[T]) findOwners(ctx context.Context, k *store.Call, p *plan.Plan, yield func(*T, Position) bool) error {
	one, n, more := *p, 0, true
	for i := range p.Parts {
		one.Parts = p.Parts[i : i+1]
		err := v.findOwner(ctx, k, &one, func(t *T, at Position) bool {
			n++
			more = yield(t, at) && n != p.Limit
			return more
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// findOwner yields the record that has a unique value. Where claim and record change
// in one commit the value may pass from one record to another between the reading of
// the one and of the other: then the claim is another one by now, and it is read
// again. A claim that stayed while its record did not have the value means that no
// record has it. A remote claim is read once: one whose record does not have it with
// its token is nobody's (L3).
func (v View[T]) findOwner(ctx context.Context, k *store.Call, p *plan.Plan, yield func(*T, Position) bool) error {
	var out T
	into := reflect.ValueOf(&out).Elem()
	run := *p
	m := match{c: v.c, k: k, whole: p, mask: v.mask, yield: func(rec *record.Record, at Position) (bool, error) {
		if err := v.shape.Decode(rec, into); err != nil {
			return false, err
		}
		return yield(&out, at), nil
	}}
	b := NewReadBuffer(1)
	defer b.Release()
	var seen driver.Token
	for attempt := range limit.MaxAttempts {
		key, rev, err := v.c.claimant(ctx, k, p)
		if err != nil || rev.IsZero() || rev == seen {
			return err
		}
		if p.X.Remote {
			run.Claim = rev
		}
		n, _, err := m.records(ctx, b, &run, []found{{key: key}})
		if err != nil || n > 0 || p.X.Remote {
			return err
		}
		seen = rev
		if err := store.Pause(ctx, attempt); err != nil {
			return err
		}
	}
	return nil
}

// claimant returns the key of the record that a claim names, and the claim's Rev;
// it is zero when there is none.
func (c *Reader) claimant(ctx context.Context, k *store.Call, p *plan.Plan) (key driver.Key, rev driver.Token, err error) {
	err = c.rows(ctx, k, p, 1, func(row *driver.Row) (more bool, err error) {
		rev = row.Rev
		key, err = c.RecordKey(p.X, row)
		return false, err
	})
	return key, rev, err
}

// holdsClaim reports whether a record has the claim that a plan found it by.
func holdsClaim(p *plan.Plan, c *layout.Layout, row *driver.Row) (bool, error) {
	if p.Claim.IsZero() {
		return true, nil
	}
	tokens, err := c.TokensIn(row.Meta)
	return err == nil && slices.Contains(tokens[slices.Index(c.Indexes, p.X)], p.Claim), err
}
