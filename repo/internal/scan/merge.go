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
	k       *store.Call
	p       *plan.Plan
	strands []strand
	page    int // rows of the next page of a part
}

// A placed is a row and where in the order of the plan it is.
type placed struct {
	driver.Row
	place string
}

// A strand is what was read of one part, and what is left of it.
type strand struct {
	rows []placed // not yet taken
	rest plan.Part
	left int  // of the limit; 0 is no limit
	done bool // nothing is left
	err  error
}

// merge calls do with the rows of all parts of a run in their order, once with those that have the same place: a record
// that is in several parts.
func (c *Reader) merge(ctx context.Context, k *store.Call, p *plan.Plan, most int, do rowFunc) error {
	m := merging{c: c, k: k, p: p, strands: make([]strand, len(p.Parts))}
	for i := range m.strands {
		m.strands[i] = strand{rest: p.Parts[i], left: most, done: p.Parts[i].Empty()}
	}
	m.page = plan.FirstPage(most, len(p.Parts))
	for last := (*placed)(nil); ; {
		if err := m.fill(ctx); err != nil {
			return err
		}
		row := m.next()
		switch {
		case row == nil:
			return nil
		case last != nil && last.place == row.place && !m.remote(): // the record is in two parts
			continue
		}
		last = row
		if more, err := do(&row.Row); err != nil || !more {
			return err
		}
	}
}

// remote reports whether a row says less than the record to which it leads, which then is looked at for each.
func (m *merging) remote() bool { return m.p.X != nil && m.p.X.Remote }

// fill reads a page of each part of which few rows are left, if there is one without any.
func (m *merging) fill(ctx context.Context) error {
	if !slices.ContainsFunc(m.strands, func(s strand) bool { return len(s.rows) == 0 && !s.done }) {
		return nil
	}
	var dry []*strand
	for i := range m.strands {
		if s := &m.strands[i]; len(s.rows) <= m.page/8 && !s.done {
			dry = append(dry, s)
		}
	}
	if m.c.Store.Facts.OneProcess && !m.k.Traced() { // a goroutine costs more than such a read
		for _, s := range dry {
			m.read(ctx, m.k, s)
		}
	} else {
		m.k.AtOnce(len(dry), func(i int, k *store.Call) { m.read(ctx, k, dry[i]) })
	}
	m.page = plan.NextPage(m.page)
	for _, s := range dry {
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// read reads the next page of a part.
func (m *merging) read(ctx context.Context, k *store.Call, s *strand) {
	run := *m.p
	run.Parts = []plan.Part{s.rest}
	size, last := m.page, ""
	if s.left > 0 {
		size = min(size, s.left)
	}
	got := 0
	s.err = m.c.read(ctx, k, &run, 0, size, func(row *driver.Row) (more bool, err error) {
		if err := counted(k, &run, row); err != nil {
			return false, err
		}
		if last, err = m.c.sortOf(&run, &run.Parts[0], row); err != nil {
			return false, err
		}
		s.rows = append(s.rows, placed{kept(row), run.Parts[0].Place(last)})
		got++
		return got != size, nil
	})
	if s.done = got < size || s.left == size; s.err != nil || s.done {
		return
	}
	if s.left > 0 {
		s.left -= size
	}
	s.rest.Extent = s.rest.Behind(last, m.p.Reverse)
	s.done = s.rest.Empty()
}

// kept returns a row that is good after the loop.
func kept(row *driver.Row) driver.Row {
	out := *row
	out.Ring, out.Fields, out.Extra = slices.Clone(row.Ring), slices.Clone(row.Fields), slices.Clone(row.Extra)
	return out
}

// next takes the row that comes first, nil when none is left.
func (m *merging) next() *placed {
	var first *strand
	for i := range m.strands {
		s := &m.strands[i]
		if len(s.rows) > 0 && (first == nil || s.rows[0].place != first.rows[0].place && (s.rows[0].place < first.rows[0].place) != m.p.Reverse) {
			first = s
		}
	}
	if first == nil {
		return nil
	}
	took := &first.rows[0]
	first.rows = first.rows[1:]
	return took
}
