package upkeep

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/commit/remote"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// sweepRemote drops the rows or claims of a remote index that no record has (S1 to S3): the records of
// a chunk are read together, and what is to be dropped goes several at once.
func (u *upkeep) sweepRemote(ctx context.Context, x *layout.Index) error {
	return u.EachChunk(ctx, u.call, u.faults, x.Table, func(rows []driver.Row) error {
		todo, err := u.suspects(ctx, x, rows)
		if err != nil {
			return err
		}
		dropped, errs := make([]bool, len(todo)), make([]error, len(todo))
		err = u.atOnce(ctx, len(todo), func(ctx context.Context, k *store.Call, i int) error {
			dropped[i], errs[i] = u.sweepRow(ctx, k, x, &todo[i])
			return unlessOfRow(errs[i])
		})
		for i := range todo {
			if dropped[i] {
				u.done.Rows++
			} else if scan.IsOfRow(errs[i]) {
				u.faults.Of(u.Layout, x.Table, todo[i].row.Key, errs[i])
			}
		}
		return err
	})
}

// A suspect is a remote row or claim that its record did not have when it was read.
type suspect struct {
	row *driver.Row
	j   *remote.Judgement // nil if it could not be told
}

// suspects returns those of some rows or claims that are not live.
func (u *upkeep) suspects(ctx context.Context, x *layout.Index, rows []driver.Row) ([]suspect, error) {
	since, at, owners := u.Clock(), []int(nil), []driver.Key(nil)
	var list []suspect
	for i := range rows {
		if owner, err := u.RecordKey(x, &rows[i]); err == nil {
			at, owners = append(at, i), append(owners, owner)
		} else {
			list = append(list, suspect{row: &rows[i]})
		}
	}
	records, err := u.readAll(ctx, u.call, u.Records, owners, nil)
	if err != nil {
		records = nil // one by one it will be seen which of them cannot be read
	}
	for i, place := range at {
		s := suspect{row: &rows[place]}
		if records != nil {
			records[i].Key = owners[i]
			s.j, _ = u.JudgeBy(x, s.row, &records[i], since)
		}
		if s.j == nil || s.j.Standing != remote.Live {
			list = append(list, s)
		}
	}
	return list, unlessOfRow(err)
}

// sweepRow drops a row or claim if it is dead, and fences its record first if the
// commit for which it was put may still come although it is old.
func (c *Keeper) sweepRow(ctx context.Context, k *store.Call, x *layout.Index, s *suspect) (dropped bool, err error) {
	_, token, err := x.CutToken(s.row)
	if err != nil {
		return false, err
	}
	j := s.j
	if j == nil {
		if j, err = c.Judge(ctx, k, x, s.row); err != nil {
			return false, err
		}
	}
	if j.Standing == remote.Pending && c.Age(token) > remote.Grace {
		if _, err := c.Fence(ctx, k, j.Owner, j.Base, j.Since); err != nil {
			return false, err
		}
		if j, err = c.Judge(ctx, k, x, s.row); err != nil {
			return false, err
		}
	}
	if j.Standing != remote.Dead || !x.Unique && !c.restedSince(&j.Row) {
		return false, nil
	}
	op := x.DropOf(s.row.Key, token)
	op.Row.Hint = s.row.Hint
	refusal, err := c.SendRemote(ctx, k, driver.NewToken(), &op)
	return err == nil && refusal == nil, err
}

// restedSince reports whether a record has not changed for as long as a row that it
// gave up must stay: a scan under way may need it.
func (c *Keeper) restedSince(row *driver.Row) bool {
	return row.Rev.IsZero() || c.Age(row.Rev) > remote.RowDelay+limit.ClockMargin
}
