package remote

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/change"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/store"
)

// patience is how often a writer looks at a claim that is pending before it fences
// the writer that has put it: some tenths of a second.
const patience = 16

// Claim puts a claim under the token of a write. Another one that is in the way is
// taken over if nobody has it any more (C1).
func (c *Remote) Claim(ctx context.Context, k *store.Call, token driver.Token, p *change.RemoteOp, ch *change.Change) error {
	for attempt := 0; ; attempt++ {
		refusal, err := c.SendRemote(ctx, k, token, &p.Op)
		if err == nil && refusal != nil && refusal.Row.Rev == token { // an earlier sending did it
			refusal, err = c.confirmClaim(ctx, k, token, p)
		}
		if err != nil || refusal == nil {
			return err
		}
		p.If, p.Rev = driver.Absent, driver.Token{}
		if !refusal.Row.Rev.IsZero() {
			refusal.Row.Key = p.Row.Key
			if err := c.clear(ctx, k, p, ch, &refusal.Row, attempt); err != nil {
				return err
			}
		}
		if attempt >= limit.MaxAttempts {
			return failure.Contention("gave up after %d attempts, the claims of other writers on a value of index %s were in the way each time", attempt, p.X.ID)
		}
		if err := store.Pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// confirmClaim makes sure that a claim which is there lasts as long as one that was
// acknowledged, as confirm does for a record. A refusal says that it is there no more.
func (c *Remote) confirmClaim(ctx context.Context, k *store.Call, token driver.Token, p *change.RemoteOp) (*driver.Refusal, error) {
	if !c.Store.Facts.Waits {
		return nil, nil
	}
	check := driver.Op{Do: driver.Check, Table: p.X.Table, Row: driver.Row{Key: p.Row.Key}, If: driver.AtRev, Rev: token}
	refusal, err := c.Store.Commit(ctx, k, driver.NewToken(), []driver.Op{check})
	if errors.Is(err, driver.ErrUnknownOutcome) {
		err = failure.GivenUp(ctx, "the rows of an index", err)
	}
	return refusal, err
}

// An Overtaken is the error of a claim that the writer's own record has got meanwhile,
// by another writer, with what the record is now: the commit would be refused.
type Overtaken struct{ Row driver.Row }

func (e *Overtaken) Error() string { return "another writer was faster: " + driver.ErrConflict.Error() }
func (e *Overtaken) Unwrap() error { return driver.ErrConflict }

// clear looks at a claim in the way. It returns nil when p may be sent again, made
// such that it takes over what is dead.
func (c *Remote) clear(ctx context.Context, k *store.Call, p *change.RemoteOp, ch *change.Change, row *driver.Row, attempt int) error {
	j, err := c.Judge(ctx, k, p.X, row)
	if err != nil {
		return err
	}
	switch {
	case j.Standing == Live && j.Owner == ch.Key:
		return &Overtaken{j.Row}
	case j.Standing == Live && !k.IsPast(j.Row.Expires):
		return change.Taken(c.Layout, p.X, j.Owner, ch)
	case j.Standing == Live:
		_, err = c.Expire(ctx, k, &j.Row, j.Since)
		return err
	case j.Standing == Dead:
		p.If, p.Rev = driver.AtRev, row.Rev
		return nil
	case attempt < patience && j.Owner != ch.Key:
		return nil
	}
	_, err = c.Fence(ctx, k, j.Owner, j.Base, j.Since)
	return err
}
