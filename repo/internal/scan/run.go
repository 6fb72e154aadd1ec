package scan

import (
	"context"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// A rowFunc is called with the rows of a run, until it returns that it wants no more, or an error.
type rowFunc func(*driver.Row) (more bool, err error)

// rows calls do with the live rows of a run, those of several parts merged in order. Do says when there
// are enough; limit is how many it will want, 0 if that is not known.
func (c *Reader) rows(ctx context.Context, k *store.Call, p *plan.Plan, limit int, do rowFunc) error {
	m, err := c.lead(ctx, k, p, limit)
	if err != nil {
		return err
	}
	return c.rowsOf(ctx, k, p, m, limit, do)
}

// rowsOf is rows for what leads a plan.
func (c *Reader) rowsOf(ctx context.Context, k *store.Call, p *plan.Plan, m *merging, limit int, do rowFunc) error {
	if m != nil {
		return m.take(ctx, k, do)
	}
	return c.read(ctx, k, p, 0, limit, func(row *driver.Row) (bool, error) {
		if err := counted(k, p, row); err != nil {
			return false, err
		}
		return do(row)
	})
}

// counted counts a row of a run and sees that it has no more fields than were asked for.
func counted(k *store.Call, p *plan.Plan, row *driver.Row) error {
	k.Read(1)
	return store.CheckWidth(row, p.RowsOf(), p.Mask)
}

// read calls do with the live rows of one part of a run.
func (c *Reader) read(ctx context.Context, k *store.Call, p *plan.Plan, part, limit int, do rowFunc) error {
	r := newReading(c, k, p, &p.Parts[part], limit, do)
	return r.all(ctx)
}

// newReading returns the reading of a part of a run.
func newReading(c *Reader, k *store.Call, p *plan.Plan, at *plan.Part, limit int, do rowFunc) reading {
	r := reading{c: c, k: k, p: p, part: at, do: do, left: limit}
	r.span = driver.Span{Table: p.Table, Key: at.Key, Reverse: p.Reverse, Limit: limit, Mask: p.Mask}
	at.Bound(&r.span)
	return r
}

// A reading reads the rows of a span that have not expired, at most as many as its limit:
// it goes on where expired ones have used that up.
type reading struct {
	c    *Reader
	k    *store.Call
	p    *plan.Plan
	part *plan.Part
	span driver.Span // what is left
	left int         // of the limit
	do   rowFunc

	asked int64 // when the store was asked for the rows
	seen  int   // rows since then
	over  bool  // no more rows are wanted since then
	again bool  // the store is to be asked for what is left
	err   error
}

func (r *reading) all(ctx context.Context) error {
	for stuck := 0; ; {
		from, to := r.span.From, r.span.To
		if r.once(ctx); r.err != nil || !r.again {
			return r.err
		}
		if stuck++; r.span.From != from || r.span.To != to {
			stuck = 0
		}
		if err := store.PauseForExpiry(ctx, stuck); err != nil {
			return err
		}
	}
}

// once reads what one request of the store finds.
func (r *reading) once(ctx context.Context) {
	if r.err = r.c.Bounds(r.p, &r.span); r.err != nil {
		return
	}
	r.asked, r.seen, r.over, r.again = r.c.Store.NowMillis(), 0, false, false
	r.c.Store.Driver.Range(r.k.Asks(ctx, 1), r.span)(r.row)
}

// row takes a row from the store and reports whether more are wanted. What is left then lies
// behind the limit, or begins with a row that expired while the range was read.
func (r *reading) row(row *driver.Row, err error) (more bool) {
	switch {
	case r.over: // the store goes on in spite of that
		return false
	case err != nil:
		r.over, r.err = true, err
	case r.c.Store.ExpiredSince(r.asked, row.Expires):
		r.over, r.again = true, true
		at, err := r.c.sortOf(r.p, r.part, row)
		r.err = err
		plan.ExtentOf(&r.span).OnFrom(at, r.span.Reverse).Bound(&r.span)
		r.span.Limit = limit.FewRows // or as many as grow from that: where one expired others may
	default:
		r.live(row)
	}
	return !r.over
}

// live takes a row, which may have expired before the store was asked.
func (r *reading) live(row *driver.Row) {
	if row.Expires == 0 || row.Expires > r.asked {
		more, err := r.do(row)
		if r.left--; err != nil || !more || r.left == 0 {
			r.over, r.err = true, err
			return
		}
	}
	if r.seen++; r.seen != r.span.Limit {
		return
	}
	at, err := r.c.sortOf(r.p, r.part, row)
	rest := plan.ExtentOf(&r.span).Behind(at, r.span.Reverse)
	rest.Bound(&r.span)
	r.span.Limit = min(2*max(r.left, r.seen), limit.BatchSize)
	r.over, r.again, r.err = true, !rest.Empty(), err
}
