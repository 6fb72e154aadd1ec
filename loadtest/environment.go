package loadtest

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/polystore/polystore/loadtest/report"
)

func environment() report.Environment {
	e := report.Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		Go: runtime.Version(), Program: Version()}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		e.Kernel = strings.TrimSpace(string(text))
	}
	e.CPU = cpuModel()
	if id, err := os.ReadFile("/etc/machine-id"); err == nil && len(strings.TrimSpace(string(id))) > 0 {
		sum := sha256.Sum256(append([]byte("polystore machine "), id...)) // the ID itself is not for others
		e.Machine = hex.EncodeToString(sum[:6])
	}
	return e
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Version returns the version of the program that runs, with the revision of its
// source where the build noted it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	version := info.Main.Version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && !strings.Contains(version, s.Value[:min(12, len(s.Value))]):
			version += " " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true" && !strings.Contains(version, "dirty"):
			version += " (modified)"
		}
	}
	if version == "" {
		return "unknown"
	}
	return version
}
