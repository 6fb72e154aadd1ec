package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A machine is what a run was done on, and how much else it did meanwhile.
type machine struct {
	CPUs   int     `json:"cpus"`
	System string  `json:"system"`
	Go     string  `json:"go"`
	Others float64 `json:"others"` // share of the machine's time that other programs had; below 0: unknown
}

func (m machine) String() string {
	others := "how busy other programs kept it is unknown"
	if m.Others >= 0 {
		others = fmt.Sprintf("other programs had %.0f %% of its time", 100*m.Others)
	}
	return fmt.Sprintf("%d CPUs, %s, %s; %s", m.CPUs, m.System, m.Go, others)
}

// A load is what a machine has done since it was started, in clock ticks of a
// hundredth of a second.
type load struct{ busy, all float64 }

// ticks is how many of them Linux reports a second, on every machine.
const ticks = 100

// readLoad reads the load of a Linux machine.
func readLoad() (load, bool) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return load{}, false
	}
	first, _, _ := strings.Cut(string(data), "\n")
	var l load
	for i, field := range strings.Fields(first) {
		if i == 0 || i > 8 { // the name; guests are counted among the others already
			continue
		}
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return load{}, false
		}
		l.all += n
		if i != 4 && i != 5 { // idle, and waiting for a disk
			l.busy += n
		}
	}
	return l, l.all > 0
}

// machineSince describes the machine, on which own is the time that this program and its
// processes had since before.
func machineSince(before load, known bool, own time.Duration) machine {
	m := machine{CPUs: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Others: -1}
	now, ok := readLoad()
	if known && ok && now.all > before.all {
		m.Others = max(0, (now.busy-before.busy-own.Seconds()*ticks)/(now.all-before.all))
	}
	return m
}
