package repo

import (
	"context"
	"iter"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// rows yields the live rows of a run, those of several buckets merged in order.
// Limit bounds the rows of each partition; 0 leaves that to the loop.
func (c *reader) rows(ctx context.Context, k *call, p *plan, limit int) iter.Seq2[*driver.Row, error] {
	seqs := make([]iter.Seq2[*driver.Row, error], len(p.parts))
	for i, part := range p.parts {
		span := driver.Span{Table: p.table, Key: part, Reverse: p.reverse, Limit: limit, Mask: p.mask}
		p.extent.bound(&span)
		seqs[i] = c.fresh(ctx, k, p, span)
	}
	if len(seqs) == 1 {
		return counted(seqs[0], k, p)
	}
	return counted(merged(seqs, p.reverse), k, p)
}

// fresh yields the rows of a span that have not expired, at most as many as its
// limit: it goes on where expired ones have used that up.
func (c *reader) fresh(ctx context.Context, k *call, p *plan, span driver.Span) iter.Seq2[*driver.Row, error] {
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
			err = pauseForExpiry(ctx, stuck)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// freshOnce is fresh for one range. If more is true, span is what is left: what lies
// behind the limit, or begins with a row that expired while the range was read.
func (c *reader) freshOnce(ctx context.Context, k *call, p *plan, span *driver.Span, left *int, yield func(*driver.Row, error) bool) (more bool, err error) {
	if err := c.bounds(p, span); err != nil {
		return false, err
	}
	asked, seen := c.store.nowMillis(), 0
	for row, err := range c.store.driver.Range(k.asks(ctx, 1), *span) {
		if err != nil {
			return false, err
		}
		if c.store.expiredSince(asked, row.Expires) {
			at, err := c.placeOf(p, row)
			extentOf(span).onFrom(string(at), span.Reverse).bound(span)
			span.Limit = fewRows // or as many as grow from that: where one expired others may
			return true, err
		}
		if row.Expires == 0 || row.Expires > asked {
			if *left--; !yield(row, nil) || *left == 0 {
				return false, nil
			}
		}
		if seen++; seen == span.Limit {
			at, err := c.placeOf(p, row)
			rest := extentOf(span).behind(string(at), span.Reverse)
			rest.bound(span)
			span.Limit = min(2*max(*left, seen), batchSize)
			return !rest.empty(), err
		}
	}
	return false, nil
}

// counted counts the rows of a run and sees that none has more fields than were
// asked for.
func counted(seq iter.Seq2[*driver.Row, error], k *call, p *plan) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		for row, err := range seq {
			k.rows++
			if err == nil {
				err = checkWidth(row, p.rowsOf(), p.mask)
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
