//go:build unix

package versions_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A process is a program under way.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	stdin interface{ Close() error }
	said  chan string // all, when it has ended
	begun chan struct{}
}

// start starts a program, and returns when it has begun.
func start(t *testing.T, o *order) *process {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), orderVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err1 != nil || err2 != nil || cmd.Start() != nil {
		t.Fatal("a program does not start", err1, err2)
	}
	p := &process{t, o.Name, cmd, in, make(chan string, 1), make(chan struct{})}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go func() {
		var all strings.Builder
		var once sync.Once
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == "begun" {
				once.Do(func() { close(p.begun) })
			}
			all.WriteString(lines.Text() + "\n")
		}
		_ = cmd.Wait()
		once.Do(func() { close(p.begun) })
		p.said <- all.String()
	}()
	<-p.begun
	return p
}

func (p *process) signal(s syscall.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("%s: %v", p.name, err)
	}
}

// end lets a program end, and reports what it found wrong.
func (p *process) end() {
	p.t.Helper()
	_ = p.stdin.Close()
	select {
	case said := <-p.said:
		p.t.Logf("%s %s", p.name, said)
		if strings.Contains(said, "fault:") || !strings.Contains(said, "done:") {
			p.t.Errorf("%s says %s", p.name, said)
		}
	case <-time.After(2 * time.Minute):
		p.t.Errorf("%s does not end", p.name)
	}
}

// kill kills a program, and reports what it found wrong before.
func (p *process) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	if said := <-p.said; strings.Contains(said, "fault:") {
		p.t.Errorf("%s says %s", p.name, said)
	}
}
