package process_test

import (
	"os"
	"os/exec"
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
