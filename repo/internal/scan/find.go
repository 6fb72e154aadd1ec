package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// A Position is where in a run of rows a record was found: the row's Sort.
type Position string

// Find calls yield for each record found until it returns false. The record is the caller's until then.
func (v *View) Find(ctx context.Context, k *store.Call, q plan.Query, yield func(t any, at Position) bool) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	p, err := v.c.plan(k, q, v.by)
	if err != nil {
		return err
	}
	return p.Unlooked(v.c.Redact, v.findBy(ctx, k, p, yield))
}

// findBy runs a plan. What it yields is right; whether that is all, its error says.
func (v *View) findBy(ctx context.Context, k *store.Call, p *plan.Plan, yield func(any, Position) bool) (err error) {
	if p.Empty() {
		return ctx.Err()
	}
	if p.Offset > 0 {
		skips, each := p.Skip(), yield
		yield = func(t any, at Position) bool { return skips() || each(t, at) }
	}
	switch {
	case p.Covered:
		err = v.findCovered(ctx, k, p, yield)
	default:
		mask := plan.MaskWith(v.c.Layout, v.mask, &p.Bound)
		if p.X.Unique && p.Equal == len(p.X.PartitionFrom)+len(p.X.SortFrom) {
			err = v.findOwners(ctx, k, p, mask, yield)
		} else {
			err = v.findByKey(ctx, k, p, mask, yield)
		}
	}
	return cmp.Or(err, v.c.answers(ctx, p))
}

// findCovered yields what the rows themselves say.
func (v *View) findCovered(ctx context.Context, k *store.Call, p *plan.Plan, yield func(any, Position) bool) error {
	b := NewReadBuffer(0)
	defer b.Release()
	f := coveredRows{v: v, p: p, b: b, yield: yield, out: v.Scratch()}
	defer v.Release(f.out)
	most := p.Limit
	if p.Looks() {
		most = p.MayLook(0)
	}
	return v.c.rows(ctx, k, p, most, f.row)
}

// A coveredRows yields what rows say of which each covers its record.
type coveredRows struct {
	v     *View
	p     *plan.Plan
	b     *readBuffer
	yield func(any, Position) bool
	n     int
	out   any
}

func (f *coveredRows) row(row *driver.Row) (more bool, err error) {
	rec, at, passes, err := f.v.c.memberIn(f.b, f.p, row)
	if err != nil || !passes {
		return err == nil, err
	}
	if err := f.v.into(f.out, &rec); err != nil {
		return false, err
	}
	if f.n++; f.p.Look != nil {
		f.p.Look.Found++
	}
	return f.yield(f.out, at) && f.n != f.p.Limit, nil
}

// memberIn returns the record that a row that covers it says, where it is, and whether it meets the conditions.
func (c *Reader) memberIn(b *readBuffer, p *plan.Plan, row *driver.Row) (rec record.Record, at Position, passes bool, err error) {
	if rec, err = c.recordOfRow(b, p, row); err != nil {
		return rec, "", false, err
	}
	if p.X != nil && p.X.Native {
		at, err = c.placeIn(p, &row.Key, rec.Vals)
	} else {
		at, err = placeOf(p, &row.Key)
	}
	if err == nil {
		err = p.LookAt(string(at))
	}
	return rec, at, err == nil && p.Passes(rec.Vals), err
}

// members calls yield for the records of a run that meet the conditions, with the fields of these and those of a mask,
// which the rows have where they cover them.
func (c *Reader) members(ctx context.Context, k *store.Call, p *plan.Plan, mask []int, yield func(*record.Record, Position) (bool, error)) error {
	if !p.Covered {
		return c.matching(ctx, k, p, plan.MaskWith(c.Layout, mask, &p.Bound), yield)
	}
	b := NewReadBuffer(0)
	defer b.Release()
	most := p.Limit
	if p.Looks() {
		most = p.MayLook(0)
	}
	return c.rows(ctx, k, p, most, func(row *driver.Row) (bool, error) {
		rec, at, passes, err := c.memberIn(b, p, row)
		if err != nil || !passes {
			return err == nil, err
		}
		return yield(&rec, at)
	})
}

