package testserver

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// A native is a server that runs as a process of this machine.
type native struct {
	script string
	store  Store
	addr   string
	args   []string
	guard  *guard
	server *os.Process
}

func (n *native) start() (<-chan struct{}, error) {
	log, err := os.OpenFile(n.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	host, port, err := net.SplitHostPort(n.addr)
	if err != nil {
		return nil, err
	}
	args := []string{n.script, "exec", string(n.store), filepath.Join(n.guard.dir, "data"), host, port}
	cmd := exec.Command("bash", append(args, n.args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	// The guard cannot miss a server: until it is in the group, it holds the guard's input open.
	cmd.SysProcAttr = inGroup(n.guard.group)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n.server = cmd.Process
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	return ended, nil
}

func (n *native) signal(sig syscall.Signal) error { return n.server.Signal(sig) }

func (n *native) remove() error { return nil }

func (n *native) log() string { return filepath.Join(n.guard.dir, "log") }

func (n *native) tail() string {
	text, err := os.ReadFile(n.log())
	if err != nil {
		return err.Error()
	}
	return lastLines(text)
}

// lastLines returns the last 20 lines, each cut to 500 bytes.
func lastLines(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	var b strings.Builder
	for _, line := range lines[max(0, len(lines)-20):] {
		b.Write(line[:min(len(line), 500)])
		b.WriteByte('\n')
	}
	return b.String()
}
