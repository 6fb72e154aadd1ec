package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/polystore/polystore/internal/process"
	"github.com/polystore/polystore/loadtest"
)

const asProgram = "POLYSTORE_TEST_PROGRAM" // set for a process that is the program and no test

// signalled runs the program and sends it a signal once it prints a text. It returns how it
// ended and what it printed to standard error.
func signalled(t *testing.T, at string, signal os.Signal, words ...string) (*os.ProcessState, string) {
	t.Helper()
	return disturbed(t, at, func(p *os.Process, _ io.Closer) error { return p.Signal(signal) }, words...)
}

// disturbed runs the program and does something to it, or to what reads it, once it prints a text.
func disturbed(t *testing.T, at string, disturb func(*os.Process, io.Closer) error, words ...string) (*os.ProcessState, string) {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.Stdout = io.Discard
	pipe, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var diag strings.Builder
	sent := false
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		diag.WriteString(lines.Text() + "\n")
		if !sent && strings.Contains(lines.Text(), at) {
			sent = true
			if err := disturb(cmd.Process, pipe); err != nil {
				t.Error(err)
			}
		}
	}
	_ = cmd.Wait() // the state says more
	if !sent {
		t.Errorf("the program did not print %q:\n%s", at, &diag)
	}
	return cmd.ProcessState, diag.String()
}

// The end of the terminal ends a run in order, as Ctrl-C does, unless it is to be ignored.
func TestHangup(t *testing.T) {
	file, dir := write(t, "small.yaml", strings.Replace(small, "rounds: 1", "rounds: 4", 1)), t.TempDir()
	state, diag := signalled(t, "measure", syscall.SIGHUP, os.Args[0], "load", "--out", dir, file)
	if entries, err := os.ReadDir(dir); state.ExitCode() != interrupted || err != nil || len(entries) != 0 || !strings.Contains(diag, "what the run had written is removed") {
		t.Errorf("%v, left %v, %v\n%s", state, entries, err, diag)
	}
	state, diag = signalled(t, "measure", syscall.SIGHUP, "sh", "-c", `trap "" HUP; exec "$@"`, "sh", os.Args[0], "load", "--out", dir, file)
	if _, err := os.Stat(filepath.Join(dir, "small-1", "result.json")); state.ExitCode() != 0 || err != nil {
		t.Errorf("the signal is ignored: %v, %v\n%s", state, err, diag)
	}
}

// Who reads what the program prints ends before it, as tee does at Ctrl-C. The run ends in order.
func TestNobodyReads(t *testing.T) {
	file, dir := write(t, "small.yaml", small), t.TempDir()
	state, diag := disturbed(t, "measure", func(p *os.Process, pipe io.Closer) error {
		return errors.Join(pipe.Close(), p.Signal(os.Interrupt))
	}, os.Args[0], "load", "--out", dir, file)
	if entries, err := os.ReadDir(dir); state.ExitCode() != interrupted || err != nil || len(entries) != 0 {
		t.Errorf("interrupted: %v, left %v, %v\n%s", state, entries, err, diag)
	}
	state, diag = disturbed(t, "measure", func(_ *os.Process, pipe io.Closer) error { return pipe.Close() }, os.Args[0], "load", "--out", dir, file)
	if left, err := filepath.Glob(filepath.Join(dir, ".store-*")); !state.Exited() || err != nil || len(left) != 0 {
		t.Errorf("not interrupted: %v, left %v, %v\n%s", state, left, err, diag)
	}
}

