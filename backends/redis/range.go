package redis

import (
	"context"
	"iter"
	"slices"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

// firstPage is how many rows a first page has: that of a short list.
const firstPage = 128

// Range yields the rows of a span, page by page.
func (s *store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		sc := scan{store: s, mask: span.Mask}
		s.frame.Pages(ctx, span, sc.page, yield)
	}
}

// A scan is the page of a range that was read last: rows of records, or
// what follows the keys of others in their set, which is taken apart one by one.
type scan struct {
	store *store
	view  *view
	mask  []int
	keys  []driver.Key
	rows  []driver.Row
	rest  []string
	row   driver.Row // that of At
}

// Len returns how many keys the page has.
func (sc *scan) Len() int { return len(sc.keys) }

// At returns a row of the page, which is valid until the next call, nil for one that went after its key was read.
func (sc *scan) At(i int) (*driver.Row, error) {
	if sc.view.Class != driver.Records {
		row := &sc.row
		row.Reset()
		row.Key = sc.keys[i]
		return row, sc.view.readMember(sc.rest[i], sc.mask, row)
	}
	if row := &sc.rows[i]; !row.Rev.IsZero() && !row.Dead {
		return row, nil
	}
	return nil, nil
}

// page reads the next page of a span, and leaves in p the span after it.
func (sc *scan) page(ctx context.Context, v *view, p *frame.Pager) (err error) {
	sc.view = v
	if v.Class == driver.Records && !v.ordered {
		p.Done = true
		err = sc.onlyRow(ctx, &p.Span)
	} else {
		err = sc.readPage(ctx, p)
	}
	p.TakeApart(sc)
	return err
}

// onlyRow reads the record of a partition that has one at most, whose Sort is "".
func (sc *scan) onlyRow(ctx context.Context, span *driver.Span) error {
	if sc.keys = sc.keys[:0]; span.From != "" {
		return nil
	}
	sc.keys = append(sc.keys, driver.Key{Partition: span.Key.Partition})
	sc.rows = append(sc.rows[:0], driver.Row{})
	return sc.store.Get(ctx, sc.view, sc.keys, sc.mask, sc.rows)
}

// readPage reads the members of a page and, of records, these.
func (sc *scan) readPage(ctx context.Context, p *frame.Pager) error {
	v, partition, limit := sc.view, p.Span.Key.Partition, p.Limit()
	r, err := sc.store.conn.askKey(ctx, "range of "+v.Name, "zset", askPage(v.set(partition), &p.Span, limit)...)
	if err != nil {
		return err
	}
	bytes := len(r.Rest)
	n := r.List()
	p.Done = n < limit
	if sc.keys = slices.Grow(sc.keys[:0], n); v.Class != driver.Records {
		sc.rest = slices.Grow(sc.rest[:0], n)
	}
	for range n {
		member, _ := r.Text()
		sort, rest, err := v.cutMember(member)
		if err != nil {
			return err
		}
		sc.keys = append(sc.keys, driver.Key{Partition: partition, Sort: sort})
		if v.Class != driver.Records {
			sc.rest = append(sc.rest, rest)
		}
	}
	if n == 0 {
		return nil
	}
	if v.Class == driver.Records {
		sc.rows, bytes = sc.fresh(n, v.width(sc.mask)), 0
		if err := sc.store.Get(ctx, v, sc.keys, sc.mask, sc.rows); err != nil {
			return err
		}
		for i := range sc.rows {
			bytes += weight(&sc.rows[i])
		}
	}
	p.GoOnAfter(sc.keys[n-1].Sort, v.Sort, bytes)
	return nil
}

// fresh returns n rows to read into, with the slices of earlier ones. New ones have
// room for width fields each, of one piece.
func (sc *scan) fresh(n, width int) []driver.Row {
	had := len(sc.rows)
	if had < n {
		sc.rows = append(sc.rows, make([]driver.Row, n-had)...)
		fields := make([]driver.Value, (n-had)*width)
		for i := had; i < n; i++ {
			sc.rows[i].Fields, fields = fields[:0:width], fields[width:]
		}
	}
	rows := sc.rows[:n]
	for i := range rows {
		rows[i].Reset()
	}
	return rows
}

// weight returns about how many bytes the texts of a row have.
func weight(row *driver.Row) int {
	n := 64
	for _, f := range row.Fields {
		n += len(f.Str()) + 16*len(f.List())
	}
	for _, p := range row.Extra {
		n += len(p.Value.Str()) + 16*len(p.Value.List())
	}
	return n
}

// askPage returns the command that reads the members of a span.
func askPage(set string, span *driver.Span, limit int) []any {
	from, to := "["+span.From, "("+bound(span.To)
	if span.Reverse {
		return []any{"zrange", set, to, from, "bylex", "rev", "limit", "0", limit}
	}
	return []any{"zrange", set, from, to, "bylex", "limit", "0", limit}
}

// count asks for the ranks of both ends of a span.
func (s *store) count(ctx context.Context, v *view, span driver.Span) (int, error) {
	if v.Class == driver.Records && !v.ordered {
		sc := scan{store: s, view: v, mask: []int{}}
		if err := sc.onlyRow(ctx, &span); err != nil || len(sc.keys) == 0 {
			return 0, err
		}
		if row, err := sc.At(0); row == nil || err != nil {
			return 0, err
		}
		return 1, nil
	}
	r, err := s.conn.askKey(ctx, "count of "+v.Name, "zset", "zlexcount", v.set(span.Key.Partition), "["+span.From, "("+bound(span.To))
	if err != nil {
		return 0, err
	}
	n := int(r.Number())
	if span.Limit > 0 {
		n = min(n, span.Limit)
	}
	return n, nil
}
