package plan

import (
	"github.com/polystore/polystore/repo/driver"

	"github.com/polystore/polystore/repo/internal/layout"
	"github.com/polystore/polystore/repo/internal/limit"
)

// A forecast is what is known beforehand of the requests that a query makes.
type forecast struct {
	driver.Paging
	parts   int // that are merged
	ways    int // of which one is read; the first pages of all are
	limit   int
	records bool // the run is one of records
	single  bool // a partition of it has one row at most
	byKey   bool // the rows name records, which are read by their keys
	near    bool // these lie in one partition
	ranked  bool // the rows of all parts are counted before records are read
}

// Cost returns how many round trips, one after the other, and how many requests a query takes
// that finds n records: see repo.Plan.
func (p *Explanation) Cost(n int) (depth, requests int) {
	s, plans := sum{}, p.more+1
	for i := range plans {
		s.add(p.forecast.plan((n + i) / plans))
	}
	return s.depth, s.requests
}

// plan returns what a plan takes that finds n records.
func (f *forecast) plan(n int) (s sum) {
	if f.parts == 0 {
		return s
	}
	if f.ranked {
		s = f.rows(n, 0)
		s.add(f.gets(f.within(n), f.near))
		return s
	}
	n = f.within(n)
	if !f.byKey {
		s = f.rows(n, f.limit)
		return sum{s.depth, s.requests * max(f.ways, 1)}
	}
	for left, rest := f.limit, n; ; {
		size := limit.BatchSize
		if f.limit > 0 {
			size = min(size, left)
		}
		rows := min(size, rest)
		of := f.rows(rows, size)
		of.requests *= max(f.ways, 1)
		s.add(of)
		s.add(f.gets(rows, f.near))
		rest, left = rest-rows, left-rows
		if rows < size || f.limit > 0 && left == 0 || f.single {
			return s
		}
	}
}

// within returns how many of n records are wanted.
func (f *forecast) within(n int) int {
	if f.limit > 0 {
		return min(n, f.limit)
	}
	return n
}

// A sum is what requests take that are made one after the other.
type sum struct{ depth, requests int }

func (s *sum) add(o sum) { s.depth, s.requests = s.depth+o.depth, s.requests+o.requests }

// rows returns what the reading of n rows takes that lie evenly in all parts.
func (f *forecast) rows(n, limit int) (s sum) {
	if f.parts <= 1 && !f.ranked {
		return f.run(n, limit)
	}
	left := make([]int, f.parts) // rows that are there
	for i := range left {
		left[i] = (n + f.parts - 1 - i) / f.parts
	}
	page := FirstPage(limit, f.parts)
	if f.ranked {
		page = RankedPage
	}
	for got := 0; len(left) > 0; page = NextPage(page) {
		round, more := sum{}, left[:0]
		for _, n := range left {
			rows := min(page, n)
			one := f.run(rows, page)
			round.depth, round.requests, got = max(round.depth, one.depth), round.requests+one.requests, got+rows
			if rows == page && !f.single {
				more = append(more, n-rows)
			}
		}
		s.add(round)
		if left = more; limit > 0 && got >= limit {
			break
		}
	}
	return s
}

// FirstPage returns how many rows are read first of each of several parts of a run, of which some rows are wanted; 0 is
// all.
func FirstPage(most, parts int) int {
	if most == 0 {
		return limit.FewRows
	}
	return min(most, max(limit.FewRows, 2*most/parts))
}

// RankedPage is how many rows are read first of each part where all of them are counted.
const RankedPage = limit.BatchSize

// NextPage returns how many rows are read after a page.
func NextPage(page int) int { return min(2*page, limit.BatchSize) }

// run returns what the run of a bucket takes that has n rows, page by page.
func (f *forecast) run(n, limit int) (s sum) {
	if f.single && f.records {
		return sum{1, 1}
	}
	for size, got := f.First, 0; ; size = min(f.Most, 2*size) {
		ask := size
		if limit > 0 {
			ask = min(ask, limit-got)
		}
		rows := n - got
		if size > 0 {
			rows = min(ask, rows)
		}
		s.add(sum{1, 1})
		if f.records && f.KeysFirst {
			s.add(f.gets(rows, true))
		}
		if got += rows; size == 0 || f.single || rows < ask || got == limit {
			return s
		}
	}
}

// gets returns what the reading of n rows by key takes.
func (f *forecast) gets(n int, near bool) sum {
	together, atOnce := 1, n
	if near || f.Anywhere {
		together = max(f.Together, 1)
	}
	if f.AtOnce > 0 {
		atOnce = f.AtOnce
	}
	if n == 0 {
		return sum{}
	}
	requests := (n-1)/together + 1
	return sum{(requests-1)/max(atOnce, 1) + 1, requests}
}

// forecast returns what is known of the requests of a plan.
func forecastOf(c *layout.Layout, p *Plan) forecast {
	f := forecast{Paging: c.Facts.Paging, parts: len(p.Parts), ways: len(p.Ways), limit: p.Limit}
	if f.records = p.X == nil; f.records {
		f.single = len(c.Records.Sort) == 0
		return f
	}
	f.byKey = !p.Covered && !p.X.Native
	f.near = p.X.Table.Home != nil
	f.single = len(p.X.Table.Sort) == 0
	return f
}
