//go:build !linux

package loadtest

import "time"

// machineClock waits as the runtime does, which is about a millisecond exact.
type machineClock struct{}

func (*machineClock) attach()           {}
func (*machineClock) detach()           {}
func (*machineClock) until(t time.Time) { time.Sleep(time.Until(t)) }
