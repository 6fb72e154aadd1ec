package loadtest

import "time"

// A clock waits for instants. The one of this machine is machineClock; tests have
// others.
type clock interface {
	// until waits for an instant. It is called by one goroutine, between attach
	// and detach.
	until(t time.Time)
	attach()
	detach()
}
