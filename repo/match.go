package repo

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
)

// A found is a record that an index row named, by key, and where the row was.
type found struct {
	key  driver.Key
	at   position
	part string // of a loose row: its partition
}

// matching reads the rows of a run in batches, and the records of each batch at once.
// It calls yield for those that meet the conditions, as they are now; mask is that of
// the fields that yield wants, those of the conditions included.
func (c *collection) matching(ctx context.Context, k *call, p *plan, mask []int, yield func(*record, position) (bool, error)) error {
	run := *p
	if p.x != nil {
		mask = c.maskFor(mask, p.x)
	}
	var seen map[driver.Key]bool // yielded: one that moves while its loose rows are read may have several
	if p.x != nil && p.x.loose {
		seen = map[driver.Key]bool{}
	}
	for {
		size := batchSize
		if run.limit > 0 {
			size = min(run.limit, size)
		}
		rows, err := c.foundIn(ctx, k, &run, size)
		if err != nil || len(rows) == 0 {
			return err
		}
		n, more, err := c.matchingOf(ctx, k, &run, p, rows, seen, mask, yield)
		if err != nil || !more || len(rows) < size {
			return err
		}
		last := rows[len(rows)-1].at
		if last == "" {
			return nil // a partition without sort columns has one row
		}
		run.limit = max(run.limit-n, 0)
		run.from, run.to = behind(run.from, run.to, string(last), run.reverse)
	}
}

// foundIn returns the records that the next live rows of a run name.
func (c *collection) foundIn(ctx context.Context, k *call, p *plan, size int) ([]found, error) {
	list := make([]found, 0, min(size, 32))
	for row, err := range c.rows(ctx, k, p, size) {
		if err != nil {
			return nil, err
		}
		f := found{key: row.Key, at: position(row.Key.Sort)}
		if p.x != nil {
			if f, err = c.foundBy(p.x, row); err != nil {
				return nil, err
			}
		}
		if list = append(list, f); len(list) == size {
			break
		}
	}
	return list, nil
}

// foundBy returns what a row of an index names. The place of a loose row is that of
// all rows of the same entry, whatever their tokens.
func (c *collection) foundBy(x *index, row *driver.Row) (found, error) {
	key, err := c.recordKey(x, row)
	if err != nil || !x.loose {
		return found{key: key, at: position(row.Key.Sort)}, err
	}
	entry, _, err := x.cutToken(row)
	return found{key, position(entry.Sort), entry.Partition}, err
}

// belongs reports whether a record that a loose row named is to be yielded where the
// row was (L2). Most often the record has just that entry. If its own place in the run
// is elsewhere, the row is one that it gave up: a place ahead is still to come, and one
// that the run has passed without meeting it shows that it moved there meanwhile.
func (c *collection) belongs(p *plan, whole *plan, f *found, rec *record) bool {
	b := newBuilder()
	defer b.release()
	entries, err := b.entries(nil, c, p.x, &f.key, rec.vals)
	if err != nil {
		return false
	}
	for _, e := range entries {
		own := position(e.Sort)
		inside := e.Partition == f.part && e.Sort >= whole.from && (whole.to == "" || e.Sort < whole.to)
		if inside && (own == f.at || (own < f.at) != p.reverse) {
			return true
		}
	}
	return false
}

// matchingOf reads records and calls yield for those that meet the conditions; more
// is false when yield or the limit ended that. Whole is the plan of which p is the rest. Those that were seen are left out.
func (c *collection) matchingOf(ctx context.Context, k *call, p, whole *plan, rows []found, seen map[driver.Key]bool, mask []int, yield func(*record, position) (bool, error)) (n int, more bool, err error) {
	b := newReadBuffer(len(rows))
	defer b.release()
	for i := range rows {
		b.keys = append(b.keys, rows[i].key)
	}
	if err := c.store.get(ctx, k, c.records, b.keys, mask, b.rows); err != nil {
		return 0, false, err
	}
	for i := range rows {
		if !c.isLive(&b.rows[i]) || seen[rows[i].key] {
			continue
		}
		if b.parts, err = c.partsOf(b.parts[:0], rows[i].key); err != nil {
			return n, false, ofKey(rows[i].key, err)
		}
		rec := c.valuesOf(b, &b.rows[i], b.parts, mask)
		if !p.matches(rec.vals) || !p.holds(c, &b.rows[i]) || seen != nil && !c.belongs(p, whole, &rows[i], &rec) {
			continue
		}
		if seen != nil {
			seen[rows[i].key] = true
		}
		ok, err := yield(&rec, rows[i].at)
		if err != nil {
			return n, false, ofKey(rows[i].key, err)
		}
		if n++; !ok || n == p.limit {
			return n, false, nil
		}
	}
	return n, true, nil
}
