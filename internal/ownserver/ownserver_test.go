package ownserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/ownserver"
)

// program is the name by which this test binary is a server, which says how often it was started on its data.
const program = "redis-server"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == program {
		if err := serve(os.Args[1:]); err != nil {
			fmt.Println("this server failed:", err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func serve(args []string) error {
	if slices.Contains(args, "--broken") {
		return io.ErrUnexpectedEOF
	}
	of := func(name string) string { return args[slices.Index(args, name)+1] }
	starts, err := os.OpenFile(filepath.Join(of("--dir"), "starts"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if _, err := starts.WriteString("i"); err != nil {
		return err
	}
	text, err := os.ReadFile(starts.Name())
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp4", net.JoinHostPort(of("--bind"), of("--port")))
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		fmt.Fprintf(c, "%s\n", text)
		_ = c.Close()
	}
}

// inPath makes the test binary the one server in the PATH.
func inPath(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, program))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
}

// says returns what a server says to a new client, "" if nothing comes within a time.
func says(s *ownserver.Server, within time.Duration) string {
	addr := strings.TrimSuffix(strings.TrimPrefix(s.URL, "redis://"), "/0")
	c, err := net.DialTimeout("tcp4", addr, within)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(within))
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

// A server keeps its data and its address when it is killed, and says nothing while it stands still.
func TestServer(t *testing.T) {
	inPath(t)
	s, err := ownserver.Start(t.Context(), "redis", nil, "", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
	})
	const long = time.Minute
	if got := says(s, long); got != "i" {
		t.Fatalf("it says %q", got)
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	still := false
	for end := time.Now().Add(long); !still && time.Now().Before(end); {
		still = says(s, 100*time.Millisecond) == "" // it may do something yet when the signal is sent
	}
	if !still {
		t.Error("it does not stand still")
	}
	if err := s.Resume(); err != nil || says(s, long) != "i" {
		t.Errorf("%v; it does not go on", err)
	}
	for range 2 { // the second time it has ended already
		if err := s.Kill(); err != nil || says(s, time.Second) != "" {
			t.Errorf("%v; it is still there", err)
		}
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	again := ""
	for end := time.Now().Add(long); again == "" && time.Now().Before(end); {
		again = says(s, time.Second)
	}
	if again != "ii" {
		t.Errorf("it says %q; want that it was started twice on its data", again)
	}
}

// What cannot be started is told with the remedy.
func TestServersThatCannotBe(t *testing.T) {
	inPath(t)
	for _, tt := range []struct{ store, args, want string }{
		{"pebble", "", "want redis, mongo or cassandra"},
		{"mongo", "", "mongod is not in the PATH: install MongoDB 6 or newer; or name the file scripts/servers"},
		{"cassandra", "", "as by --servers scripts/servers"},
		{"redis", "--broken", "it ended at once; the end of its log: this server failed: unexpected EOF"},
	} {
		_, err := ownserver.Start(t.Context(), tt.store, strings.Fields(tt.args), "", t.TempDir())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %q", tt.store, tt.args, err, tt.want)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ownserver.Start(gone, "redis", nil, "", t.TempDir()); err == nil {
		t.Error("a server is started for who is gone")
	}
}
