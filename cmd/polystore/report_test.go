package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/loadtest"
)

// What a run printed is printed again, byte for byte.
func TestReportFile(t *testing.T) {
	file, dir := write(t, "small.yaml", small), t.TempDir()
	two := append([]string{"load", file, "--out", dir, "--on", "memory:", "--on", "memory:"}, "--seed")
	for _, args := range [][]string{{"load", file, "--out", dir, "--on", "memory:", "--seed", "1"}, append(two, "2")} {
		_, screen, _ := do(t, args...)
		result := filepath.Join(dir, "small-"+args[len(args)-1], "result.json")
		code, out, diag := do(t, "report", result)
		if diff := cmp.Diff(screen, out); code != 0 || diag != "" || diff != "" || !strings.Contains(out, "\n  result  "+result+"\n") {
			t.Errorf("exit %d, %q; the run -, its report +\n%s", code, diag, diff)
		}
		saved, err := os.ReadFile(result)
		code, out, diag = do(t, "report", "--json", result)
		if err != nil || code != 0 || out != string(saved) {
			t.Errorf("exit %d, %q, %v: the JSON is not the file", code, diag, err)
		}
	}
}

// A file that is none, or of another version, is told with its name and what to do.
func TestReportOfNoResult(t *testing.T) {
	for text, want := range map[string]string{
		small: "is no result of polystore load", "{": "ends in the middle", `{"format": 1}`: "has format 1, and this version of polystore reads format 2; repeat the run",
		`{"format": 2, "rate": 1}`: "has no workload; ",
	} {
		file := write(t, "result.json", text)
		code, out, diag := do(t, "report", file)
		if code != loadtest.Usage || out != "" || !strings.Contains(diag, file+" "+want) {
			t.Errorf("%.20q: exit %d, %q, %q; want %d and %q", text, code, out, diag, loadtest.Usage, want)
		}
	}
	if code, _, diag := do(t, "report"); code != loadtest.Usage || !strings.Contains(diag, "report takes FILE; it got []") {
		t.Errorf("no file: exit %d, %q", code, diag)
	}
	if err := printReport(t.Context(), []string{"none.json"}, fullDisk{}, fullDisk{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}
