package redis

import (
	"context"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// Ranges reads a page of each span by one pipeline, and the wanted records in them by another, until no span has more.
func (s *Store) Ranges(ctx context.Context, spans []driver.Span, yield func(i int, row *driver.Row) bool) error {
	return frame.Ranges(ctx, s.in.frame, spans, func(v *view) error {
		r := ranging{scan: scan{store: s.in, view: v, mask: spans[0].Mask}, spans: slices.Clone(spans), yield: yield}
		for i := range spans {
			r.open = append(r.open, i)
		}
		for len(r.open) > 0 {
			if err := r.page(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// A ranging is the reading of several spans, of which scan has a page of each.
type ranging struct {
	scan
	spans []driver.Span // what is left of each
	open  []int         // those of which something is left
	of    []int         // of which span a row is
	yield func(i int, row *driver.Row) bool
}

// page reads and yields the next page of the open spans.
func (r *ranging) page(ctx context.Context) (err error) {
	r.keys, r.rest, r.of = r.keys[:0], r.rest[:0], r.of[:0]
	if r.view.Class == driver.Records && !r.view.ordered {
		r.onlyKeys()
	} else if err := r.members(ctx); err != nil {
		return err
	}
	if r.view.Class != driver.Records {
		return r.pass(0, len(r.keys))
	}
	all := r.keys
	for from := 0; from < len(all) && err == nil && r.yield != nil; from += frame.MostRows {
		r.keys = all[from:min(from+frame.MostRows, len(all))]
		r.rows = r.fresh(len(r.keys), r.view.width(r.mask))
		if err = r.store.Get(ctx, r.view, r.keys, r.mask, r.rows); err == nil {
			err = r.pass(from, len(r.keys))
		}
	}
	r.keys = all
	return err
}

// onlyKeys adds the key of the record of each span, of which a partition has one at most, whose Sort is "".
func (r *ranging) onlyKeys() {
	for _, i := range r.open {
		if span := &r.spans[i]; span.From == "" && span.Wants("") {
			r.keys, r.of = append(r.keys, driver.Key{Partition: span.Key.Partition}), append(r.of, i)
		}
	}
	r.open = nil
}

// members adds the keys of a page of each open span, and leaves those open that may have more.
func (r *ranging) members(ctx context.Context) error {
	v, open := r.view, r.open
	cmds, limits := make([]*goredis.RawCmd, len(open)), make([]int, len(open))
	for j, i := range open {
		span := &r.spans[i]
		if limits[j] = firstPage; span.Limit > 0 {
			limits[j] = min(span.Limit, firstPage)
		}
		cmds[j] = goredis.NewRawCmd(ctx, askPage(v.set(span.Key.Partition), span, limits[j])...)
	}
	r.open = nil
	return r.store.conn.askEach(ctx, "ranges of "+v.Name, "zset", cmds, func(j int, reply *wire.Reply) error {
		span, n := &r.spans[open[j]], reply.List()
		var last string
		not := 0 // that are not wanted
		for range n {
			member, _ := reply.Text()
			sort, rest, err := v.cutMember(member)
			if err != nil {
				return err
			}
			if last = sort; !span.Wants(sort) {
				not++
				continue
			}
			r.keys, r.rest, r.of = append(r.keys, driver.Key{Partition: span.Key.Partition, Sort: sort}), append(r.rest, rest), append(r.of, open[j])
		}
		if n < limits[j] || span.Limit > 0 && span.Limit <= not {
			return nil
		}
		if span.Limit > 0 {
			span.Limit -= not
		}
		if span.Reverse {
			span.To = last
		} else {
			span.From = driver.After(last)
		}
		r.open = append(r.open, open[j])
		return nil
	})
}

// pass yields n rows of the scan, of which the first is the from-th of the page. It closes spans that have reached their
// limit, and all if no more is wanted.
func (r *ranging) pass(from, n int) error {
	for at := range n {
		i := r.of[from+at]
		row, err := r.At(at)
		if err != nil {
			return err
		}
		if row == nil {
			continue
		}
		if !r.yield(i, row) {
			r.open, r.yield = nil, nil
			return nil
		}
		if span := &r.spans[i]; span.Limit == 1 {
			r.open = slices.DeleteFunc(r.open, func(o int) bool { return o == i })
		} else if span.Limit > 0 {
			span.Limit--
		}
	}
	return nil
}