// A run that was killed leaves its new store. The next one names it, and --clean removes it and
// nothing else.
func TestCleanAfterAKill(t *testing.T) {
	file, dir := write(t, "small.yaml", small), t.TempDir()
	if state, diag := signalled(t, "measure", syscall.SIGKILL, os.Args[0], "load", "--out", dir, file); state.Exited() {
		t.Fatalf("%v\n%s", state, diag)
	}
	for _, other := range []string{".store-mine", ".store-12", "other"} {
		if err := os.Mkdir(filepath.Join(dir, other), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".store-*-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("the killed run left %v, %v", left, err)
	}
	_, _, diag := do(t, "load", "--keep", "--out", dir, file)
	if want := "has stores of runs that were killed (" + filepath.Base(left[0]) + "); polystore load --clean --out " + dir + " pebble: removes them\n"; !strings.Contains(diag, want) {
		t.Errorf("the next run does not say %q:\n%s", want, diag)
	}
	if code, out, diag := do(t, "load", "--clean", "--out", dir, "pebble:"); code != 0 || out != "removed: "+left[0]+"\n" {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 5 { // with the result and the kept store
		t.Errorf("%v, %v are left, want five", entries, err)
	}
	if code, out, _ := do(t, "load", "--clean", "--out", dir, "pebble:"); code != 0 || out != dir+" has no store of a killed run\n" {
		t.Errorf("again: exit %d, %q", code, out)
	}
}

// The folder of a process is not taken for that of another one with its number, nor for one of this
// machine when it is of another.
func TestDeadFolders(t *testing.T) {
	dir, gone := t.TempDir(), 1<<30
	here := func(pid int, mark string) string { return fmt.Sprintf(".store-%s-%d-%s-7", machine(), pid, mark) }
	folders := map[string]bool{
		here(os.Getpid(), process.Mark(os.Getpid())): false,
		here(os.Getpid(), "0123456789ab"):            process.Mark(os.Getpid()) != "",
		here(gone, ""):                               true,
		here(gone, "0123456789ab"):                   true,
		fmt.Sprintf(".store-%06x-%d--7", 0, gone):    false,
		fmt.Sprintf(".store-%06x-%d--8", 0, gone):    true, // made old below
		".store-12-34":                               false,
	}
	var want []string
	for name, dead := range folders {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if dead {
			want = append(want, name)
		}
	}
	old := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(filepath.Join(dir, fmt.Sprintf(".store-%06x-%d--8", 0, gone)), old, old); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	if got, err := deadFolders(dir); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v are dead, want %q", got, err, want)
	}
}

// What a killed run left on a server is removed by --clean, and nothing else.
func TestCleanAServerAfterAKill(t *testing.T) {
	g, file := newGuarded(t), write(t, "small.yaml", small)
	if state, diag := signalled(t, "measure", syscall.SIGKILL, os.Args[0], "load", "--on", g.url, "--out", t.TempDir(), file); state.Exited() {
		t.Fatalf("%v\n%s", state, diag)
	}
	_, _, diag := do(t, "load", "--on", g.url, "--out", t.TempDir(), file)
	if !strings.Contains(diag, "has 2 collections of run load_") || !strings.Contains(diag, "which was killed; polystore load --clean redis://:***@") {
		t.Errorf("the next run does not name what was left:\n%s", diag)
	}
	code, out, diag := do(t, "load", "--clean", g.url)
	if code != 0 || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "removed: run load_") {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
	g.check(t, out, diag)
	if code, out, _ = do(t, "load", "--clean", g.url); code != 0 || !strings.HasSuffix(out, " has nothing of a killed run\n") {
		t.Errorf("again: exit %d, %q", code, out)
	}
}

// What a killed run of conform left is removed by --clean.
func TestCleanConformAfterAKill(t *testing.T) {
	dir := t.TempDir()
	url := "pebble:" + filepath.Join(dir, "db")
	if state, diag := signalled(t, "random operations", syscall.SIGKILL, os.Args[0], "conform", url, "--only", "unique,random operations", "--ops", "400000"); state.Exited() {
		t.Fatalf("%v\n%s", state, diag)
	}
	code, out, diag := do(t, "conform", "--clean", url)
	if code != 0 || strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "removed: run cf") {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
	if code, out, _ = do(t, "conform", "--clean", url); code != 0 || out != "the store has nothing of a killed run\n" {
		t.Errorf("again: exit %d, %q", code, out)
	}
	code, out, _ = do(t, "conform", "--clean", "pebble:"+filepath.Join(dir, "none"))
	if _, err := os.Stat(filepath.Join(dir, "none")); code != loadtest.Usage || out != "" || !os.IsNotExist(err) {
		t.Errorf("of no store: exit %d, %q, %v", code, out, err)
	}
}

func TestCleanOfNoStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	for url, want := range map[string]string{"small.yaml": "--clean takes the URL of a store", "pebble:" + dir: "", "redis://10.1.2.3:6379": "is not on this machine"} {
		code, out, diag := do(t, "load", "--clean", url)
		if code != loadtest.Usage || out != "" || !strings.Contains(diag, want) {
			t.Errorf("%s: exit %d, %q, %q", url, code, out, diag)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a store was made to be cleaned: %v", err)
	}
}

func TestWithOption(t *testing.T) {
	for url, want := range map[string]string{
		"pebble:/a":                      "pebble:/a?create=false",
		"pebble:/a?sync=false":           "pebble:/a?create=false&sync=false",
		"pebble:/a?create=true&recreate": "pebble:/a?create=false&recreate",
		"redis://a?":                     "redis://a?create=false",
	} {
		if got := withOption(url, "create=false"); got != want {
			t.Errorf("withOption(%q) = %q, want %q", url, got, want)
		}
	}
}
