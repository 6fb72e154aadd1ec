package upkeep

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/scan"
	"github.com/polystore/polystore/repo/internal/store"
)

// Rebuild makes an index agree with the records again.
func (c *Keeper) Rebuild(ctx context.Context, k *store.Call, name string) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	i := slices.IndexFunc(c.Indexes, func(x *layout.Index) bool { return x.ID == name })
	if i < 0 {
		return fmt.Errorf("no index %s in the schema: %w", name, driver.ErrNotFound)
	}
	if err := c.Shared.Gate.Shut(ctx); err != nil {
		return err
	}
	defer c.Shared.Gate.Open()
	if err := c.Gone(); err != nil {
		return err
	}
	k.Within = true // an expired owner of a value is deleted on the way
	x := c.Indexes[i]
	var f scan.Faults
	var err error
	switch {
	case x.Native:
		tables := []*driver.Table{x.Table}
		if err := c.Store.Driver.Drop(ctx, tables); err != nil {
			return err
		}
		return c.Store.Driver.Define(ctx, tables)
	case x.Remote:
		err = (&upkeep{Keeper: c, call: k, faults: &f}).sweepRemote(ctx, x)
	default:
		err = c.Each(ctx, k, &f, x.Table, func(row *driver.Row) error { return c.sweep(ctx, k, x, row) })
	}
	if err == nil {
		err = c.fillFrom(ctx, k, &f, x, c.mendRow)
	}
	if err = f.With(err); err != nil {
		return fmt.Errorf("index %s: %w", name, err)
	}
	return nil
}

// sweep removes a row of x that no live record should have, unless the record that it names
// is changed meanwhile.
func (c *Keeper) sweep(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) error {
	op := driver.Op{Do: driver.Delete, Table: x.Table, Row: driver.Row{Key: row.Key}}
	if x.Unique {
		op.If, op.Rev = driver.AtRev, row.Rev
	}
	ops := []driver.Op{op}
	if owner, err := c.RecordKey(x, row); err == nil {
		var rows [1]driver.Row
		if err := c.Store.Get(ctx, k, c.Records, []driver.Key{owner}, nil, rows[:]); err != nil {
			return err
		}
		rows[0].Key = owner
		good, err := c.hasRow(x, row, &rows[0])
		if err != nil || good && !k.IsPast(row.Expires) {
			return err
		}
		check := driver.Op{Do: driver.Check, Table: c.Records, Row: driver.Row{Key: owner}, If: driver.AtRev, Rev: rows[0].Rev}
		if rows[0].Rev.IsZero() {
			check.If = driver.Absent
		}
		ops = []driver.Op{check, op}
	}
	_, err := c.Store.Commit(ctx, k, driver.NewToken(), ops)
	return err
}

// mendRow writes the rows of x that a record lacks.
func (c *Keeper) mendRow(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row) error {
	missing, err := c.missingRows(ctx, k, x, row)
	if err != nil || len(missing) == 0 {
		return err
	}
	return c.mend(ctx, k, x, row, missing)
}

// mend writes rows of x that a record was seen to lack.
func (c *Keeper) mend(ctx context.Context, k *store.Call, x *layout.Index, row *driver.Row, missing []driver.Key) error {
	if x.Remote {
		return c.repairRemote(ctx, k, x, row, missing)
	}
	return c.writeRows(ctx, k, x, row, missing)
}
