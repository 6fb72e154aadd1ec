//go:build !linux

package pace

import "time"

// MachineClock waits as the runtime does, which is about a millisecond exact.
type MachineClock struct{}

// Attach does nothing.
func (*MachineClock) Attach() {}

// Detach does nothing.
func (*MachineClock) Detach() {}

// Until waits in the runtime.
func (*MachineClock) Until(t time.Time) { time.Sleep(time.Until(t)) }
