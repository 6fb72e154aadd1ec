package frame

import (
	"sync"

	"github.com/polystore/polystore/repo/driver"
)

// MostRows is how many rows a page of a range has at most.
const MostRows = 512

// A page has hardly more bytes than pageBytes.
const (
	firstRows = 64 // that memory is made for, if so many were asked for, and kept
	pageBytes = 1 << 20
)

// kept are pagers of ranges that have ended, with the rows of each but without their strings.
var kept = sync.Pool{New: func() any { return new(Pager) }}

// A Pager is the rest of a span, and the page of it that was read last. It ends with its range.
type Pager struct {
	Span driver.Span
	Size int // rows of the next page
	Done bool
	Rows []driver.Row
	Bad  error // of the row after those

	parts   parts
	yielded int
}

// parts are the rows of a page that is taken apart as they are asked for.
type parts interface {
	Len() int
	At(i int) (*driver.Row, error)
}

// pages yields the rows of a span, page by page: read fills the Rows of a Pager with the
// next page, at most Limit of them. The first page is of first rows, that of a short list.
func pages(span driver.Span, first int, read func(p *Pager) error, yield func(*driver.Row, error) bool) {
	p, used := kept.Get().(*Pager), 0
	p.Span, p.Size = span, first
	defer func() { p.keep(used) }()
	for !p.Done {
		p.Rows, p.parts = p.Rows[:0], nil
		err := read(p)
		used = max(used, len(p.Rows)+1) // one more was read into
		if err != nil {
			yield(nil, err)
			return
		}
		if !p.yield(yield) {
			return
		}
		if p.Bad != nil {
			yield(nil, p.Bad)
			return
		}
	}
}

// yield yields the rows of the page, and reports whether the loop goes on.
func (p *Pager) yield(yield func(*driver.Row, error) bool) bool {
	n := len(p.Rows)
	if p.parts != nil {
		n = p.parts.Len()
	}
	for i := range n {
		row, err := p.at(i)
		if err != nil {
			yield(nil, err)
			return false
		}
		if row == nil {
			continue
		}
		p.yielded++
		if !yield(row, nil) || p.yielded == p.Span.Limit {
			return false
		}
	}
	return true
}

func (p *Pager) at(i int) (*driver.Row, error) {
	if p.parts != nil {
		return p.parts.At(i)
	}
	return &p.Rows[i], nil
}

// TakeApart says that the rows of the page are those of rows, which has so many, and each of which is asked for when its
// turn comes: it is valid until the next one, and nil if it is gone. The page's own Rows stay empty.
func (p *Pager) TakeApart(rows interface {
	Len() int
	At(i int) (*driver.Row, error)
}) {
	p.parts = rows
}

// keep gives the pager back with the rows that the range has used, unless they are many.
func (p *Pager) keep(used int) {
	if cap(p.Rows) > firstRows+1 {
		return
	}
	rows := p.Rows[:min(used, cap(p.Rows))]
	for i := range rows {
		row := &rows[i]
		clear(row.Fields[:cap(row.Fields)])
		clear(row.Extra[:cap(row.Extra)])
		row.Reset()
	}
	*p = Pager{Rows: rows[:0]}
	kept.Put(p)
}

// Limit returns how many rows the next page has at most.
func (p *Pager) Limit() int {
	if p.Span.Limit > 0 {
		return min(p.Size, p.Span.Limit-p.yielded)
	}
	return p.Size
}

// Read adds to the page the rows that next reads, each into one that it is given, until
// it says that there is none or that it is bad: that one is left out.
func (p *Pager) Read(next func(row *driver.Row) (more bool, bad error)) {
	if room := min(p.Limit(), firstRows) + 1; p.Span.Limit > 0 && cap(p.Rows) < room { // one more to read into at the end
		p.Rows = append(make([]driver.Row, 0, room), p.Rows...)
	}
	for {
		n := len(p.Rows)
		if n == cap(p.Rows) {
			p.Rows = append(p.Rows, driver.Row{})
		}
		p.Rows = p.Rows[:n+1]
		p.Rows[n].Reset()
		more, bad := next(&p.Rows[n])
		if p.Bad = bad; !more || bad != nil {
			p.Rows = p.Rows[:n]
			return
		}
	}
}

// Resize says how many bytes the page had: pages of large rows are shorter.
func (p *Pager) Resize(bytes int) {
	if bytes > pageBytes {
		p.Size = max(1, p.Size*pageBytes/bytes)
	} else {
		p.Size = min(MostRows, 2*p.Size)
	}
}

// GoOn takes the rows of the page out of the span, which ends with it if the table has
// no sort columns, and says how many bytes they were: pages of large rows are shorter.
func (p *Pager) GoOn(sort []driver.Column, bytes int) {
	if len(p.Rows) == 0 {
		p.Resize(bytes)
		return
	}
	p.GoOnAfter(p.Rows[len(p.Rows)-1].Key.Sort, sort, bytes)
}

// GoOnAfter is GoOn for a page whose last row has a Sort.
func (p *Pager) GoOnAfter(last string, sort []driver.Column, bytes int) {
	p.Resize(bytes)
	switch {
	case len(sort) == 0:
		p.Done = true
	case p.Span.Reverse:
		p.Span.To = last
	default:
		p.Span.From = driver.After(last)
	}
}
