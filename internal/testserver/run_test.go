package testserver_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/testserver"
)

var script = filepath.Join("..", "..", "scripts", "servers")

func TestRun(t *testing.T) {
	marks := filepath.Join(t.TempDir(), "url")
	for name, tt := range map[string]struct {
		args   []string
		env    string
		exit   int
		stderr string
	}{
		"exit code":  {[]string{"redis", "--", "bash", "-c", `echo -n "$POLYSTORE_TEST_REDIS" >` + marks + `; exit 7`}, "", 7, "servers: redis at 127."},
		"signal":     {[]string{"redis", "--", "bash", "-c", "kill -9 $$"}, "", 137, "servers: redis at 127."},
		"no such":    {[]string{"redis", "--", "/no/such/program"}, "", 127, "/no/such/program"},
		"no command": {[]string{"redis"}, "", 2, "COMMAND"},
		"no store":   {[]string{"oracle", "--", "true"}, "", 2, "oracle"},
		"in vain":    {[]string{"redis", "--", "true"}, "POLYSTORE_TEST_REDIS=redis://:s3cret@" + closed(t), 1, "POLYSTORE_TEST_REDIS"},
	} {
		cmd := command(t, []string{tt.env}, script, append([]string{"run"}, tt.args...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != tt.exit || !strings.Contains(stderr.String(), tt.stderr) {
			t.Errorf("%s: run %q ended with %d, want %d and %q in\n%s", name, tt.args, got, tt.exit, tt.stderr, stderr.String())
		}
	}
	url, err := os.ReadFile(marks)
	if addr := (&fork{url: string(url)}).addr(); err != nil || !strings.HasPrefix(string(url), "redis://") || reachable(addr) {
		t.Errorf("the command was given %q (%v), and after it %s must not answer", url, err, addr)
	}
}

func TestRunUsesWhatAVariableNames(t *testing.T) {
	s := testserver.Shared(t, testserver.Redis)
	out, err := command(t, []string{"POLYSTORE_TEST_REDIS=" + s.URL}, script,
		"run", "redis", "--", "bash", "-c", `echo -n "$POLYSTORE_TEST_REDIS"`).Output()
	if string(out) != s.URL || err != nil || !reachable(s.Addr) {
		t.Errorf("run gave its command %q, %v, want %s, which must stay", out, err, s.URL)
	}
}

func TestRunThatIsTold(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			cmd := command(t, nil, script, "run", "redis", "--", "bash", "-c",
				`echo "$POLYSTORE_TEST_REDIS"; exec sleep 30`)
			f := start(t, cmd)
			f.listen(t)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			if sig == syscall.SIGTERM && cmd.ProcessState.ExitCode() != 128+int(sig) {
				t.Errorf("exit code %d, want that of the command, %d", cmd.ProcessState.ExitCode(), 128+int(sig))
			}
			eventually(t, "server gone", func() bool { return !reachable(f.addr()) })
		})
	}
}

// What the command has started, and does not tell, ends with it, as the tests of "go test"
// must; and with the run itself, however that ends.
func TestRunEndsAll(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			cmd := command(t, nil, script, "run", "redis", "--", "bash", "-c",
				`sleep 60 & echo "$POLYSTORE_TEST_REDIS"; wait`)
			f := start(t, cmd)
			f.listen(t)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			closed := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, f.out) // until nobody has it open any more
				closed <- err
			}()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(30 * time.Second):
				t.Error("what the command started is there 30 s after the signal")
			}
			cmd.Wait()
		})
	}
}
