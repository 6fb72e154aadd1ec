//go:build unix

package pebble_test

import "syscall"

// cpu returns the nanoseconds of processor time that the process has used.
func cpu() int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
