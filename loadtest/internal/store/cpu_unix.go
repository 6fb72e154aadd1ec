//go:build unix

package store

import (
	"time"

	"golang.org/x/sys/unix"
)

// CPUTime returns the processor time that this process has used so far, 0 where
// it is not known.
func CPUTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
