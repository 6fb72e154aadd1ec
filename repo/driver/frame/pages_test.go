package frame

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"testing"

	"github.com/polystore/polystore/repo/driver"
)

// A shelf is a store of one partition, that counts what is read.
type shelf struct {
	sorts []string
	bytes int // of a row
	bad   int // the place of a row that cannot be read, or -1
	pages []int
}

func (s *shelf) page(p *Pager) error {
	limit := p.Limit()
	var in []int
	for i, sort := range s.sorts {
		if sort >= p.Span.From && (p.Span.To == "" || sort < p.Span.To) {
			in = append(in, i)
		}
	}
	if p.Span.Reverse {
		slices.Reverse(in)
	}
	in = in[:min(limit, len(in))]
	s.pages = append(s.pages, len(in))
	n := len(in)
	p.Read(func(row *driver.Row) (bool, error) {
		if len(in) == 0 {
			return false, nil
		}
		row.Key.Sort = s.sorts[in[0]]
		if in[0] == s.bad {
			return true, io.ErrUnexpectedEOF
		}
		in = in[1:]
		return true, nil
	})
	p.Done = n < limit
	p.GoOn([]driver.Column{{Name: "id"}}, n*s.bytes)
	return nil
}

func newShelf(n, bytes int) *shelf {
	s := &shelf{bytes: bytes, bad: -1}
	for i := range n {
		s.sorts = append(s.sorts, fmt.Sprintf("%04d#", i))
	}
	return s
}

func collect(s *shelf, span driver.Span) (sorts []string, err error) {
	for row, err := range rowsOf(span, 10, s.page) {
		if err != nil {
			return sorts, err
		}
		sorts = append(sorts, row.Key.Sort)
	}
	return sorts, nil
}

// Pages yield each row of a span once, in order, by pages that grow as long as their
// rows are small.
func TestPages(t *testing.T) {
	for _, tt := range []struct {
		rows, bytes int
		span        driver.Span
		pages       []int
	}{
		{35, 1, driver.Span{}, []int{10, 20, 5}},
		{1500, 1, driver.Span{}, []int{10, 20, 40, 80, 160, 320, 512, 358}},
		{30, 1, driver.Span{}, []int{10, 20, 0}},
		{35, 1, driver.Span{Reverse: true}, []int{10, 20, 5}},
		{35, 1, driver.Span{Limit: 12}, []int{10, 2}},
		{35, 1, driver.Span{Limit: 3}, []int{3}},
		{35, 1, driver.Span{From: "0010#", To: "0015#"}, []int{5}},
		{18, 1 << 18, driver.Span{}, []int{10, 4, 4}},
		{3, 4 << 20, driver.Span{}, []int{3}},
	} {
		s := newShelf(tt.rows, tt.bytes)
		want := slices.Clone(s.sorts)
		if tt.span.From != "" {
			want = want[10:15]
		}
		if tt.span.Reverse {
			slices.Reverse(want)
		}
		if tt.span.Limit > 0 {
			want = want[:tt.span.Limit]
		}
		got, err := collect(s, tt.span)
		if !slices.Equal(got, want) || err != nil || !slices.Equal(s.pages, tt.pages) {
			t.Errorf("%d rows of %d bytes, %+v: %d rows, %v, by pages of %v; want %d by %v", tt.rows, tt.bytes, tt.span, len(got), err, s.pages, len(want), tt.pages)
		}
	}
}

// Rows before one that is bad are yielded, and a page that cannot be read is an error
// alone. A loop that ends early reads no more.
func TestPagesEnd(t *testing.T) {
	s := newShelf(35, 1)
	s.bad = 17
	if got, err := collect(s, driver.Span{}); len(got) != 17 || err != io.ErrUnexpectedEOF {
		t.Errorf("%d rows, %v before a bad one, want 17", len(got), err)
	}
	reads := 0
	for row, err := range rowsOf(driver.Span{}, 10, func(*Pager) error { reads++; return io.EOF }) {
		if row != nil || err != io.EOF {
			t.Errorf("%v, %v of a page that cannot be read", row, err)
		}
	}
	s = newShelf(35, 1)
	for range rowsOf(driver.Span{}, 10, s.page) {
		break
	}
	if reads != 1 || len(s.pages) != 1 {
		t.Errorf("%d reads after an error, %d pages for one row", reads, len(s.pages))
	}
}

// rowsOf yields the rows of pages.
func rowsOf(span driver.Span, first int, read func(p *Pager) error) iter.Seq2[*driver.Row, error] {
	return func(yield func(*driver.Row, error) bool) { pages(span, first, read, yield) }
}

// made are n rows that at returns.
type made struct {
	n  int
	at func(i int) (*driver.Row, error)
}

func (p made) Len() int                      { return p.n }
func (p made) At(i int) (*driver.Row, error) { return p.at(i) }

