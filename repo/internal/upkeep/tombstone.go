package upkeep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// sweepRecords takes records away that have expired, and old tombstones, and mends the rows of those that came late.
func (u *upkeep) sweepRecords(ctx context.Context) error {
	if s, ok := u.Store.Driver.(driver.Sweeper); ok {
		return u.sweepPages(ctx, s)
	}
	return u.EachChunk(ctx, u.call, u.faults, u.Records, func(rows []driver.Row) error {
		var old []driver.Row
		for i := range rows {
			if row := &rows[i]; u.isForgotten(row) {
				old = append(old, *row)
			}
		}
		if err := u.removeExpired(ctx, rows); err != nil {
			return err
		}
		if err := u.mendLate(ctx, rows); err != nil {
			return err
		}
		return u.removeDead(ctx, old)
	})
}

// sweepPages is sweepRecords in a store that sweeps by itself what is dead.
func (u *upkeep) sweepPages(ctx context.Context, s driver.Sweeper) error {
	mark, ahead := u.call.Way.From(u.Records)
	for ahead {
		page, err := s.Sweep(u.call.Walks(ctx), u.Records, mark, u.isForgotten)
		u.call.Got(len(page.Rows))
		if err := u.faults.Unread(err); err != nil {
			u.call.Way.Judge(mark, err)
			return err
		}
		u.done.Dead += page.Dead
		stay := func(rows []driver.Row) error {
			if err := u.removeExpired(ctx, rows); err != nil {
				return err
			}
			return u.mendLate(ctx, rows)
		}
		if err := u.call.Way.Through(ctx, u.Records, &page.Chunk, page.Read, stay); err != nil {
			return err
		}
		mark, ahead = page.Mark, page.Mark != ""
	}
	return nil
}

// isForgotten reports whether a row is a tombstone that nobody needs any more. A fence has given
// more time to one whose Rev is younger.
func (c *Keeper) isForgotten(row *driver.Row) bool {
	return row.Dead && row.Expires != 0 && row.Expires <= c.Store.NowMillis() && c.Age(row.Rev) >= c.Retention
}

// upkeepTogether is how many rows one commit of an upkeep removes at most.
const upkeepTogether = 100

// A leftover is a tombstone that cannot be removed.
type leftover struct {
	key driver.Key
	err error
}

// removeDead removes tombstones, each unless it has changed since it was read: those of a
// partition by commits of many, several commits at once.
func (u *upkeep) removeDead(ctx context.Context, rows []driver.Row) error {
	groups := u.groupsOf(rows)
	counts, left := make([]int, len(groups)), make([][]leftover, len(groups))
	err := u.atOnce(ctx, len(groups), func(ctx context.Context, k *store.Call, i int) (err error) {
		counts[i], left[i], err = u.removeGroup(ctx, k, groups[i])
		return err
	})
	for i, n := range counts {
		u.done.Dead += n
		for _, l := range left[i] {
			u.faults.Of(u.Layout, u.Records, l.key, l.err)
		}
	}
	return err
}

// groupsOf returns rows as commits can take them.
func (u *upkeep) groupsOf(rows []driver.Row) [][]driver.Row {
	most := upkeepTogether
	if f := u.Store.Facts; f.Scope == driver.ScopeRecord {
		most = 1
	} else if f.MaxOps > 0 {
		most = min(most, f.MaxOps)
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b driver.Row) int { return strings.Compare(a.Key.Partition, b.Key.Partition) })
	var groups [][]driver.Row
	for len(rows) > 0 {
		n := 1
		for n < min(len(rows), most) && rows[n].Key.Partition == rows[0].Key.Partition {
			n++
		}
		groups, rows = append(groups, rows[:n]), rows[n:]
	}
	return groups
}

// removeGroup removes the tombstones of a group: one by one if one of them keeps the others.
func (u *upkeep) removeGroup(ctx context.Context, k *store.Call, rows []driver.Row) (gone int, left []leftover, err error) {
	gone, err = u.removeTogether(ctx, k, rows)
	switch {
	case err == nil || !scan.IsOfRow(err):
		return gone, nil, err
	case len(rows) == 1:
		return 0, []leftover{{rows[0].Key, err}}, nil
	}
	for i := range rows {
		n, more, err := u.removeGroup(ctx, k, rows[i:i+1])
		if gone, left = gone+n, append(left, more...); err != nil {
			return gone, left, err
		}
	}
	return gone, left, nil
}

// removeTogether removes tombstones by one commit, and returns how many. One that changed meanwhile
// is left out, and the others are tried again.
func (u *upkeep) removeTogether(ctx context.Context, k *store.Call, rows []driver.Row) (int, error) {
	ops := make([]driver.Op, len(rows))
	for i := range rows {
		ops[i] = driver.Op{Do: driver.Delete, Table: u.Records, Row: driver.Row{Key: rows[i].Key}, If: driver.AtRev, Rev: rows[i].Rev}
	}
	for len(ops) > 0 {
		refusal, err := u.Store.Commit(ctx, k, driver.NewToken(), ops)
		switch {
		case err != nil:
			return 0, err
		case refusal == nil:
			return len(ops), nil
		case refusal.Op < 0 || refusal.Op >= len(ops):
			return 0, fmt.Errorf("the store refused op %d of %d: %w", refusal.Op, len(ops), driver.ErrInternal)
		}
		ops = slices.Delete(ops, refusal.Op, refusal.Op+1)
	}
	return 0, nil
}
