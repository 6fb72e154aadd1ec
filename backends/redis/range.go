package redis

import (
	"context"
	"iter"
	"slices"

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
		sc := scan{store: s, span: span, size: firstPage}
		for n := 0; !sc.done; {
			if err := sc.page(ctx, n); err != nil {
				yield(nil, err)
				return
			}
			for i := range sc.keys {
				row, err := sc.at(i)
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

// A scan is the rest of a span, and the page that was read last: rows of records, or
// what follows the keys of others in their set, which is taken apart one by one.
type scan struct {
	store *store
	span  driver.Span
	size  int // rows of the next page
	done  bool
	view  *view
	keys  []driver.Key
	rows  []driver.Row
	rest  []string
	row   driver.Row // that of at
}

// at returns a row of the page, which is valid until the next call.
func (sc *scan) at(i int) (*driver.Row, error) {
	if sc.view.Class == driver.Records {
		return &sc.rows[i], nil
	}
	row := &sc.row
	row.Reset()
	row.Key = sc.keys[i]
	return row, sc.view.readMember(sc.rest[i], sc.span.Mask, row)
}

// page reads the next page of a span of which n rows have been yielded.
func (sc *scan) page(ctx context.Context, n int) error {
	f := sc.store.frame
	if err := f.Enter(ctx); err != nil {
		return err
	}
	defer f.Leave()
	v, err := f.View(sc.span.Table, sc.span.Mask)
	if err != nil {
		return err
	}
	sc.view = v
	if v.Class == driver.Records && !v.ordered {
		return sc.onlyRow(ctx)
	}
	limit := sc.size
	if sc.span.Limit > 0 {
		limit = min(limit, sc.span.Limit-n)
	}
	bytes, err := sc.readPage(ctx, limit)
	if err != nil {
		return err
	}
	if bytes > pageBytes {
		sc.size = max(1, sc.size/2)
	} else {
		sc.size = min(mostRows, 2*sc.size)
	}
	return nil
}

// onlyRow reads the record of a partition that has one at most, whose Sort is "".
func (sc *scan) onlyRow(ctx context.Context) error {
	sc.done = true
	if sc.span.From != "" {
		return nil
	}
	sc.keys = append(sc.keys[:0], driver.Key{Partition: sc.span.Key.Partition})
	sc.rows = append(sc.rows[:0], driver.Row{})
	return sc.store.Get(ctx, sc.view, sc.keys, sc.span.Mask, sc.rows)
}

// readPage reads at most limit rows, and leaves the span after them.
func (sc *scan) readPage(ctx context.Context, limit int) (bytes int, err error) {
	v, partition := sc.view, sc.span.Key.Partition
	r, err := sc.store.conn.askKey(ctx, "range of "+v.Name, "zset", askPage(v.set(partition), &sc.span, limit)...)
	if err != nil {
		return 0, err
	}
	bytes = len(r.Rest)
	n := r.List()
	sc.done = n < limit
	if sc.keys = slices.Grow(sc.keys[:0], n); v.Class != driver.Records {
		sc.rest = slices.Grow(sc.rest[:0], n)
	}
	for range n {
		member, _ := r.Text()
		sort, rest, err := v.cutMember(member)
		if err != nil {
			return 0, err
		}
		sc.keys = append(sc.keys, driver.Key{Partition: partition, Sort: sort})
		if v.Class != driver.Records {
			sc.rest = append(sc.rest, rest)
		}
	}
	if n > 0 {
		sc.goOn()
	}
	if v.Class == driver.Records && n > 0 {
		bytes, err = sc.readRecords(ctx)
	}
	return bytes, err
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

// goOn takes the keys that were read out of the span.
func (sc *scan) goOn() {
	last := sc.keys[len(sc.keys)-1].Sort
	switch {
	case len(sc.view.Sort) == 0:
		sc.done = true
	case sc.span.Reverse:
		sc.span.To = last
	default:
		sc.span.From = driver.After(last)
	}
}

// readRecords reads the records of a page, in parts that are not too large.
func (sc *scan) readRecords(ctx context.Context) (bytes int, err error) {
	sc.rows = sc.fresh(len(sc.keys), sc.view.width(sc.span.Mask))
	if err := sc.store.Get(ctx, sc.view, sc.keys, sc.span.Mask, sc.rows); err != nil {
		return 0, err
	}
	for i := range sc.rows {
		bytes += weight(&sc.rows[i])
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

func (s *store) countOnly(ctx context.Context, v *view, span driver.Span) (int, error) {
	sc := scan{store: s, view: v, span: span}
	sc.span.Mask = []int{}
	if err := sc.onlyRow(ctx); err != nil {
		return 0, err
	}
	if len(sc.rows) == 1 && !sc.rows[0].Rev.IsZero() && !sc.rows[0].Dead {
		return 1, nil
	}
	return 0, nil
}
