package loadtest

import "time"

// A clock tells the time and waits. The one of this machine is machineClock;
// tests have others.
type clock interface {
	// until waits for an instant. It is called by one goroutine, which has a
	// thread of its own between attach and detach.
	until(t time.Time)
	attach()
	detach() (cpu time.Duration) // processor time that it took since attach
}
