//go:build unix

package tool

import (
	"syscall"
	"time"
)

// CPU returns the processor time that this process has used so far, 0 where it is not known.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
