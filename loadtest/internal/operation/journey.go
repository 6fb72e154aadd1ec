package operation

import (
	"math/rand/v2"
	"time"

	"github.com/polystore/polystore/loadtest/internal/workload"
)

// steps draws how far a journey goes, and makes its steps.
func (s *Stream) steps(r *rand.Rand, q *workload.Query, number int) (list []Call) {
	for _, step := range q.Steps {
		if len(list) > 0 && r.Float64() >= step.Chance {
			break
		}
		k := s.call(r, step.At, number)
		k.choice = r.IntN(1 << 20)
		list = append(list, k)
	}
	return list
}

// A Step is what became of a step of a journey.
type Step struct {
	At      int // index of its query
	Call    *Call
	Outcome Outcome
	Took    time.Duration
}
