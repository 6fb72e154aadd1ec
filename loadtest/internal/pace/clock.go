package pace

import "time"

// A Clock waits for instants. The one of this machine is MachineClock; tests have
// others.
type Clock interface {
	// Until waits for an instant. It is called by one goroutine, between Attach
	// and Detach.
	Until(t time.Time)
	Attach()
	Detach()
}