// The rows of a page that is taken apart come one by one, without those that are gone, up to the limit and to the first that
// is bad.
func TestPagesTakenApart(t *testing.T) {
	one := []driver.Column{{Name: "id"}}
	for what, tt := range map[string]struct {
		limit, bad int
		want       string
	}{"all": {0, -1, "02456"}, "a limit": {3, -1, "024"}, "a bad one": {0, 5, "024"}} {
		var row driver.Row
		got, last := "", error(nil)
		for row, err := range rowsOf(driver.Span{Limit: tt.limit}, 4, func(p *Pager) error {
			from := len(p.Span.From)
			n := min(p.Limit(), 7-from)
			p.Done = from+n == 7
			p.TakeApart(made{n, func(i int) (*driver.Row, error) {
				switch at := from + i; {
				case at == 1 || at == 3:
					return nil, nil
				case at == tt.bad:
					return nil, io.ErrUnexpectedEOF
				default:
					row.Key.Sort = fmt.Sprint(at)
				}
				return &row, nil
			}})
			p.GoOnAfter("xxxxxxx"[:from+n], one, 0)
			p.Span.From = p.Span.From[:from+n]
			return nil
		}) {
			if last = err; err == nil {
				got += row.Key.Sort
			}
		}
		if got != tt.want || (last != nil) != (tt.bad >= 0) {
			t.Errorf("%s: the rows are %s, %v, want %s", what, got, last, tt.want)
		}
	}
}

// A page of a table without sort columns is the last.
func TestPagesWithoutOrder(t *testing.T) {
	n := 0
	for range rowsOf(driver.Span{}, 1, func(p *Pager) error {
		p.Rows = append(p.Rows, driver.Row{})
		p.GoOn(nil, 0)
		return nil
	}) {
		n++
	}
	if n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

func TestWalk(t *testing.T) {
	chunks := map[string]driver.Chunk{"": {Rows: make([]driver.Row, 2), Mark: "a"}, "a": {Mark: "b"}, "b": {Rows: make([]driver.Row, 3), Mark: "c"}, "c": {Rows: make([]driver.Row, 1)}}
	var marks []string
	read := func(from string) (driver.Chunk, error) {
		marks = append(marks, from)
		return chunks[from], nil
	}
	rows := 0
	for chunk, err := range walk("", read) {
		if rows += len(chunk.Rows); err != nil || len(chunk.Rows) == 0 {
			t.Errorf("a chunk of %d rows, %v", len(chunk.Rows), err)
		}
	}
	for chunk := range walk("b", read) {
		rows += len(chunk.Rows)
		break
	}
	if want := []string{"", "a", "b", "c", "b"}; rows != 9 || !slices.Equal(marks, want) {
		t.Errorf("%d rows by %q, want 9 by %q", rows, marks, want)
	}
	errs := 0
	for _, err := range walk("", func(string) (driver.Chunk, error) { return driver.Chunk{}, io.EOF }) {
		if errs++; err != io.EOF {
			t.Errorf("%v, want EOF", err)
		}
	}
	if errs != 1 {
		t.Errorf("%d errors", errs)
	}
}

func TestMarks(t *testing.T) {
	for _, place := range []string{"a", "a/b", "\x00\xff"} {
		if got, ok := ParseMark("t", Mark("t", place)); got != place || !ok {
			t.Errorf("%q reads back as %q, %v", place, got, ok)
		}
	}
	if place, ok := ParseMark("t", ""); place != "" || !ok {
		t.Error("no mark is a bad one")
	}
	for _, mark := range []string{Mark("u", "a"), Mark("t2", "a"), "t/a", "*", Mark("t", "a") + "A"} {
		if place, ok := ParseMark("t", mark); ok {
			t.Errorf("the mark %q is taken, at %q", mark, place)
		}
	}
}

// A range inside another has rows of its own, and one that comes after both gets rows that
// hold nothing of them.
func TestPagesKeepRowsApart(t *testing.T) {
	fill := func(name string) func(p *Pager) error {
		return func(p *Pager) error {
			n := 0
			p.Read(func(row *driver.Row) (bool, error) {
				fields, extra := row.Fields[:cap(row.Fields)], row.Extra[:cap(row.Extra)]
				if len(row.Fields) > 0 || slices.ContainsFunc(fields, func(v driver.Value) bool { return !v.IsNone() }) ||
					slices.ContainsFunc(extra, func(p driver.Pair) bool { return p.Name != "" || !p.Value.IsNone() }) || row.Key.Sort != "" {
					t.Errorf("a row to read into has %+v, and behind it %v and %v", row, fields, extra)
				}
				row.Key.Sort = name
				row.Fields = append(row.Fields, driver.StringValue(name))
				row.Extra = append(row.Extra, driver.Pair{Name: name, Value: driver.StringValue(name)})
				n++
				return n <= 3, nil
			})
			p.Done = true
			return nil
		}
	}
	for range 100 {
		for outer := range rowsOf(driver.Span{Limit: 3}, 10, fill("outer")) {
			for inner := range rowsOf(driver.Span{Limit: 3}, 10, fill("inner")) {
				if inner.Fields[0].Str() != "inner" || outer.Fields[0].Str() != "outer" || outer.Extra[0].Name != "outer" {
					t.Fatalf("the outer row is %+v, the inner %+v", outer, inner)
				}
			}
		}
	}
}
