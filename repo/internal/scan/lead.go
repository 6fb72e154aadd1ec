package scan

import (
	"context"
	"errors"

	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// lead returns the merging that a plan is read by, nil if that is one part, and makes the parts of the plan those.
//
// Where there are several ways it takes that with the fewest rows: they are read at the same time, page by page, until
// one is at its end. Where none is after some pages, it takes the one that came farthest. The records tell which of
// them the other ways have, too.
func (c *Reader) lead(ctx context.Context, k *store.Call, p *plan.Plan, most int) (*merging, error) {
	if len(p.Ways) < 2 {
		if len(p.Parts) < 2 {
			return nil, nil
		}
		return c.merge(p, p.Parts, most), nil
	}
	all, errs := make([]*merging, len(p.Ways)), make([]error, len(p.Ways))
	for i := range all {
		all[i] = c.merge(p, p.Ways[i], limit.FewRows)
	}
	for page := 0; page < limit.BatchSize; {
		page = all[0].page
		c.atOnce(k, len(all), func(i int, k *store.Call) { errs[i] = all[i].more(ctx, k, page*2) })
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		if i := shortest(all); i >= 0 {
			p.Parts = p.Ways[i]
			return all[i], nil
		}
	}
	i := farthest(all)
	p.Parts = p.Ways[i]
	return all[i], nil
}

// shortest returns which merging has read all its rows, the fewest if several have, -1 if none has.
func shortest(all []*merging) int {
	best, least := -1, 0
	for i, m := range all {
		rows, done := 0, true
		for _, s := range m.strands {
			rows, done = rows+len(s.rows), done && s.done
		}
		if done && (best < 0 || rows < least) {
			best, least = i, rows
		}
	}
	return best
}

// farthest returns which merging has read all its rows up to the farthest place.
func farthest(all []*merging) int {
	best, reach := 0, all[0].reach()
	for i, m := range all[1:] {
		if at := m.reach(); m.comes(reach, at) {
			best, reach = i+1, at
		}
	}
	return best
}

// reach returns the place up to which all rows are read.
func (m *merging) reach() (at string) {
	some := false
	for _, s := range m.strands {
		if !s.done && (!some || m.comes(s.last, at)) {
			some, at = true, s.last
		}
	}
	return at
}
