package testserver_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/testserver"
)

// A fork is a process that has a server and said where.
type fork struct {
	cmd      *exec.Cmd
	in       io.Closer
	out      io.Reader
	url, dir string
}

// newFork starts a process of this binary that opens a server and will end in the way given.
func newFork(t *testing.T, store testserver.Store, way string) *fork {
	t.Helper()
	return start(t, again(t, []string{child + "=" + string(store) + " " + way}))
}

func start(t *testing.T, cmd *exec.Cmd) *fork {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return &fork{cmd: cmd, in: in, out: out}
}

// listen waits until the process says where its server is.
func (f *fork) listen(t *testing.T) {
	t.Helper()
	line, err := bufio.NewReader(f.out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s said nothing: %v", f.cmd, err)
	}
	f.url, f.dir, _ = strings.Cut(strings.TrimSpace(line), " ")
	if !reachable(f.addr()) {
		t.Fatalf("%s said %q, but nothing answers there", f.cmd, line)
	}
}

func (f *fork) addr() string {
	_, rest, _ := strings.Cut(f.url, "://")
	addr, _, _ := strings.Cut(rest, "/")
	return addr
}

// eventually waits at most ten seconds for what must become true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("after 10 s not yet: %s", what)
}

func TestServersEndWithTheirProcess(t *testing.T) {
	for _, tt := range []struct {
		store testserver.Store
		way   string
	}{
		{testserver.Redis, "exit"},
		{testserver.Redis, "panic"},
		{testserver.Redis, "interrupt"},
		{testserver.Redis, "kill"},
		{testserver.Mongo, "kill"},
		{testserver.Cassandra, "kill"},
	} {
		t.Run(string(tt.store)+" "+tt.way, func(t *testing.T) {
			t.Parallel()
			f := newFork(t, tt.store, tt.way)
			f.listen(t)
			if _, err := os.Stat(f.dir); err != nil {
				t.Fatalf("before the end: %v", err)
			}
			f.in.Close()
			if f.cmd.Wait() == nil {
				t.Errorf("a process that was to end by %s ended well", tt.way)
			}
			eventually(t, "server gone", func() bool { return !reachable(f.addr()) })
			eventually(t, "folder gone", func() bool {
				_, err := os.Stat(f.dir)
				return os.IsNotExist(err)
			})
		})
	}
}

func TestProcessesDoNotCollide(t *testing.T) {
	t.Parallel()
	forks := make([]*fork, 4)
	for i := range forks {
		forks[i] = newFork(t, testserver.Redis, "exit")
	}
	for _, f := range forks {
		f.listen(t)
		c := dialRedis(t, f.url)
		if other, err := c.get(t.Context(), "k"); !errors.Is(err, errAbsent) {
			t.Errorf("the server at %s is that of %s too (%v)", f.url, other, err)
		}
		if err := c.put(t.Context(), "k", f.url); err != nil {
			t.Error(err)
		}
	}
}
