package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var errListener = errors.New("no process of this user or machine listens there, or the system does not tell")

// cpuOfListener returns the processor time of the process that listens on a port of this
// machine, as Linux tells it: in hundredths of a second.
func cpuOfListener(port string) (time.Duration, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0, errListener
	}
	socket := socketOf(n)
	if socket == "" {
		return 0, errListener
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0, err
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == socket {
			return cpuOfProcess(strings.Split(link, "/")[2])
		}
	}
	return 0, errListener
}

// socketOf returns what the descriptors of a socket are that listens on a port, or "".
func socketOf(port uint64) string {
	const listens = "0A"
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != listens {
				continue
			}
			_, at, _ := strings.Cut(fields[1], ":")
			if n, err := strconv.ParseUint(at, 16, 16); err == nil && n == port {
				return "socket:[" + fields[9] + "]"
			}
		}
	}
	return ""
}

// cpuOfProcess reads the times of a process in user and system mode.
func cpuOfProcess(pid string) (time.Duration, error) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(data), ") ") // the name may hold spaces
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0, errListener
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticks, errors.Join(err1, err2)
}
