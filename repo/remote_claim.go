package repo

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo/driver"
)

// patience is how often a writer looks at a claim that is pending before it fences
// the writer that has put it: some tenths of a second.
const patience = 16

// claim puts a claim under the token of a write. Another one that is in the way is
// taken over if nobody has it any more (C1).
func (c *remoteC) claim(ctx context.Context, k *call, token driver.Token, p *looseOp, ch *change) error {
	for attempt := 0; ; attempt++ {
		refusal, err := c.sendLoose(ctx, k, token, &p.Op)
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
		if attempt >= maxAttempts {
			return contention("gave up after %d attempts, the claims of other writers on a value of index %s were in the way each time", attempt, p.x.name)
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// confirmClaim makes sure that a claim which is there lasts as long as one that was
// acknowledged, as confirm does for a record. A refusal says that it is there no more.
func (c *remoteC) confirmClaim(ctx context.Context, k *call, token driver.Token, p *looseOp) (*driver.Refusal, error) {
	if !c.store.facts.Waits {
		return nil, nil
	}
	check := driver.Op{Do: driver.Check, Table: p.x.table, Row: driver.Row{Key: p.Row.Key}, If: driver.AtRev, Rev: token}
	refusal, err := c.store.commit(ctx, k, driver.NewToken(), []driver.Op{check})
	if errors.Is(err, driver.ErrUnknownOutcome) {
		err = givenUp(ctx, "the rows of an index", err)
	}
	return refusal, err
}

// An overtaken is the error of a claim that the writer's own record has got meanwhile,
// by another writer, with what the record is now: the commit would be refused.
type overtaken struct{ row driver.Row }

func (e *overtaken) Error() string { return "another writer was faster: " + driver.ErrConflict.Error() }
func (e *overtaken) Unwrap() error { return driver.ErrConflict }

// clear looks at a claim in the way. It returns nil when p may be sent again, made
// such that it takes over what is dead.
func (c *remoteC) clear(ctx context.Context, k *call, p *looseOp, ch *change, row *driver.Row, attempt int) error {
	j, err := c.judge(ctx, k, p.x, row)
	if err != nil {
		return err
	}
	switch {
	case j.standing == live && j.owner == ch.key:
		return &overtaken{j.row}
	case j.standing == live && !k.isPast(j.row.Expires):
		return taken(c.layoutC, p.x, j.owner, ch)
	case j.standing == live:
		_, err = c.expire(ctx, k, &j.row, j.since)
		return err
	case j.standing == dead:
		p.If, p.Rev = driver.AtRev, row.Rev
		return nil
	case attempt < patience && j.owner != ch.key:
		return nil
	}
	_, err = c.fence(ctx, k, j.owner, j.base, j.since)
	return err
}
