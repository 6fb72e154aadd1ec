package repo

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
)

// A found is a record that an index row named, by key, and where the row was.
type found struct {
	key  driver.Key
	at   position
	part string // of a loose row: its partition
}

// A match is the reading of the records that the rows of a run name.
type match struct {
	c     *reader
	k     *call
	whole *plan
	mask  []int
	seen  map[driver.Key]bool // yielded, where a record may have several rows: one that moves while its loose rows are read
	yield func(*record, position) (bool, error)
	rest  bool // the run goes on behind the rows that are read
}

// matching reads the rows of a run in batches, and the records of each batch at once.
// It calls yield for those that meet the conditions, as they are now; mask is that of
// the fields that yield wants, those of the conditions included.
func (c *reader) matching(ctx context.Context, k *call, p *plan, mask []int, yield func(*record, position) (bool, error)) error {
	m := match{c: c, k: k, whole: p, mask: mask, yield: yield}
	if p.x != nil && p.x.loose {
		m.mask, m.seen = maskFor(c.layoutC, mask, p.x), map[driver.Key]bool{}
	}
	run, b := *p, newReadBuffer(0)
	defer b.release()
	for {
		size := batchSize
		if run.limit > 0 {
			size = min(run.limit, size)
		}
		rows, err := c.foundIn(ctx, k, b.found[:0], &run, size)
		if b.found = rows; err != nil || len(rows) == 0 {
			return err
		}
		m.rest = len(rows) == size
		n, more, err := m.records(ctx, b, &run, rows)
		if err != nil || !more || len(rows) < size {
			return err
		}
		run.limit = max(run.limit-n, 0)
		run.extent = run.behind(string(rows[len(rows)-1].at), run.reverse)
		if run.empty() {
			return nil
		}
	}
}

// foundIn appends to list the records that the next live rows of a run name.
func (c *reader) foundIn(ctx context.Context, k *call, list []found, p *plan, size int) ([]found, error) {
	list = slices.Grow(list, min(size, 32))
	for row, err := range c.rows(ctx, k, p, size) {
		if err != nil {
			return list, err
		}
		f := found{key: row.Key, at: position(row.Key.Sort)}
		if p.x != nil {
			if f, err = c.foundBy(p.x, row); err != nil {
				return list, err
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
func (c *reader) foundBy(x *index, row *driver.Row) (found, error) {
	key, err := c.recordKey(x, row)
	if err != nil || !x.loose {
		return found{key: key, at: position(row.Key.Sort)}, err
	}
	entry, _, err := x.cutToken(row)
	return found{key, position(entry.Sort), entry.Partition}, err
}

// records reads what rows name and calls yield for those that meet the conditions; more
// is false when yield or the limit of p, the rest of the run, ended that.
func (m *match) records(ctx context.Context, b *readBuffer, p *plan, rows []found) (n int, more bool, err error) {
	c := m.c
	b.prepare(len(rows))
	for i := range rows {
		b.keys = append(b.keys, rows[i].key)
	}
	if err := c.store.get(ctx, m.k, c.records, b.keys, m.mask, b.rows); err != nil {
		return 0, false, err
	}
	var rec record // one for all: yield puts it on the heap
	for i := range rows {
		if !c.isLive(m.k, &b.rows[i]) || m.seen[rows[i].key] {
			continue
		}
		if b.parts, err = c.partsOf(b.parts[:0], rows[i].key); err != nil {
			return n, false, ofKey(rows[i].key, err)
		}
		rec = c.valuesOf(b, &b.rows[i], b.parts, m.mask)
		if !p.matches(rec.vals) {
			continue
		}
		has, err := holdsClaim(p, c.layoutC, &b.rows[i])
		if has && err == nil {
			has, err = m.belongs(rows, i, &rec)
		}
		if err != nil {
			return n, false, ofKey(rows[i].key, err)
		}
		if !has {
			continue
		}
		if m.seen != nil {
			m.seen[rows[i].key] = true
		}
		ok, err := m.yield(&rec, rows[i].at)
		if err != nil {
			return n, false, ofKey(rows[i].key, err)
		}
		if n++; !ok || n == p.limit {
			return n, false, nil
		}
	}
	return n, true, nil
}

// belongs reports whether a record is to be yielded where the i-th of the rows was (L2).
// Most often it has just that entry. If its own place in the run is elsewhere, the
// loose row is one that it gave up: it is passed over if that place is still to come.
// One that was listed already without the record shows that it moved there meanwhile.
func (m *match) belongs(rows []found, i int, rec *record) (bool, error) {
	if m.seen == nil {
		return true, nil
	}
	p, f := m.whole, &rows[i]
	b := newEntryMaker()
	defer b.release()
	entries, err := b.storedEntries(nil, m.c.layoutC, p.x, &f.key, rec.vals)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		own := position(e.Sort)
		inside := e.Partition == f.part && p.has(e.Sort)
		if inside && !m.comes(rows[i:], own) {
			return true, nil
		}
	}
	return false, nil
}

// comes reports whether the record of the first row will be met at its own place: that
// lies behind all rows that were listed, or one of these is there.
func (m *match) comes(rows []found, own position) bool {
	ahead := func(of position) bool { return own != of && (own > of) != m.whole.reverse }
	if !ahead(rows[0].at) {
		return false
	}
	if m.rest && ahead(rows[len(rows)-1].at) {
		return true
	}
	return slices.ContainsFunc(rows[1:], func(f found) bool { return f.at == own && f.key == rows[0].key })
}
