package scan

import (
	"context"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A merging reads the parts of a run in one order: a page of each at the same time, and again where a page is used up.
type merging struct {
	c       *Reader
	p       *plan.Plan
	strands []strand
	page    int    // rows of the next page of a part
	took    bool   // a row
	last    string // place of the last one that was taken
}

// A strand is what was read of one part, and what is left of it.
type strand struct {
	rows []placed // not yet taken; they are good until more are read
	room []placed // where they lie
	rest plan.Part
	done bool   // nothing is left
	last string // place of the last row that was read
	err  error
}

// A placed is a row and where in the order of the plan it is.
type placed struct {
	driver.Row
	place string
}

// merge returns the merging of some parts, of which so many rows are wanted; 0 is all.
func (c *Reader) merge(p *plan.Plan, parts []plan.Part, most int) *merging {
	m := &merging{c: c, p: p, strands: make([]strand, len(parts)), page: plan.FirstPage(most, len(parts))}
	for i := range m.strands {
		m.strands[i] = strand{rest: parts[i], done: parts[i].Empty()}
	}
	return m
}

// take calls do with the next rows in their order, until it wants no more; once with those that have the same place: a
// record that is in several parts.
func (m *merging) take(ctx context.Context, k *store.Call, do rowFunc) error {
	for {
		if err := m.fill(ctx, k); err != nil {
			return err
		}
		row, _ := m.next()
		switch {
		case row == nil:
			return nil
		case m.took && m.last == row.place && !m.remote():
			continue
		}
		m.took, m.last = true, row.place
		if more, err := do(&row.Row); err != nil || !more {
			return err
		}
	}
}

// remote reports whether a row says less than the record to which it leads, which then is looked at for each.
func (m *merging) remote() bool { return m.p.X != nil && m.p.X.Remote }

// fill reads a page of each part of which few rows are left, if there is one without any.
func (m *merging) fill(ctx context.Context, k *store.Call) error {
	if !slices.ContainsFunc(m.strands, func(s strand) bool { return len(s.rows) == 0 && !s.done }) {
		return nil
	}
	return m.more(ctx, k, m.page/8)
}

// more reads a page of each part of which at most so many rows are left.
func (m *merging) more(ctx context.Context, k *store.Call, most int) error {
	var dry []*strand
	for i := range m.strands {
		if s := &m.strands[i]; len(s.rows) <= most && !s.done {
			dry = append(dry, s)
		}
	}
	m.c.atOnce(k, len(dry), func(i int, k *store.Call) { m.read(ctx, k, dry[i]) })
	m.page = plan.NextPage(m.page)
	for _, s := range dry {
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// atOnce calls do n times, at the same time where that takes less.
func (c *Reader) atOnce(k *store.Call, n int, do func(i int, k *store.Call)) {
	if !c.Store.Facts.OneProcess || k.Traced() {
		k.AtOnce(n, do)
		return
	}
	for i := range n { // a goroutine costs more than such a read
		do(i, k)
	}
}

// read reads the next page of a part.
func (m *merging) read(ctx context.Context, k *store.Call, s *strand) {
	run, got, last := *m.p, 0, ""
	s.rows = append(s.room[:0], s.rows...)
	run.Parts = []plan.Part{s.rest}
	s.err = m.c.read(ctx, k, &run, 0, m.page, func(row *driver.Row) (more bool, err error) {
		if err := counted(k, &run, row); err != nil {
			return false, err
		}
		if last, err = m.c.sortOf(&run, &s.rest, row); err != nil {
			return false, err
		}
		s.last = s.rest.Place(last)
		s.rows = append(s.rows, placed{kept(row), s.last})
		got++
		return got != m.page, nil
	})
	s.room = s.rows
	if s.done = got < m.page; s.err == nil && !s.done {
		s.rest.Extent = s.rest.Behind(last, m.p.Reverse)
		s.done = s.rest.Empty()
	}
}

// kept returns a row that is good after the loop.
func kept(row *driver.Row) driver.Row {
	out := *row
	out.Ring, out.Fields, out.Extra = slices.Clone(row.Ring), slices.Clone(row.Fields), slices.Clone(row.Extra)
	return out
}

// next takes the row that comes first, nil when none is left, and says of which strand it is.
func (m *merging) next() (row *placed, of int) {
	var first *strand
	for i := range m.strands {
		s := &m.strands[i]
		if len(s.rows) > 0 && (first == nil || m.comes(s.rows[0].place, first.rows[0].place)) {
			first, of = s, i
		}
	}
	if first == nil {
		return nil, 0
	}
	row = &first.rows[0]
	first.rows = first.rows[1:]
	return row, of
}

// comes reports whether a place comes before another one.
func (m *merging) comes(a, b string) bool { return a != b && (a < b) != m.p.Reverse }
