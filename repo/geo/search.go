package geo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/internal/scan"
)

// How a region is read.
const (
	manyRanges  = 16  // at the same time
	fewRanges   = 4   // if few records are wanted, once a range was full of them
	manyRecords = 256 // of a range
	fewRecords  = 16  // if few are wanted
)

// A position is a place in the order of a query.
type position struct {
	rank float64
	code uint64
}

func (p position) compare(other position) int {
	return cmp.Or(cmp.Compare(p.rank, other.rank), cmp.Compare(p.code, other.code))
}

// A piece is a part of a cell: the codes from position.code to last. Its rank is the least one.
type piece struct {
	position
	last uint64
	cell cell
}

// A group is the records at one spot.
type group[T any] struct {
	position
	records []T
	whole   bool // else they were not read: they are too many, or others come before them
}

// A search reads a region piece by piece, what has the least rank first. A group is yielded when no piece can have an
// earlier one.
type search[T any] struct {
	*Places[T]
	q      Query
	after  *position // what comes later is wanted; nil is all
	size   int       // of a range: one that has as many records is cut
	wide   int       // ranges at the same time
	most   int       // records that are wanted; 0 is all
	apart  bool      // each piece is a range, since a range of several was full
	pieces []piece
	groups []group[T] // that are read and not yet yielded, in their order
}

// groups yields the records of a query spot by spot, those after a position, in their order. Most are wanted, or all if
// it is 0: groups behind those may be unread.
func (p *Places[T]) groups(ctx context.Context, q Query, after *position, most int) iter.Seq2[group[T], error] {
	return func(yield func(group[T], error) bool) {
		s := &search[T]{Places: p, q: q, after: after, size: manyRecords, wide: manyRanges, most: most}
		cells := cover(q.region)
		if q.limit == 0 {
			cells = merged(cells)
		} else {
			s.size = min(max(2*q.limit, fewRecords), manyRecords)
		}
		for _, c := range cells {
			s.add(c, c.code, c.last())
		}
		for {
			slices.SortFunc(s.pieces, func(a, b piece) int { return a.compare(b.position) })
			for len(s.groups) > 0 && (len(s.pieces) == 0 || s.groups[0].compare(s.pieces[0].position) < 0) {
				g := s.groups[0]
				if s.groups = s.groups[1:]; !yield(g, nil) {
					return
				}
			}
			if len(s.pieces) == 0 {
				return
			}
			if err := s.read(ctx); err != nil {
				yield(group[T]{}, err)
				return
			}
		}
	}
}

// add adds a part of a cell, unless nothing of it is wanted.
func (s *search[T]) add(c cell, first, last uint64) {
	least, ok := s.q.region.least(c)
	first, last = max(first, c.code), min(last, c.last())
	if ok && s.after != nil {
		greatest := s.q.region.greatest(c)
		if greatest < s.after.rank {
			return
		}
		if least == greatest { // all are ordered by code
			first = max(first, s.after.code+1)
		}
	}
	if ok && first <= last {
		s.pieces = append(s.pieces, piece{position{least, first}, last, c})
	}
}

// read reads the next pieces, all at the same time. Those that follow one another by code are read as one range.
func (s *search[T]) read(ctx context.Context) error {
	n := min(s.wide, len(s.pieces))
	runs := s.runs(s.pieces[:n])
	s.pieces = s.pieces[n:]
	queries := make([]repo.Query, len(runs))
	for i, run := range runs {
		queries[i] = s.span(s.q, run[0].code, run[len(run)-1].last).Limit(s.size * len(run))
	}
	l := s.look(len(runs))
	lists, err := s.repo.FindMany(scan.WithWanted(ctx, &scan.Wanted{Field: s.field, Want: l.want}), queries)
	for i, records := range lists {
		if err == nil {
			err = s.take(runs[i], records, &l.of[i])
		}
	}
	slices.SortFunc(s.groups, func(a, b group[T]) int { return a.compare(b.position) })
	return err
}

// runs returns pieces in runs of those that follow one another by code, the run with the least rank first.
func (s *search[T]) runs(pieces []piece) (runs [][]piece) {
	pieces = slices.Clone(pieces)
	if !s.apart {
		slices.SortFunc(pieces, func(a, b piece) int { return cmp.Compare(a.code, b.code) })
	}
	for from, to := 0, 0; from < len(pieces); from = to {
		for to = from + 1; !s.apart && to < len(pieces) && pieces[to].code == pieces[to-1].last+1; {
			to++
		}
		runs = append(runs, pieces[from:to:to])
	}
	slices.SortStableFunc(runs, func(a, b []piece) int { return leastOf(a).compare(leastOf(b)) })
	return runs
}

func leastOf(run []piece) position {
	return slices.MinFunc(run, func(a, b piece) int { return a.compare(b.position) }).position
}

// take adds the groups of a run that was read. If it may have more, the parts of its pieces are read instead: only a
// range that was read to its end has certainly all that is there, since a record may have moved after the index was
// read.
func (s *search[T]) take(run []piece, records []T, looked *looked) error {
	first, last := run[0].code, run[len(run)-1].last
	codes := make([]uint64, len(records))
	for i := range records {
		codes[i] = s.at(&records[i]).spot().normal().code()
		if codes[i] < first || codes[i] > last {
			return fmt.Errorf("the function that Of was given does not return the field %s: %w", s.field, repo.ErrInvalid)
		}
	}
	if max(len(records), len(looked.seen)) >= s.size*len(run) {
		if s.q.limit > 0 {
			s.wide = fewRanges
		}
		s.apart = s.apart || len(run) > 1
		codes = append(codes, looked.seen...)
		for _, p := range run {
			s.cut(p, codes)
		}
		return nil
	}
	if !slices.IsSorted(codes) { // some have moved meanwhile
		slices.SortStableFunc(records, func(a, b T) int {
			return cmp.Compare(s.at(&a).spot().normal().code(), s.at(&b).spot().normal().code())
		})
		slices.Sort(codes)
	}
	for from, to := 0, 0; from < len(codes); from = to {
		for to = from + 1; to < len(codes) && codes[to] == codes[from]; {
			to++
		}
		if !slices.Contains(looked.left, codes[from]) {
			s.keep(group[T]{position{0, codes[from]}, records[from:to:to], true})
		}
	}
	for _, code := range looked.left {
		s.keep(group[T]{position: position{0, code}})
	}
	return nil
}

// cut adds the parts of a piece of a run in which some codes were found, and all of it if none of them is in it. A spot
// that has as many records as were read is a part by itself.
func (s *search[T]) cut(p piece, codes []uint64) {
	if !slices.ContainsFunc(codes, func(code uint64) bool { return p.code <= code && code <= p.last }) {
		s.add(p.cell, p.code, p.last)
		return
	}
	if code := codes[0]; !slices.ContainsFunc(codes, func(other uint64) bool { return other != code }) {
		s.keep(group[T]{position: position{0, code}})
		if code > 0 { // nothing is here unless all of codes moved meanwhile
			s.add(p.cell, p.code, code-1)
		}
		s.add(p.cell, code+1, p.last)
		return
	}
	for _, part := range p.cell.parts() {
		s.add(part, p.code, p.last)
	}
}

// keep adds a group if it is wanted.
func (s *search[T]) keep(g group[T]) {
	var ok bool
	if g.rank, ok = s.q.region.rank(spotOf(g.code)); ok && (s.after == nil || g.compare(*s.after) > 0) {
		s.groups = append(s.groups, g)
	}
}
