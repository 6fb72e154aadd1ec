package repo

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// sweepLoose drops the rows or claims of a loose index that no record has (S1 to S3): the records of
// a chunk are read together, and what is to be dropped goes several at once.
func (u *upkeep) sweepLoose(ctx context.Context, x *index) error {
	return u.eachChunk(ctx, u.call, u.faults, x.table, func(rows []driver.Row) error {
		todo, err := u.suspects(ctx, x, rows)
		if err != nil {
			return err
		}
		dropped, errs := make([]bool, len(todo)), make([]error, len(todo))
		err = u.atOnce(ctx, len(todo), func(ctx context.Context, k *call, i int) error {
			dropped[i], errs[i] = u.sweepRow(ctx, k, x, &todo[i])
			return unlessOfRow(errs[i])
		})
		for i := range todo {
			if dropped[i] {
				u.done.Rows++
			} else if isOfRow(errs[i]) {
				u.faults.of(u.layoutC, x.table, todo[i].row.Key, errs[i])
			}
		}
		return err
	})
}

// A suspect is a loose row or claim that its record did not have when it was read.
type suspect struct {
	row *driver.Row
	j   *judgement // nil if it could not be told
}

// suspects returns those of some rows or claims that are not live.
func (u *upkeep) suspects(ctx context.Context, x *index, rows []driver.Row) ([]suspect, error) {
	since, at, owners := u.clock(), []int(nil), []driver.Key(nil)
	var list []suspect
	for i := range rows {
		if owner, err := u.recordKey(x, &rows[i]); err == nil {
			at, owners = append(at, i), append(owners, owner)
		} else {
			list = append(list, suspect{row: &rows[i]})
		}
	}
	records, err := u.readAll(ctx, u.call, u.records, owners, nil)
	if err != nil {
		records = nil // one by one it will be seen which of them cannot be read
	}
	for i, place := range at {
		s := suspect{row: &rows[place]}
		if records != nil {
			records[i].Key = owners[i]
			s.j, _ = u.judgeBy(x, s.row, &records[i], since)
		}
		if s.j == nil || s.j.standing != live {
			list = append(list, s)
		}
	}
	return list, unlessOfRow(err)
}

// sweepRow drops a row or claim if it is dead, and fences its record first if the
// commit for which it was put may still come although it is old.
func (c *keeper) sweepRow(ctx context.Context, k *call, x *index, s *suspect) (dropped bool, err error) {
	_, token, err := x.cutToken(s.row)
	if err != nil {
		return false, err
	}
	j := s.j
	if j == nil {
		if j, err = c.judge(ctx, k, x, s.row); err != nil {
			return false, err
		}
	}
	if j.standing == pending && c.age(token) > grace {
		if _, err := c.fence(ctx, k, j.owner, j.base, j.since); err != nil {
			return false, err
		}
		if j, err = c.judge(ctx, k, x, s.row); err != nil {
			return false, err
		}
	}
	if j.standing != dead || !x.Unique && !c.restedSince(&j.row) {
		return false, nil
	}
	op := x.dropOf(s.row.Key, token)
	op.Row.Hint = s.row.Hint
	refusal, err := c.sendLoose(ctx, k, driver.NewToken(), &op)
	return err == nil && refusal == nil, err
}

// restedSince reports whether a record has not changed for as long as a row that it
// gave up must stay: a scan under way may need it.
func (c *keeper) restedSince(row *driver.Row) bool {
	return row.Rev.IsZero() || c.age(row.Rev) > rowDelay+clockMargin
}
