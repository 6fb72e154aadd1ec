package redis

import (
	"context"
	"iter"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/polystore/polystore/backends/redis/internal/wire"
	"github.com/polystore/polystore/repo/driver"
)

// A page of a range has at most so many rows, and hardly more bytes. A first page
// is that of a short list.
const (
	firstPage = 128
	mostRows  = 512
	pageBytes = 1 << 20
)

// Range yields the rows of a span, page by page.
func (s *store) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) {
		p := pager{span: span, size: firstPage}
		for n := 0; !p.done; {
			if err := s.page(ctx, &p, n); err != nil {
				yield(nil, err)
				return
			}
			for i := range p.keys {
				row, err := p.at(i)
				if err != nil {
					yield(nil, err)
					return
				}
				if row.Rev.IsZero() || row.Dead {
					continue // it went after its key was read
				}
				n++
				if !yield(row, nil) || n == span.Limit {
					return
				}
			}
		}
	}
}

// A pager is the rest of a span, and the page that was read last: rows of records, or
// what follows the keys of others in their set, which is taken apart one by one.
type pager struct {
	span driver.Span
	size int // rows of the next page
	done bool
	view *view
	keys []driver.Key
	rows []driver.Row
	rest []string
	row  driver.Row // that of at
}

// at returns a row of the page, which is valid until the next call.
func (p *pager) at(i int) (*driver.Row, error) {
	if p.view.Class == driver.Records {
		return &p.rows[i], nil
	}
	row := &p.row
	row.Reset()
	row.Key = p.keys[i]
	return row, p.view.readMember(p.rest[i], p.span.Mask, row)
}

// page reads the next page of a span of which n rows have been yielded.
func (s *store) page(ctx context.Context, p *pager, n int) error {
	if err := s.frame.Enter(ctx); err != nil {
		return err
	}
	defer s.frame.Leave()
	v, err := s.frame.View(p.span.Table, p.span.Mask)
	if err != nil {
		return err
	}
	p.view = v
	if v.Class == driver.Records && !v.ordered {
		return s.onlyRow(ctx, v, p)
	}
	limit := p.size
	if p.span.Limit > 0 {
		limit = min(limit, p.span.Limit-n)
	}
	bytes, err := s.readPage(ctx, v, p, limit)
	if err != nil {
		return err
	}
	if bytes > pageBytes {
		p.size = max(1, p.size/2)
	} else {
		p.size = min(mostRows, 2*p.size)
	}
	return nil
}

// onlyRow reads the record of a partition that has one at most, whose Sort is "".
func (s *store) onlyRow(ctx context.Context, v *view, p *pager) error {
	p.done = true
	if p.span.From != "" {
		return nil
	}
	p.keys = append(p.keys[:0], driver.Key{Partition: p.span.Key.Partition})
	p.rows = append(p.rows[:0], driver.Row{})
	return s.Get(ctx, v, p.keys, p.span.Mask, p.rows)
}

// readPage reads at most limit rows, and leaves in p the span after them.
func (s *store) readPage(ctx context.Context, v *view, p *pager, limit int) (bytes int, err error) {
	doing, set := "range of "+v.Name, v.set(p.span.Key.Partition)
	cmd := goredis.NewRawCmd(ctx, askPage(set, &p.span, limit)...)
	if err := s.read(ctx, cmd); err != nil {
		return 0, s.failed(ctx, doing, err)
	}
	r := wire.ReplyOf(cmd)
	if err := r.Refused(); err != nil {
		return 0, s.refusedKeys(ctx, doing, err, []string{set}, []string{"zset"})
	}
	bytes = len(r.Rest)
	n := r.List()
	p.done = n < limit
	if p.keys = slices.Grow(p.keys[:0], n); v.Class != driver.Records {
		p.rest = slices.Grow(p.rest[:0], n)
	}
	for range n {
		member, _ := r.Text()
		sort, rest, err := v.cutMember(member)
		if err != nil {
			return 0, err
		}
		p.keys = append(p.keys, driver.Key{Partition: p.span.Key.Partition, Sort: sort})
		if v.Class != driver.Records {
			p.rest = append(p.rest, rest)
		}
	}
	if n > 0 {
		p.goOn(v)
	}
	if v.Class == driver.Records && n > 0 {
		bytes, err = s.readRecords(ctx, v, p)
	}
	return bytes, err
}

// fresh returns n rows to read into, with the slices of earlier ones. New ones have
// room for width fields each, of one piece.
func (p *pager) fresh(n, width int) []driver.Row {
	had := len(p.rows)
	if had < n {
		p.rows = append(p.rows, make([]driver.Row, n-had)...)
		fields := make([]driver.Value, (n-had)*width)
		for i := had; i < n; i++ {
			p.rows[i].Fields, fields = fields[:0:width], fields[width:]
		}
	}
	rows := p.rows[:n]
	for i := range rows {
		rows[i].Reset()
	}
	return rows
}

// goOn takes the keys that were read out of the span.
func (p *pager) goOn(v *view) {
	last := p.keys[len(p.keys)-1].Sort
	switch {
	case len(v.Sort) == 0:
		p.done = true
	case p.span.Reverse:
		p.span.To = last
	default:
		p.span.From = driver.After(last)
	}
}

// readRecords reads the records of a page, in parts that are not too large.
func (s *store) readRecords(ctx context.Context, v *view, p *pager) (bytes int, err error) {
	width := len(v.Fields)
	if p.span.Mask != nil {
		width = len(p.span.Mask)
	}
	p.rows = p.fresh(len(p.keys), width)
	if err := s.Get(ctx, v, p.keys, p.span.Mask, p.rows); err != nil {
		return 0, err
	}
	for i := range p.rows {
		bytes += weight(&p.rows[i])
	}
	return bytes, nil
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
		return s.countOnly(ctx, v, span)
	}
	set := v.set(span.Key.Partition)
	cmd := goredis.NewRawCmd(ctx, "zlexcount", set, "["+span.From, "("+bound(span.To))
	if err := s.read(ctx, cmd); err != nil {
		return 0, s.failed(ctx, "count of "+v.Name, err)
	}
	r := wire.ReplyOf(cmd)
	if err := r.Refused(); err != nil {
		return 0, s.refusedKeys(ctx, "count of "+v.Name, err, []string{set}, []string{"zset"})
	}
	n := int(r.Number())
	if span.Limit > 0 {
		n = min(n, span.Limit)
	}
	return n, nil
}

func (s *store) countOnly(ctx context.Context, v *view, span driver.Span) (int, error) {
	p := pager{span: span}
	p.span.Mask = []int{}
	if err := s.onlyRow(ctx, v, &p); err != nil {
		return 0, err
	}
	if len(p.rows) == 1 && !p.rows[0].Rev.IsZero() && !p.rows[0].Dead {
		return 1, nil
	}
	return 0, nil
}
