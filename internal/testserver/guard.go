package testserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A guard is a process that has a folder and a process group. When its input ends, which the
// kernel sees to however this process ends, it kills the group and removes the folder.
type guard struct {
	dir   string
	group int
	input io.Closer
}

func newGuard(script string, store Store) (*guard, error) {
	cmd := exec.Command("bash", script, "guard", string(store))
	// A group of its own: Ctrl-C goes to the group of this process, not to the guard.
	cmd.SysProcAttr = inGroup(0)
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	go cmd.Wait()
	if err != nil {
		return nil, fmt.Errorf("%s guard made no folder: %w", script, err)
	}
	return &guard{dir: strings.TrimSpace(line), group: cmd.Process.Pid, input: input}, nil
}

// close ends the guard and returns when the folder is gone.
func (g *guard) close() error {
	g.input.Close()
	for end := time.Now().Add(farewell); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(g.dir); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("%s is still there after %s", g.dir, farewell)
}
