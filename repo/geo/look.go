package geo

import "slices"

// A look is what is seen of the records of some runs before they are read: their codes. It tells which to read.
type look struct {
	region region
	after  *position
	most   int        // records that are wanted; 0 is all
	best   []position // of records that are read, or were, at most so many; in their order
	of     []looked   // by run
}

type looked struct {
	seen []uint64 // codes of records, in the region or not
	left []uint64 // codes in the region of which not all records are read
}

// look begins a look at n runs.
func (s *search[T]) look(n int) *look {
	l := &look{region: s.q.region, after: s.after, most: s.most, of: make([]looked, n)}
	for _, g := range s.groups {
		for range g.records {
			l.best = append(l.best, g.position)
		}
	}
	if s.most > 0 && len(l.best) > s.most {
		l.best = l.best[:s.most]
	}
	return l
}

// want reports whether to read a record that is seen: only if it is in the region, and not after as many others as are
// wanted.
func (l *look) want(run int, text string) bool {
	code, ok := codeOf([]byte(text))
	if !ok {
		return true // reading it says what is wrong
	}
	of := &l.of[run]
	of.seen = append(of.seen, code)
	rank, ok := l.region.rank(spotOf(code))
	p := position{rank, code}
	switch {
	case !ok || l.after != nil && p.compare(*l.after) <= 0:
		return false
	case l.most == 0:
		return true
	case len(l.best) == l.most && p.compare(l.best[l.most-1]) > 0:
		if !slices.Contains(of.left, code) {
			of.left = append(of.left, code)
		}
		return false
	}
	at, _ := slices.BinarySearchFunc(l.best, p, position.compare)
	l.best = slices.Insert(l.best, at, p)
	l.best = l.best[:min(len(l.best), l.most)]
	return true
}
