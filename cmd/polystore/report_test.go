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
		small: "is no result of polystore load", "{": "ends in the middle", `{"format": 1}`: "has format 1, and this version of polystore reads format 3; repeat the run",
		`{"format": 3, "rate": 1}`: "has no workload; ",
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

// A result has the same verdict in every form.
func TestFormsOfAReport(t *testing.T) {
	dir := t.TempDir()
	do(t, "load", write(t, "small.yaml", small), "--out", dir, "--on", "memory:", "--seed", "1")
	result := filepath.Join(dir, "small-1", "result.json")
	const verdict = "as declared: The objective is met."
	page := filepath.Join(dir, "again.html")
	if code, out, diag := do(t, "report", "--html", page, result); code != 0 || out != "" || diag != "" {
		t.Errorf("--html: exit %d, %q, %q", code, out, diag)
	}
	written, err := os.ReadFile(filepath.Join(dir, "small-1", loadtest.PageName))
	again, err2 := os.ReadFile(page)
	if err != nil || err2 != nil || string(written) != string(again) || !strings.Contains(string(again), verdict) {
		t.Errorf("%v, %v: the page is not that of the run, or has not %q", err, err2, verdict)
	}
	for _, flag := range []string{"--all", "--markdown"} {
		if code, out, diag := do(t, "report", flag, result); code != 0 || !strings.Contains(out, verdict) || diag != "" {
			t.Errorf("%s: exit %d, %q, %q", flag, code, out, diag)
		}
	}
	if code, out, _ := do(t, "report", result, "--csv"); code != 0 || !strings.HasPrefix(out, "workload,seed,model,") || strings.Count(out, "\n") != 3 {
		t.Errorf("--csv: exit %d, %q", code, out)
	}
	if code, out, diag := do(t, "report", "--csv", "--all", result); code != loadtest.Usage || out != "" || !strings.Contains(diag, "one at a time") {
		t.Errorf("two forms: exit %d, %q, %q", code, out, diag)
	}
	if code, _, diag := do(t, "report", "--html", filepath.Join(dir, "none", "x.html"), result); code != loadtest.Usage || !strings.Contains(diag, "no such file") {
		t.Errorf("a page in no folder: exit %d, %q", code, diag)
	}
}
