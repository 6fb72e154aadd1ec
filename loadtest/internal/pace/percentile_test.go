package pace

import (
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/report"
)

func TestMark(t *testing.T) {
	var s spans
	for i := range 100 {
		s.add(&Sample{lag: 1000, service: int64(i+1) * 1000})
	}
	s.sort()
	if m := s.mark(99, 90*time.Microsecond); m != (report.Mark{Response: 100 * time.Microsecond, Service: 99 * time.Microsecond, Over: 11}) {
		t.Errorf("p99 %+v", m)
	}
	if m := s.mark(100, time.Second); m.Response != 101*time.Microsecond || m.Over != 0 {
		t.Errorf("the greatest %+v", m)
	}
	s.add(&Sample{service: 80_000, Outcome: operation.Unfinished})
	s.sort()
	if a, b := s.mark(50, 0), s.mark(99, 0); a.Cut || !b.Cut {
		t.Errorf("a call is cut off after 80 µs: p50 %+v, p99 %+v; want the second one to be more", a, b)
	}
}
