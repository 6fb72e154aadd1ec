package repo

import (
	"context"
	"fmt"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

func (c *keeper) rebuild(ctx context.Context, k *call, name string) error {
	if ctx == nil {
		return errNoContext
	}
	i := slices.IndexFunc(c.indexes, func(x *index) bool { return x.name == name })
	if i < 0 {
		return fmt.Errorf("no index %s in the schema: %w", name, driver.ErrNotFound)
	}
	if err := c.shared.gate.shut(ctx); err != nil {
		return err
	}
	defer c.shared.gate.open()
	if c.shared.epoch != c.epoch {
		return errSchemaChanged
	}
	k.within = true // an expired owner of a value is deleted on the way
	x := c.indexes[i]
	var f faults
	var err error
	switch {
	case x.native:
		return c.fill(ctx, k, x)
	case x.loose:
		err = (&upkeep{keeper: c, call: k, faults: &f}).sweepLoose(ctx, x)
	default:
		err = c.each(ctx, k, &f, x.table, func(row *driver.Row) error { return c.sweep(ctx, k, x, row) })
	}
	if err == nil {
		err = c.fillFrom(ctx, k, &f, x, c.mendRow)
	}
	if err = f.with(err); err != nil {
		return fmt.Errorf("index %s: %w", name, err)
	}
	return nil
}

// sweep removes a row of x that no live record should have, unless the record that it names
// is changed meanwhile.
func (c *keeper) sweep(ctx context.Context, k *call, x *index, row *driver.Row) error {
	op := driver.Op{Do: driver.Delete, Table: x.table, Row: driver.Row{Key: row.Key}}
	if x.Unique {
		op.If, op.Rev = driver.AtRev, row.Rev
	}
	ops := []driver.Op{op}
	if owner, err := c.recordKey(x, row); err == nil {
		var rows [1]driver.Row
		if err := c.store.get(ctx, k, c.records, []driver.Key{owner}, nil, rows[:]); err != nil {
			return err
		}
		rows[0].Key = owner
		good, err := c.hasRow(x, row, &rows[0])
		if err != nil || good && !k.isPast(row.Expires) {
			return err
		}
		check := driver.Op{Do: driver.Check, Table: c.records, Row: driver.Row{Key: owner}, If: driver.AtRev, Rev: rows[0].Rev}
		if rows[0].Rev.IsZero() {
			check.If = driver.Absent
		}
		ops = []driver.Op{check, op}
	}
	_, err := c.store.commit(ctx, k, driver.NewToken(), ops)
	return err
}

// mendRow writes the rows of x that a record lacks.
func (c *keeper) mendRow(ctx context.Context, k *call, x *index, row *driver.Row) error {
	missing, err := c.missingRows(ctx, k, x, row)
	if err != nil || len(missing) == 0 {
		return err
	}
	if x.loose {
		return c.mendLoose(ctx, k, x, row, missing)
	}
	return c.writeRows(ctx, k, x, row, missing)
}
