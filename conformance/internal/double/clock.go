package double

import (
	"sync/atomic"
	"time"
)

// A Clock is what decides for a rule what has expired.
type Clock struct{ Ms atomic.Int64 }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.Ms.Load()).UTC() }

// Pass lets time pass.
func (c *Clock) Pass(d time.Duration) { c.Ms.Add(d.Milliseconds()) }
