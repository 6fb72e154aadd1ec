package loadtest

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// An Environment is the machine and program of a run.
type Environment struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel,omitempty"`
	CPU        string `json:"cpu,omitempty"`
	CPUs       int    `json:"cpus"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Go         string `json:"go"`
	Program    string `json:"program"` // version, and revision where it is known
}

func environment() Environment {
	e := Environment{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
		Go: runtime.Version(), Program: Version()}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		e.Kernel = strings.TrimSpace(string(text))
	}
	e.CPU = cpuModel()
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
