package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest"
)

// A run is compared with an earlier one of the same workload; another workload and another pace are
// refused before anything is measured.
func TestBaseline(t *testing.T) {
	text := strings.Replace(strings.Replace(small, "rounds: 1", "rounds: 4", 1), "round: 500ms", "round: 100ms", 1)
	file, dir := write(t, "small.yaml", text), t.TempDir()
	do(t, "load", file, "--out", dir, "--on", "memory:", "--seed", "1")
	before := filepath.Join(dir, "small-1", "result.json")
	load := func(args ...string) (code int, out, diag string) {
		return do(t, append([]string{"load", "--out", dir, "--on", "memory:", "--baseline", before}, args...)...)
	}
	code, out, diag := load("--seed", "2", file)
	if code == loadtest.Usage || code == loadtest.Wrong || !strings.Contains(out, "\nAgainst "+before+":\n") || !strings.Contains(out, "seed: 1, and then 2") || strings.Contains(out, "NOT COMPARABLE") {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
	later := filepath.Join(dir, "small-2", "result.json")
	_, again, _ := do(t, "compare", before, later)
	if !strings.HasSuffix(out, again) || again == "" {
		t.Errorf("load says %q, and compare %q", out, again)
	}
	if code, out, _ := do(t, "compare", before, before); code != 0 || !strings.Contains(out, "NO REGRESSION: 0 worse, 0 better") {
		t.Errorf("with itself: exit %d, %q", code, out)
	}
	for want, args := range map[string][]string{
		"the pace is another: 20/s, 4 rounds of 100ms, 64 slots, and 30/s": {"--rate", "30", file},
		"the workload file says something else":                            {write(t, "small.yaml", strings.Replace(text, "max: 3}", "max: 2}", 1))},
	} {
		code, out, diag := load(args...)
		if code != loadtest.Invalid || out != "" || !strings.Contains(diag, before) || !strings.Contains(diag, want) || strings.Contains(diag, "measure 1") {
			t.Errorf("%q: exit %d, %q, %q", want, code, out, diag)
		}
	}
	for _, none := range []string{filepath.Join(dir, "none.json"), file} {
		for _, args := range [][]string{{"load", "--out", dir, "--on", "memory:", "--baseline", none, file}, {"compare", none, before}, {"compare", before, none}} {
			if code, out, diag := do(t, args...); code != loadtest.Usage || out != "" || !strings.Contains(diag, none) {
				t.Errorf("%s: exit %d, %q, %q", args, code, out, diag)
			}
		}
	}
}

// An older result has neither fingerprint nor time line, and is shown and compared all the same.
func TestOlderResults(t *testing.T) {
	text := strings.Replace(strings.Replace(small, "rounds: 1", "rounds: 4", 1), "round: 500ms", "round: 100ms", 1)
	dir := t.TempDir()
	do(t, "load", write(t, "small.yaml", text), "--out", dir, "--on", "memory:", "--seed", "1")
	file := filepath.Join(dir, "small-1", "result.json")
	r, err := loadtest.ReadResult(file)
	if err != nil || r.Fingerprint == "" || len(r.Candidates[0].Rounds[1].Series) == 0 || r.Candidates[0].Rounds[1].Began <= 0 {
		t.Fatalf("%v: fingerprint %q, and a round without a time line", err, r.Fingerprint)
	}
	r.Fingerprint, r.Environment.Machine = "", ""
	for i := range r.Candidates[0].Rounds {
		x := &r.Candidates[0].Rounds[i]
		x.Began, x.Series = 0, nil
	}
	old, err := os.Create(filepath.Join(dir, "old.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteJSON(old); err != nil || old.Close() != nil {
		t.Fatal(err)
	}
	if code, _, diag := do(t, "report", "--html", filepath.Join(dir, "old.html"), old.Name()); code != 0 {
		t.Errorf("page: exit %d, %q", code, diag)
	}
	if code, out, diag := do(t, "compare", old.Name(), file); code != 0 || !strings.Contains(out, "NO REGRESSION") {
		t.Errorf("compare: exit %d, %q, %q", code, out, diag)
	}
}
