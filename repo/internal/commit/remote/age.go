package remote

import (
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// NotTooOld refuses what must not be sent any more: a conditional write on a record
// whose base was read since a time, when a tombstone that it does not know of may
// soon be forgotten (A1). Of its two clocks the one counts that says older: one may
// have been set back, the other stops while the machine sleeps. Collections keep tombstones for
// different times, so a group asks each of its own.
func (c *Remote) NotTooOld(since time.Time) error {
	if c.Records.Ring == 0 {
		return nil
	}
	age := max(time.Since(since), time.Now().Round(0).Sub(since.Round(0)))
	if age > c.maxAge() {
		return fmt.Errorf("given up after %s, for what was read before is too old to write on: %w", age.Round(time.Second), driver.ErrTimeout)
	}
	return nil
}

// Clock returns the time where it is wanted for notTooOld.
func (c *Remote) Clock() time.Time {
	if c.Records.Ring == 0 {
		return time.Time{}
	}
	return time.Now()
}

// maxAge is how old a conditional write on a record may be when it is sent.
func (c *Remote) maxAge() time.Duration { return min(c.Retention/3, time.Hour) }
