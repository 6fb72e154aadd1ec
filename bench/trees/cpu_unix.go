//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpu returns the processor time that this process has used so far, 0 where it is not known.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
