package testserver

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// occupied returns an address that is taken.
func occupied(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func mustLauncher(t *testing.T) launcher {
	t.Helper()
	l, err := newLauncher()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestTakenAddressIsTriedElsewhere(t *testing.T) {
	for _, store := range []Store{Redis, Mongo, Cassandra} {
		t.Run(string(store), func(t *testing.T) {
			t.Parallel()
			l, taken, asked := mustLauncher(t), occupied(t), 0
			l.choose = func(host string) (string, error) {
				if asked++; asked == 1 {
					return taken, nil
				}
				return freeAddress(host)
			}
			s, err := l.launch(t.Context(), store.kind(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.close()
			if s.Addr == taken || asked != 2 {
				t.Errorf("at %s after %d choices, want 2 and not %s", s.Addr, asked, taken)
			}
		})
	}
}

// What each server says of an address that is taken is known, of whichever of its ports, and
// other errors are no reason to try elsewhere.
func TestAddressTaken(t *testing.T) {
	for text, want := range map[string]bool{
		"bind: Address already in use":           true,
		"java.net.BindException: Address in use": true,
		"ConfigurationException: /127.0.0.1:7000 is in use by another process.  Change listen_address:storage_port": true,
		"Bind for 127.0.0.1:6379 failed: port is already allocated":                                                 true,
		"connection refused":      false,
		"no space left on device": false,
	} {
		if got := addressTaken(errors.New(text)); got != want {
			t.Errorf("%q says that the address is taken: %v, want %v", text, got, want)
		}
	}
}

func TestAddressThatStaysTaken(t *testing.T) {
	t.Parallel()
	l, taken, dirs := mustLauncher(t), occupied(t), 0
	l.choose = func(string) (string, error) { dirs++; return taken, nil }
	_, err := l.launch(t.Context(), Redis.kind(), nil)
	if err == nil || !strings.Contains(err.Error(), taken) || dirs != attempts {
		t.Errorf("%v after %d choices, want an error with %s after %d", err, dirs, taken, attempts)
	}
}

func TestFailedStartShowsTheLogAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, err := mustLauncher(t).launch(t.Context(), Redis.kind(), []string{"--no-such-option", "x"})
	if err == nil || !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("start with a bad option: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestNativeServerThatIsNotInstalled(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, store := range []Store{Mongo, Cassandra} {
		_, err := mustLauncher(t).attempt(t.Context(), nil, store.kind(), loopback(), func(string) []string { return nil })
		if want := "run scripts/servers install " + string(store); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s that is not installed: %v, want %q", store, err, want)
		}
	}
}

func TestScriptIsNotFound(t *testing.T) {
	t.Chdir(os.TempDir())
	if l, err := newLauncher(); err == nil || !strings.Contains(err.Error(), "scripts/servers") {
		t.Errorf("outside of the repository: %v, %v", l.script, err)
	}
}
