package store

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which the kernel tells processor times, on every machine on which Go runs.
const tick = time.Second / 100

// busyTime returns the processor time that all programs on this machine have used so far, 0 where it is not known.
func busyTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return busyOf(string(line))
}

// busyOf returns the sum of the times in the first line of /proc/stat in which a processor did something: user, nice,
// system, irq, softirq and steal, but not idle and iowait. Those of guests are part of user.
func busyOf(line string) time.Duration {
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	ticks := int64(0)
	for _, at := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * tick
}
