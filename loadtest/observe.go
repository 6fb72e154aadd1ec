package loadtest

import "time"

// An Observation is what became of one operation.
type Observation struct {
	Store   string // its URL, without secrets
	Model   string
	Query   string
	Outcome string // as the report has it: done, not found, failed and so on

	Response time.Duration // from when it was due
	Lag      time.Duration // of it, by which the clock was late
}
