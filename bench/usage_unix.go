//go:build unix

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// used returns what this process has used until now.
func used() (usage, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return usage{}, fmt.Errorf("getrusage: %w", err)
	}
	return usage{
		cpu:      time.Duration(u.Utime.Nano() + u.Stime.Nano()),
		switches: int64(u.Nvcsw), //nolint:unconvert // of 32 bits on some machines
		writes:   fileWrites(),
	}, nil
}

// fileWrites returns how many times this process has asked the system to write,
// 0 where the system does not tell.
func fileWrites() int64 {
	data, err := os.ReadFile("/proc/self/io") // of Linux
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "syscw: "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64) // 0 if it is no number
			return n
		}
	}
	return 0
}
