package conformance

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo/driver"
)

// A hoarder keeps acknowledged commits in memory until Close.
type hoarder struct {
	driver.Store
	mu   sync.Mutex
	kept []func() error
}

func (h *hoarder) Commit(_ context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, func() error {
		_, err := h.Store.Commit(context.Background(), token, ops)
		return err
	})
	return nil, nil
}

func (h *hoarder) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, do := range h.kept {
		if err := do(); err != nil {
			return err
		}
	}
	return h.Store.Close()
}

// What a child of the tests opens, and whether it hoards, or dies by itself.
const (
	childDir = "POLYSTORE_TEST_CHILD_DIR"
	childWay = "POLYSTORE_TEST_CHILD_WAY"
)

func openForChild(dir, way string) Open {
	return func(context.Context) (driver.Store, error) {
		s, err := pebble.Open(dir, nil)
		if err != nil || way != "hoards" {
			return s, err
		}
		return &hoarder{Store: s}, nil
	}
}

func TestMain(m *testing.M) {
	Child(openForChild(os.Getenv(childDir), os.Getenv(childWay)))
	if os.Getenv(childWay) == "dies" {
		dieInARule()
	}
	os.Exit(m.Run())
}

// Acknowledged commits that are kept in memory until Close are found missing when the process
// was killed, and by nothing else.
func TestKilledWriters(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ way, want string }{
		{"commits", "a loss of power was not checked"},
		{"hoards", "missing, by writer "},
	} {
		t.Run(tt.way, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			child := func() *exec.Cmd {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), childDir+"="+dir, childWay+"="+tt.way)
				return cmd
			}
			report, err := Check(t.Context(), openForChild(dir, tt.way), Options{Only: "close/kept,killed writers", Child: child})
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			if err := report.WriteText(&text); err != nil || !strings.Contains(text.String(), tt.want) {
				t.Errorf("%v, want %q in\n%s", err, tt.want, text.String())
			}
			if want := map[string]int{"commits": 0, "hoards": 1}[tt.way]; report.Failed != want {
				t.Errorf("%d fail, want %d:\n%s", report.Failed, want, text.String())
			}
		})
	}
}

// A child that ends by itself was not killed.
func TestChildThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child := func() *exec.Cmd { return exec.Command(os.Args[0], "-test.run=^$") } // it opens "", which is no directory
	report, err := Check(t.Context(), openForChild(dir, ""), Options{Only: "killed writers", Child: child})
	if err != nil || report.Failed != 1 || !strings.Contains(report.Groups[0].Failed[0].Got, "failed: open: ") {
		t.Errorf("%v, %+v", err, report)
	}
}

// Without a child the report says that durability was not checked.
func TestNoChild(t *testing.T) {
	t.Parallel()
	report, err := Check(t.Context(), openForChild(t.TempDir(), ""), Options{Only: "killed writers"})
	if err != nil || len(report.Groups) != 1 || !strings.HasPrefix(report.Groups[0].Note, "durability was not checked: ") {
		t.Errorf("%v, %+v", err, report)
	}
}
