package testserver_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/testserver"
)

var stores = []testserver.Store{testserver.Redis, testserver.Mongo, testserver.Cassandra}

// child, when set, makes this test binary a process that opens a server of the store named, says
// where it is, and ends in the way that stands after the store when its input says so.
const child = "TESTSERVER_CHILD"

func TestMain(m *testing.M) {
	if order := os.Getenv(child); order != "" {
		store, way, _ := strings.Cut(order, " ")
		beChild(testserver.Store(store), way)
	}
	os.Exit(m.Run())
}

func beChild(store testserver.Store, way string) {
	s, err := testserver.Open(store)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL, s.Dir())
	os.Stdin.Read(make([]byte, 1))
	switch way {
	case "panic":
		panic("as ordered")
	case "interrupt":
		self().Signal(os.Interrupt)
	case "kill":
		self().Kill()
	}
	if way != "exit" {
		time.Sleep(time.Minute)
	}
	os.Exit(3)
}

func self() *os.Process {
	p, err := os.FindProcess(os.Getpid())
	if err != nil {
		panic(err)
	}
	return p
}

// command returns a command whose environment names no server, but for what env adds.
func command(t *testing.T, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = os.Environ()
	for _, store := range stores {
		cmd.Env = append(cmd.Env, store.Variable()+"=")
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// again returns a command that is this test binary.
func again(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return command(t, env, binary, args...)
}
