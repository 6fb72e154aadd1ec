package scan

import (
	"context"
	"iter"
	"strings"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
	"github.com/polystore/polystore/repo/internal/plan"
	"github.com/polystore/polystore/repo/internal/store"
)

// rows yields the live rows of a run, those of several buckets merged in order.
// Limit bounds the rows of each partition; 0 leaves that to the loop.
func (c *Reader) rows(ctx context.Context, k *store.Call, p *plan.Plan, limit int) iter.Seq2[*driver.Row, error] {
	seqs := make([]iter.Seq2[*driver.Row, error], len(p.Parts))
	for i, part := range p.Parts {
		span := driver.Span{Table: p.Table, Key: part, Reverse: p.Reverse, Limit: limit, Mask: p.Mask}
		p.Extent.Bound(&span)
		seqs[i] = c.fresh(ctx, k, p, span)
	}
	if len(seqs) == 1 {
		return counted(seqs[0], k, p)
	}
	return counted(merged(seqs, p.Reverse), k, p)
}

// fresh yields the rows of a span that have not expired, at most as many as its
// limit: it goes on where expired ones have used that up.
func (c *Reader) fresh(ctx context.Context, k *store.Call, p *plan.Plan, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		left, more, err := span.Limit, true, error(nil)
		for stuck := 0; more && err == nil; {
			from, to := span.From, span.To
			if more, err = c.freshOnce(ctx, k, p, &span, &left, yield); !more || err != nil {
				break
			}
			if stuck++; span.From != from || span.To != to {
				stuck = 0
			}
			err = store.PauseForExpiry(ctx, stuck)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// freshOnce is fresh for one range. If more is true, span is what is left: what lies
// behind the limit, or begins with a row that expired while the range was read.
func (c *Reader) freshOnce(ctx context.Context, k *store.Call, p *plan.Plan, span *driver.Span, left *int, yield func(*driver.Row, error) bool) (more bool, err error) {
	if err := c.Bounds(p, span); err != nil {
		return false, err
	}
	asked, seen := c.Store.NowMillis(), 0
	for row, err := range c.Store.Driver.Range(k.Asks(ctx, 1), *span) {
		if err != nil {
			return false, err
		}
		if c.Store.ExpiredSince(asked, row.Expires) {
			at, err := c.placeOf(p, row)
			plan.ExtentOf(span).OnFrom(string(at), span.Reverse).Bound(span)
			span.Limit = limit.FewRows // or as many as grow from that: where one expired others may
			return true, err
		}
		if row.Expires == 0 || row.Expires > asked {
			if *left--; !yield(row, nil) || *left == 0 {
				return false, nil
			}
		}
		if seen++; seen == span.Limit {
			at, err := c.placeOf(p, row)
			rest := plan.ExtentOf(span).Behind(string(at), span.Reverse)
			rest.Bound(span)
			span.Limit = min(2*max(*left, seen), limit.BatchSize)
			return !rest.Empty(), err
		}
	}
	return false, nil
}

// counted counts the rows of a run and sees that none has more fields than were
// asked for.
func counted(seq iter.Seq2[*driver.Row, error], k *store.Call, p *plan.Plan) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		for row, err := range seq {
			k.Read(1)
			if err == nil {
				err = store.CheckWidth(row, p.RowsOf(), p.Mask)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// merged yields the rows of ordered sequences in order of their Sort.
func merged(seqs []iter.Seq2[*driver.Row, error], reverse bool) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		heads := make([]*driver.Row, len(seqs))
		next := make([]func() (*driver.Row, error, bool), len(seqs))
		for i, seq := range seqs {
			var stop func()
			next[i], stop = iter.Pull2(seq)
			defer stop()
			var err error
			if heads[i], err, _ = next[i](); err != nil {
				yield(nil, err)
				return
			}
		}
		for {
			at := first(heads, reverse)
			if at < 0 || !yield(heads[at], nil) {
				return
			}
			var err error
			if heads[at], err, _ = next[at](); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// first returns the index of the row that comes first, -1 when none is left.
func first(heads []*driver.Row, reverse bool) int {
	at := -1
	for i, row := range heads {
		if row == nil {
			continue
		}
		if at < 0 || (strings.Compare(row.Key.Sort, heads[at].Key.Sort) < 0) != reverse {
			at = i
		}
	}
	return at
}
