package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/internal/limit"
)

// mostOff is how far the clock of a program may be from the server's: two programs, one
// before it and one behind, then differ by what all else allows for.
const mostOff = limit.ClockMargin / 2

// CheckClock compares the clock of this machine with the server's, once, if there is a server
// that tells. The time of the call counts in favour of the program.
func (s *Handle) CheckClock(ctx context.Context) error {
	clock, tells := s.Driver.(driver.Clock)
	if !tells || s.clockFits.Load() {
		return nil
	}
	before := time.Now()
	server, err := clock.Time(ctx)
	if errors.Is(err, driver.ErrUnsupported) {
		err = nil
		server = before
	}
	if err != nil {
		return err
	}
	after, words := time.Now(), ""
	switch {
	case server.Sub(after) > mostOff:
		words = fmt.Sprintf("%s behind", server.Sub(after).Round(time.Second))
	case before.Sub(server) > mostOff:
		words = fmt.Sprintf("%s ahead of", before.Sub(server).Round(time.Second))
	default:
		s.clockFits.Store(true)
		return nil
	}
	return fmt.Errorf("the clock of this machine is %s that of %s (%s here, %s there), and expiry and unknown outcomes stand %s; set the clocks by NTP: %w",
		words, s.Facts.Name, after.UTC().Format(time.TimeOnly), server.UTC().Format(time.TimeOnly), mostOff, driver.ErrInvalid)
}