// recordOfRow returns the record that a row that covers it says.
func (c *Reader) recordOfRow(b *readBuffer, p *plan.Plan, row *driver.Row) (record.Record, error) {
	vals := b.vals[:0]
	key := row.Key
	var err error
	if p.X != nil && !p.X.Native {
		if key, err = c.RecordKey(p.X, row); err != nil {
			return record.Record{}, err
		}
	}
	if vals, err = c.PartsOf(vals, key); err != nil {
		return record.Record{}, err
	}
	if p.Straight {
		vals = append(vals, row.Fields...)
	}
	for len(vals) < len(c.Cols) {
		vals = append(vals, driver.Value{})
	}
	for i := 0; i < len(row.Fields) && !p.Straight; i++ {
		if at := p.Place[i]; at >= 0 {
			vals[at] = row.Fields[i]
		}
	}
	if p.Keyed {
		if vals, err = c.keyValues(vals, p.X, row); err != nil {
			return record.Record{}, err
		}
	}
	b.vals = vals
	return record.Record{Vals: vals, Extra: row.Extra, Expires: row.Expires, Version: record.VersionOf(row)}, nil
}

// keyValues takes fields of the record from the key columns of an index row.
func (c *Reader) keyValues(vals []driver.Value, x *layout.Index, row *driver.Row) ([]driver.Value, error) {
	n := len(vals)
	vals, _, err := driver.ParseParts(vals, row.Key.Partition, x.Table.Partition[:len(x.PartitionFrom)])
	if err != nil {
		return vals, err
	}
	if vals, _, err = driver.ParseParts(vals, row.Key.Sort, x.Table.Sort[:len(x.SortFrom)]); err != nil {
		return vals, err
	}
	for i, src := range x.PartitionFrom {
		if !src.Elem && src.Path == nil {
			vals[src.At] = vals[n+i]
		}
	}
	for i, src := range x.SortFrom {
		if !src.Elem && src.Path == nil {
			vals[src.At] = vals[n+len(x.PartitionFrom)+i]
		}
	}
	return vals[:n], nil
}

// findByKey yields the records that the rows of an index name.
func (v *View) findByKey(ctx context.Context, k *store.Call, p *plan.Plan, mask []int, yield func(any, Position) bool) error {
	out := v.Scratch()
	defer v.Release(out)
	return v.c.matching(ctx, k, p, mask, func(rec *record.Record, at Position) (bool, error) {
		if err := v.into(out, rec); err != nil {
			return false, err
		}
		return yield(out, at), nil
	})
}

// First calls keep with the first record found, or is ErrNotFound.
func (v *View) First(ctx context.Context, k *store.Call, q plan.Query, keep func(t any)) error {
	q.Limit = 1
	found := false
	err := v.Find(ctx, k, q, func(t any, _ Position) bool {
		keep(t)
		found = true
		return false
	})
	if err == nil && !found {
		err = driver.ErrNotFound
	}
	return err
}

// atOnceMost is how many queries are asked at the same time.
const atOnceMost = 64

// FindMany calls add with what each of some queries finds, those of several queries at once.
func (v *View) FindMany(ctx context.Context, k *store.Call, queries []plan.Query, add func(query int, t any)) error {
	if ctx == nil {
		return failure.ErrNoContext
	}
	if r := rangesOf(v.c, k, queries, v.by); r != nil {
		if err := v.findRanges(ctx, r, add); !errors.Is(err, driver.ErrUnsupported) {
			return err
		}
	}
	errs := make([]error, len(queries))
	for from := 0; from < len(queries); from += atOnceMost {
		v.c.atOnce(k, min(atOnceMost, len(queries)-from), func(i int, k *store.Call) {
			i += from
			errs[i] = v.Find(ctx, k, queries[i], func(t any, _ Position) bool {
				add(i, t)
				return true
			})
		})
		for i := from; i < min(from+atOnceMost, len(queries)); i++ {
			if errs[i] != nil {
				return fmt.Errorf("query %d: %w", i, errs[i])
			}
		}
	}
	return nil
}

// findRanges calls add with what each of some queries finds that are read together.
func (v *View) findRanges(ctx context.Context, r *ranges, add func(query int, t any)) error {
	finders, out := make([]coveredRows, len(r.list)), v.Scratch()
	defer v.Release(out)
	b := NewReadBuffer(0)
	defer b.Release()
	for i := range r.list {
		finders[i] = coveredRows{v: v, p: r.list[i].Plan, b: b, out: out, yield: func(t any, _ Position) bool {
			add(i, t)
			return true
		}}
	}
	if err := r.rows(ctx, func(i int, row *driver.Row) (bool, error) { return finders[i].row(row) }); err != nil {
		return err
	}
	for i := range r.list {
		if err := v.c.answers(ctx, r.list[i].Plan); err != nil {
			return err
		}
	}
	return nil
}
