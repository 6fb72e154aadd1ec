package scan

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/failure"
	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/record"
	"github.com/polystore/polystore/repo/internal/store"
)

// A found is a record that an index row named, by key, and where the row was.
type found struct {
	key  driver.Key
	at   Position
	part string // of a remote row: its partition
}

// A match is the reading of the records that the rows of a run name.
type match struct {
	c     *Reader
	k     *store.Call
	whole *plan.Plan
	mask  []int
	seen  map[found]bool // yielded, where a record may have several rows: one that moves while its remote rows are read
	yield func(*record.Record, Position) (bool, error)
	rest  bool // the run goes on behind the rows that are read
}

// matching reads the rows of a run in batches, and the records of each batch at once.
// It calls yield for those that meet the conditions, as they are now; mask is that of
// the fields that yield wants, those of the conditions included.
func (c *Reader) matching(ctx context.Context, k *store.Call, p *plan.Plan, mask []int, yield func(*record.Record, Position) (bool, error)) error {
	m := match{c: c, k: k, mask: mask, yield: yield}
	if p.X != nil && p.X.Remote {
		m.mask, m.seen = plan.MaskFor(c.Layout, mask, p.X), map[found]bool{}
	}
	run, b := *p, NewReadBuffer(0)
	defer b.Release()
	size := limit.BatchSize
	if run.Limit > 0 {
		size = min(run.Limit, size)
	}
	size = run.MayLook(size)
	lead, err := c.lead(ctx, k, &run, size)
	if err != nil {
		return err
	}
	whole := run // with the parts that lead
	m.whole = &whole
	for ; ; size = m.nextSize(&run, size) {
		rows, err := c.foundIn(ctx, k, b.found[:0], &run, lead, size)
		if b.found = rows; err != nil || len(rows) == 0 {
			return err
		}
		m.rest = len(rows) == size
		n, more, err := m.records(ctx, b, &run, rows)
		if err != nil || !more || len(rows) < size {
			return err
		}
		run.Limit = max(run.Limit-n, 0)
		if lead != nil {
			continue
		}
		if run.Behind(string(rows[len(rows)-1].at), run.Reverse); run.Empty() {
			return nil
		}
	}
}

// nextSize returns how many rows are read after a batch: as many as are wanted, or more where the records decide which
// of them these are.
func (m *match) nextSize(run *plan.Plan, size int) int {
	switch {
	case run.Looks():
		return run.MayLook(min(2*size, limit.BatchSize))
	case run.Limit > 0:
		return min(run.Limit, limit.BatchSize)
	}
	return limit.BatchSize
}

// foundIn appends to list the records that the next live rows of a run name.
func (c *Reader) foundIn(ctx context.Context, k *store.Call, list []found, p *plan.Plan, lead *merging, size int) ([]found, error) {
	list = slices.Grow(list, min(size, 32))
	err := c.rowsOf(ctx, k, p, lead, size, func(row *driver.Row) (more bool, err error) {
		f, err := c.foundBy(p, row)
		if err != nil {
			return false, err
		}
		list = append(list, f)
		return len(list) != size, nil
	})
	return list, err
}

// foundBy returns what a row of an index names. The place of a remote row is that of
// all rows of the same entry, whatever their tokens.
func (c *Reader) foundBy(p *plan.Plan, row *driver.Row) (f found, err error) {
	entry := row.Key
	if f.key = row.Key; p.X != nil {
		if f.key, err = c.RecordKey(p.X, row); err != nil {
			return f, err
		}
		if p.X.Remote {
			if entry, _, err = p.X.CutToken(row); err != nil {
				return f, err
			}
			f.part = entry.Partition
		}
	}
	f.at, err = placeOf(p, &entry)
	return f, err
}

// records reads what rows name and calls yield for those that meet the conditions; more
// is false when yield or the limit of p, the rest of the run, ended that.
func (m *match) records(ctx context.Context, b *readBuffer, p *plan.Plan, rows []found) (n int, more bool, err error) {
	c := m.c
	b.prepare(len(rows))
	for i := range rows {
		b.Keys = append(b.Keys, rows[i].key)
	}
	if err := c.Store.Get(ctx, m.k, c.Records, b.Keys, m.mask, b.Rows); err != nil {
		return 0, false, err
	}
	var rec record.Record // one for all: yield puts it on the heap
	for i := range rows {
		if err := p.LookAt(string(rows[i].at)); err != nil {
			return n, false, err
		}
		if !c.IsLive(m.k, &b.Rows[i]) || m.seen[m.once(&rows[i])] {
			continue
		}
		if b.parts, err = c.PartsOf(b.parts[:0], rows[i].key); err != nil {
			return n, false, failure.OfKey(rows[i].key, err)
		}
		rec = c.valuesOf(b, &b.Rows[i], b.parts, m.mask)
		if !p.Matches(rec.Vals) {
			continue
		}
		has, err := c.holdsClaim(p, &rows[i].key, &b.Rows[i], &rec)
		if has && err == nil {
			has, err = m.belongs(rows, i, &rec)
		}
		if has && err == nil {
			has, err = p.InGroup(string(rows[i].at), rec.Vals)
		}
		if err != nil {
			return n, false, failure.OfKey(rows[i].key, err)
		}
		if !has {
			continue
		}
		if m.seen != nil {
			m.seen[m.once(&rows[i])] = true
		}
		if p.Look != nil {
			p.Look.Found++
		}
		ok, err := m.yield(&rec, rows[i].at)
		if err != nil {
			return n, false, failure.OfKey(rows[i].key, err)
		}
		if n++; !ok || n == p.Limit {
			return n, false, nil
		}
	}
	return n, true, nil
}

// once returns what is yielded once: a record or, where groups are made by elements, a record in a group.
func (m *match) once(f *found) found {
	if m.whole.ByElement() {
		return *f
	}
	return found{key: f.key}
}

// belongs reports whether a record is to be yielded where the i-th of the rows was (L2).
// Most often it has just that entry. If its own place in the run is elsewhere, the
// remote row is one that it gave up: it is passed over if that place is still to come.
// One that was listed already without the record shows that it moved there meanwhile.
func (m *match) belongs(rows []found, i int, rec *record.Record) (bool, error) {
	if m.seen == nil {
		return true, nil
	}
	p, f := m.whole, &rows[i]
	b := layout.NewEntryMaker()
	defer b.Release()
	entries, err := b.StoredEntries(nil, m.c.Layout, p.X, &f.key, rec.Vals)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if e.Partition != f.part {
			continue
		}
		part := plan.PartOf(p.Parts, &e)
		if part == nil {
			continue
		}
		if own := Position(part.Place(e.Sort)); own == f.at || !p.ByElement() && !m.comes(rows[i:], own) {
			return true, nil
		}
	}
	return false, nil
}

// comes reports whether the record of the first row will be met at its own place: that
// lies behind all rows that were listed, or one of these is there.
func (m *match) comes(rows []found, own Position) bool {
	ahead := func(of Position) bool { return own != of && (own > of) != m.whole.Reverse }
	if !ahead(rows[0].at) {
		return false
	}
	if m.rest && ahead(rows[len(rows)-1].at) {
		return true
	}
	return slices.ContainsFunc(rows[1:], func(f found) bool { return f.at == own && f.key == rows[0].key })
}
