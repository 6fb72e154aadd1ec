package pebble

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/polystore/polystore/repo/driver"
)

// health is what keeps commits from being done for now.
type health struct {
	flush   atomic.Pointer[error]         // how the last flush ended
	blocked atomic.Pointer[error]         // why tables cannot be written
	stalled atomic.Pointer[chan struct{}] // closed when Pebble takes writes again
	left    atomic.Int64                  // bytes to write before the next look at the disk
}

// flushEnded notes how a flush ended. Its error may also say that there was
// nothing to flush; if it is a failure, backgroundError comes next. Pebble
// tries again by itself.
func (h *health) flushEnded(err error) {
	h.flush.Store(&err)
	if err == nil {
		h.blocked.Store(nil)
	}
}

// backgroundError blocks commits when a flush failed. Compactions that fail
// block nothing.
func (h *health) backgroundError(err error) {
	if last := h.flush.Load(); last != nil && errors.Is(err, *last) {
		h.blocked.Store(&err)
	}
}

func (h *health) stall() {
	c := make(chan struct{})
	h.stalled.Store(&c)
}

func (h *health) stallOver() {
	if c := h.stalled.Swap(nil); c != nil {
		close(*c)
	}
}

// writable says what speaks against writing now. It waits while Pebble is behind
// with its own work.
func (s *store) writable(ctx context.Context) error {
	if c := s.health.stalled.Load(); c != nil {
		select {
		case <-*c:
		case <-s.disk.gone:
		case <-ctx.Done():
			return who.Over(ctx)
		}
	}
	if err := s.disk.dead(); err != nil {
		return fmt.Errorf("pebble: directory %s can be read only; close it and open it again: %w: %w",
			s.dir, driver.ErrUnavailable, err)
	}
	if err := s.health.blocked.Load(); err != nil {
		if noSpace(*err) {
			return s.noRoom(*err)
		}
		return fmt.Errorf("pebble: directory %s: tables cannot be written, which is tried again: %w: %w",
			s.dir, driver.ErrUnavailable, *err)
	}
	return nil
}

// room says whether the disk has space for size bytes more.
func (s *store) room(size int) error {
	if s.health.left.Add(-int64(size)) >= 0 {
		return nil
	}
	return s.lookForSpace()
}

const (
	reserve    = 64 << 20 // to be left free, or a twentieth of a small disk
	lookAgain  = 16 << 20 // at most so many bytes are written without a look
	smallShare = 20
)

// lookForSpace refuses commits when the disk is nearly full, while Pebble can
// still write what it has taken. It cannot keep another program from filling
// the disk between two looks.
func (s *store) lookForSpace() error {
	usage, err := s.disk.GetDiskUsage(s.dir)
	if err != nil { // the file system does not tell, as the one in memory
		s.health.left.Store(math.MaxInt64 / 2)
		return nil
	}
	keep := min(reserve, usage.TotalBytes/smallShare)
	if usage.AvailBytes < keep {
		return s.noRoom(fmt.Errorf("%d bytes are free, %d are kept in reserve", usage.AvailBytes, keep))
	}
	s.health.left.Store(int64(min(lookAgain, (usage.AvailBytes-keep)/2)))
	return nil
}

func (s *store) noRoom(err error) error {
	return fmt.Errorf("pebble: the disk of directory %s is full; free some space: %w: %w", s.dir, driver.ErrFull, err)
}
