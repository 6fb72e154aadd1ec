package process_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/polystore/polystore/internal/process"
)

func TestAlive(t *testing.T) {
	if !process.Alive(os.Getpid()) {
		t.Error("this process is not there")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{cmd.Process.Pid, 0, -1} {
		if process.Alive(pid) {
			t.Errorf("process %d is there", pid)
		}
	}
}

// A process is not taken for another one that had its number before.
func TestSame(t *testing.T) {
	pid := os.Getpid()
	mark := process.Mark(pid)
	if (mark == "") == (runtime.GOOS == "linux") || mark != process.Mark(pid) {
		t.Errorf("the marks of this process are %q and %q", mark, process.Mark(pid))
	}
	if parent := process.Mark(os.Getppid()); mark != "" && parent == mark {
		t.Errorf("this process and its parent are both marked %q", mark)
	}
	for _, c := range []struct {
		pid  int
		mark string
		want bool
	}{{pid, mark, true}, {pid, "", true}, {pid, "0123456789ab", mark == ""}, {0, "", false}} {
		if got := process.Same(c.pid, c.mark); got != c.want {
			t.Errorf("process %d with mark %q is there: %v, want %v", c.pid, c.mark, got, c.want)
		}
	}
}
