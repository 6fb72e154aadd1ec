package pebble

import (
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// Passed returns how many entries the first rows of a span lie behind, up to a limit.
func (s *Store) Passed(span driver.Span) (int, error) {
	v, err := s.in.frame.View(span.Table, span.Mask)
	if err != nil {
		return 0, err
	}
	var c scan
	if err := s.in.openScan(&c, v, &span); err != nil {
		return 0, err
	}
	defer c.end()
	for n := 0; n < span.Limit && move(c.it, span.Reverse, n == 0); n++ {
	}
	return passedBy(c.it), c.it.Error()
}

// LeaveUntidied lets no compaction begin that reads ask for.
func (s *Store) LeaveUntidied() {
	s.in.tidying.mu.Lock()
	defer s.in.tidying.mu.Unlock()
	s.in.tidying.rested = time.Now().Add(time.Hour)
}

// Tidied reports whether reads have asked for a compaction so far.
func (s *Store) Tidied() bool {
	s.in.tidying.mu.Lock()
	defer s.in.tidying.mu.Unlock()
	return s.in.tidying.busy || !s.in.tidying.rested.IsZero()
}

// Reads reports whether the commit of an op would read its row.
func (s *Store) Reads(op driver.Op) (bool, error) {
	v, err := s.in.frame.View(op.Table, nil)
	if err != nil {
		return false, err
	}
	var c commit
	c.plan(s.in, []driver.Op{op}, []*view{v})
	return c.mustRead(s.in, &op, 0), nil
}
