package workload

import (
	"fmt"
	"math"
	"slices"
)

// WriteShare returns how many percent of the operations write, by the weights of the queries.
func (w *Workload) WriteShare() (percent float64) {
	for _, q := range w.Queries {
		if q.Writes() {
			percent += q.Weight
		}
	}
	return percent
}

// SetWriteShare gives the queries other weights, by which so many percent of the operations write. Queries that write keep
// their proportions, and so do the others. What is asked no more, by no journey either, has no objectives. The queries
// are copied.
func (w *Workload) SetWriteShare(percent float64) error {
	now := w.WriteShare()
	switch {
	case w.Trace != nil:
		return fmt.Errorf("writes is %v %%, and the operations are those of a trace", percent)
	case math.IsNaN(percent) || percent < 0 || percent > 100:
		return fmt.Errorf("writes is %v; want 0 to 100 percent", percent)
	case now == 0 && percent > 0:
		return fmt.Errorf("writes is %v %%, and no query that has a weight writes", percent)
	case now == 100 && percent < 100:
		return fmt.Errorf("writes is %v %%, and all queries that have a weight write", percent)
	}
	w.Queries = slices.Clone(w.Queries)
	asked := make([]bool, len(w.Queries)) // by a journey
	for i, old := range w.Queries {
		q := *old
		if q.Writes() && now > 0 {
			q.Weight *= percent / now
		} else if now < 100 {
			q.Weight *= (100 - percent) / (100 - now)
		}
		w.Queries[i] = &q
	}
	for _, q := range w.Queries {
		q.Steps = slices.Clone(q.Steps)
		for i := range q.Steps {
			q.Steps[i].Query = w.Queries[q.Steps[i].At]
			asked[q.Steps[i].At] = asked[q.Steps[i].At] || q.Weight > 0
		}
	}
	for i, q := range w.Queries {
		if q.Weight == 0 && !asked[i] {
			q.Objectives = nil
		}
	}
	return nil
}
