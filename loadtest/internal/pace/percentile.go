package pace

import (
	"math"
	"slices"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/report"
)

// spans are the response and service times of a query in a round, sorted.
type spans struct {
	response, service []int64
	cut               int64 // the least response of a call that was cut off
}

func (t *spans) add(s *Sample) {
	t.response, t.service = append(t.response, s.Response()), append(t.service, s.service)
	if s.Outcome == operation.Unfinished && (t.cut == 0 || s.Response() < t.cut) {
		t.cut = s.Response()
	}
}

func (t *spans) sort() {
	slices.Sort(t.response)
	slices.Sort(t.service)
}

// mark returns a percentile, and how many calls took longer than bound.
func (t *spans) mark(percent float64, bound time.Duration) report.Mark {
	if len(t.response) == 0 {
		return report.Mark{}
	}
	at := max(0, int(math.Ceil(percent*float64(len(t.response))/100-1e-9))-1)
	within, _ := slices.BinarySearch(t.response, int64(bound)+1)
	return report.Mark{Response: time.Duration(t.response[at]), Service: time.Duration(t.service[at]), Over: len(t.response) - within, Cut: t.cut > 0 && t.response[at] >= t.cut}
}
