package scan

import (
	"cmp"
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// findOwners yields the record of each of the unique values of a plan. It asks for some of them at the same time.
func (v *View) findOwners(ctx context.Context, k *store.Call, p *plan.Plan, mask []int, yield func(any, Position) bool) error {
	if len(p.Parts) == 1 {
		out := v.Scratch()
		defer v.Release(out)
		return v.findOwner(ctx, k, p, mask, out, yield)
	}
	all := slices.DeleteFunc(slices.Clone(p.Parts), func(r plan.Part) bool { return r.Extent.Empty() })
	if p.Reverse {
		slices.Reverse(all)
	}
	n := 0
	for parts := range slices.Chunk(all, limit.FewRows) {
		owners := make([]owner, len(parts))
		v.c.atOnce(k, len(parts), func(i int, k *store.Call) {
			one := *p
			one.Parts = parts[i : i+1]
			one.Alone()
			o := &owners[i]
			o.record, o.look = v.Scratch(), one.Look
			o.err = v.findOwner(ctx, k, &one, mask, o.record, o.is)
		})
		for i := range owners {
			o := &owners[i]
			if err := cmp.Or(o.err, p.LookedAt(o.look)); err != nil {
				return err
			}
			if o.found {
				if n++; !yield(o.record, o.at) || n == p.Limit {
					return nil
				}
			}
		}
	}
	return nil
}

// An owner is what is found of a unique value.
type owner struct {
	record any
	look   *plan.Look
	at     Position
	found  bool
	err    error
}

func (o *owner) is(_ any, at Position) bool {
	o.at, o.found = at, true
	return false
}

// findOwner yields the record that has a unique value, in out. Where claim and record change
// in one commit the value may pass from one record to another between the reading of
// the one and of the other: then the claim is another one by now, and it is read
// again. A claim that stayed while its record did not have the value means that no
// record has it. A remote claim is read once: one whose record does not have it with
// its token is nobody's (L3).
func (v *View) findOwner(ctx context.Context, k *store.Call, p *plan.Plan, mask []int, out any, yield func(any, Position) bool) error {
	run := *p
	m := match{c: v.c, k: k, whole: p, mask: mask, yield: func(rec *record.Record, at Position) (bool, error) {
		if err := v.into(out, rec); err != nil {
			return false, err
		}
		return yield(out, at), nil
	}}
	b := NewReadBuffer(1)
	defer b.Release()
	var seen driver.Token
	for attempt := range limit.MaxAttempts {
		claim, rev, err := v.c.claimant(ctx, k, p)
		if err != nil || rev.IsZero() || rev == seen {
			return err
		}
		if p.X.Remote {
			run.Claim = rev
		}
		n, _, err := m.records(ctx, b, &run, []found{claim})
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

// claimant returns the record that a claim names, and the claim's Rev; it is zero when there is none.
func (c *Reader) claimant(ctx context.Context, k *store.Call, p *plan.Plan) (f found, rev driver.Token, err error) {
	err = c.rows(ctx, k, p, 1, func(row *driver.Row) (more bool, err error) {
		rev = row.Rev
		if f.key, err = c.RecordKey(p.X, row); err == nil {
			f.at, err = placeOf(p, &row.Key)
		}
		return false, err
	})
	return f, rev, err
}

// holdsClaim reports whether a record has the claim that a plan found it by.
func (c *Reader) holdsClaim(p *plan.Plan, key *driver.Key, row *driver.Row, rec *record.Record) (bool, error) {
	if p.X != nil && p.X.Unique && p.IsSet() { // by one of the values; it may have another one by now
		if _, part, err := c.entryIn(p, p.Parts, key, rec.Vals); part == nil || err != nil {
			return false, err
		}
	}
	if p.Claim.IsZero() {
		return true, nil
	}
	tokens, err := c.TokensIn(row.Meta)
	return err == nil && slices.Contains(tokens[slices.Index(c.Indexes, p.X)], p.Claim), err
}
