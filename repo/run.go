package repo

import (
	"context"
	"iter"
	"strings"

	"github.com/polystore/polystore/repo/driver"
)

// rows yields the rows of a run, those of several buckets merged in order. Limit
// bounds the rows of each partition; 0 leaves that to the loop.
func (c *collection) rows(ctx context.Context, k *call, p *plan, limit int) iter.Seq2[*driver.Row, error] {
	seqs := make([]iter.Seq2[*driver.Row, error], len(p.parts))
	if c.expires || c.records.Ring > 0 {
		limit = 0 // some of the rows may be of dead or expired records
	}
	for i, part := range p.parts {
		seqs[i] = c.store.driver.Range(ctx, driver.Span{Table: p.table, Key: part, From: p.from, To: p.to,
			Reverse: p.reverse, Limit: limit, Mask: p.mask})
	}
	k.depth += len(seqs)
	k.requests += len(seqs)
	if len(seqs) == 1 {
		return counted(seqs[0], k)
	}
	return counted(merged(seqs, p.reverse), k)
}

func counted(seq iter.Seq2[*driver.Row, error], k *call) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		for row, err := range seq {
			k.rows++
			if !yield(row, err) {
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
