package conformance

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

// A pager reads ranges in pages. What it does to the spans of later pages, and to their rows, is
// the fault.
type pager struct {
	size int
	span func(b *broken, s *driver.Span)
	row  func(r *driver.Row)
}

func (p pager) fault(b *broken) {
	b.ranged = func(ctx context.Context, s driver.Span) iter.Seq2[*driver.Row, error] {
		if s.Table.Native || s.Table.Name[0] == '_' {
			return b.Store.Range(ctx, s)
		}
		return func(yield func(*driver.Row, error) bool) { p.pages(ctx, b, s, yield) }
	}
}

func (p pager) pages(ctx context.Context, b *broken, s driver.Span, yield func(*driver.Row, error) bool) {
	for seen := 0; ; {
		page := s
		if page.Limit = p.size; s.Limit > 0 {
			page.Limit = min(p.size, s.Limit-seen)
		}
		if seen > 0 && p.span != nil {
			p.span(b, &page)
		}
		rows, err := table.Rows(ctx, b.Store, page)
		for i := range rows {
			if seen >= p.size && p.row != nil {
				p.row(&rows[i])
			}
			if seen++; !yield(&rows[i], nil) {
				return
			}
		}
		if err == nil && len(rows) == p.size {
			err = b.Store.Get(ctx, s.Table, nil, nil, nil) // the context has ended, say
		}
		if err != nil {
			yield(nil, err)
		}
		if err != nil || len(rows) < page.Limit || s.Limit > 0 && seen >= s.Limit {
			return
		}
		p.goesOn(&s, rows[len(rows)-1].Key)
	}
}

// goesOn lets a span begin behind a row.
func (p pager) goesOn(s *driver.Span, last driver.Key) {
	if s.Reverse {
		s.To = last.Sort
	} else {
		s.From = last.Sort + "\x00"
	}
}

// skipsAfterGone goes on one row too late if the last row of a page was deleted meanwhile.
func skipsAfterGone(b *broken, s *driver.Span) {
	last, back := s.To, s.Reverse
	if !back {
		last = strings.TrimSuffix(s.From, "\x00")
	}
	rows := make([]driver.Row, 1)
	err := b.Store.Get(context.Background(), s.Table, []driver.Key{{Partition: s.Key.Partition, Sort: last}}, []int{}, rows)
	if err != nil || !rows[0].Rev.IsZero() {
		return
	}
	next := *s
	next.Limit = 1
	if skipped, err := table.Rows(context.Background(), b.Store, next); err == nil && len(skipped) == 1 {
		pager{}.goesOn(s, skipped[0].Key)
	}
}

// laterFaults are other ways to break later pages.
func laterFaults() map[string]fault {
	return map[string]fault{
		"knows no lower bound in later pages": pager{size: 500, span: func(_ *broken, s *driver.Span) {
			if s.Reverse {
				s.From = ""
			}
		}}.fault,
		"knows no mask in later pages":         pager{size: 500, span: func(_ *broken, s *driver.Span) { s.Mask = nil }}.fault,
		"has no expiry in later pages":         pager{size: 500, row: func(r *driver.Row) { r.Expires = 0 }}.fault,
		"has no Rev in later pages":            pager{size: 500, row: func(r *driver.Row) { r.Rev = driver.Token{} }}.fault,
		"has no undeclared field in them":      pager{size: 500, row: func(r *driver.Row) { r.Extra = nil }}.fault,
		"rounds a limit up to whole pages":     spanFault(func(s *driver.Span) { s.Limit = (s.Limit + 499) / 500 * 500 }),
		"has a page where the limit is larger": spanFault(func(s *driver.Span) { s.Limit = min(s.Limit, 1000) }),
		"counts thousands without bounds": func(b *broken) {
			b.count = func(ctx context.Context, s driver.Span) (int, error) {
				n, err := b.Store.Count(ctx, s)
				if n > 600 && err == nil && !s.Table.Native {
					s.From, s.To = "", ""
					return b.Store.Count(ctx, s)
				}
				return n, err
			}
		},
	}
}

// skipsAfterGoneMark leaves a row out of a walk that goes on after a row which was deleted
// meanwhile.
func skipsAfterGoneMark(b *broken) {
	var mu sync.Mutex
	last := map[string]driver.Key{}
	b.walk = func(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
		mu.Lock()
		key, known := last[t.Name+mark]
		mu.Unlock()
		skips := known && b.stored(&driver.Op{Table: t, Row: driver.Row{Key: key}}).Rev.IsZero()
		return func(yield func(driver.Chunk, error) bool) {
			for c, err := range b.Store.Walk(ctx, t, mark) {
				if skips && len(c.Rows) > 0 {
					c.Rows, skips = c.Rows[1:], false
				}
				if c.Mark != "" && len(c.Rows) > 0 {
					mu.Lock()
					last[t.Name+c.Mark] = c.Rows[len(c.Rows)-1].Key
					mu.Unlock()
				}
				if !yield(c, err) {
					return
				}
			}
		}
	}
}

// walksPastEmpty leaves rows out of walks whose order is the empty text.
func walksPastEmpty(b *broken) {
	b.chunk = func(_ *driver.Table, _ int, c *driver.Chunk) bool {
		var rows []driver.Row
		for _, r := range c.Rows {
			if r.Key.Sort != "#" {
				rows = append(rows, r)
			}
		}
		c.Rows = rows
		return true
	}
}

// forgetsDead takes dead rows for none where a Get has several keys.
func forgetsDead(b *broken) {
	b.got = func(_ *driver.Table, keys []driver.Key, _ []int, rows []driver.Row) {
		for i := range rows {
			if len(keys) > 1 && rows[i].Dead {
				rows[i].Reset()
			}
		}
	}
}

// dropsTwice drops tables, and some time later their rows, of which there may be new ones.
func dropsTwice(b *broken) {
	b.drop = func(ctx context.Context, tables []*driver.Table) error {
		err := b.Store.Drop(ctx, tables)
		for _, t := range tables {
			if twin := *t; err == nil && len(t.Partition) > 0 && !t.Native {
				afterAWhile(func() { b.empties(&twin) })
			}
		}
		return err
	}
}

// empties deletes the rows of a table, if there is one.
func (b *broken) empties(t *driver.Table) {
	ctx := context.Background()
	if b.Store.Attach(ctx, []*driver.Table{t}) != nil {
		return
	}
	for c, err := range b.Store.Walk(ctx, t, "") {
		if err != nil {
			return
		}
		for i := range c.Rows {
			op := driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: c.Rows[i].Key}}
			if _, err := b.Store.Commit(ctx, driver.NewToken(), []driver.Op{op}); err != nil {
				panic(fmt.Sprint("delete: ", err))
			}
		}
	}
}
