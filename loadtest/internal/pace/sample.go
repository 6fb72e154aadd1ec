package pace

import "github.com/polystore/polystore/loadtest/internal/operation"

// A Sample is what became of one operation. Its times in nanoseconds add up to
// its response time, which counts from the instant at which it was due.
type Sample struct {
	lag     int64 // late although a slot was free: the clock's fault
	wait    int64 // all slots were busy
	service int64
	At      uint16 // index of the query
	Outcome operation.Outcome
}

// Lag returns how late the clock sent the operation.
func (s *Sample) Lag() int64 { return s.lag }

// Response returns the time from the instant to the answer.
func (s *Sample) Response() int64 { return s.lag + s.wait + s.service }
