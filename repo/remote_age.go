package repo

import (
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
)

// notTooOld refuses what must not be sent any more: a conditional write on a record
// whose base was read since a time, when a tombstone that it does not know of may
// soon be forgotten (A1). Of its two clocks the one counts that says older: one may
// have been set back, the other stops while the machine sleeps.
func (c *remoteC) notTooOld(since time.Time) error {
	if c.records.Ring == 0 {
		return nil
	}
	age := max(time.Since(since), time.Now().Round(0).Sub(since.Round(0)))
	if age > c.maxAge() {
		return fmt.Errorf("given up after %s, for what was read before is too old to write on: %w", age.Round(time.Second), driver.ErrTimeout)
	}
	return nil
}

// clock returns the time where it is wanted for notTooOld.
func (c *remoteC) clock() time.Time {
	if c.records.Ring == 0 {
		return time.Time{}
	}
	return time.Now()
}

// maxAge is how old a conditional write on a record may be when it is sent.
func (c *remoteC) maxAge() time.Duration { return min(c.retention/3, time.Hour) }
