package loadtest

import (
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/pace"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

// An Observation is what became of one operation.
type Observation struct {
	Store   string // its URL, without secrets
	Model   string
	Query   string
	Outcome string // as the report has it: done, not found, failed and so on

	Response time.Duration // from when it was due
	Lag      time.Duration // of it, by which the clock was late
}

// observer returns what a measurement tells of its operations, nil if nobody asks.
func (o *Options) observer(w *workload.Workload) func(*candidate.Candidate, *pace.Sample) {
	if o.Observe == nil {
		return nil
	}
	return func(c *candidate.Candidate, s *pace.Sample) {
		o.Observe(&Observation{
			Store: c.Store.URL, Model: c.Model.Name, Query: w.Queries[s.At].Name, Outcome: s.Outcome.String(),
			Response: time.Duration(s.Response()), Lag: time.Duration(s.Lag()),
		})
	}
}
