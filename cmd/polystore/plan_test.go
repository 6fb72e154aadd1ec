package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest"
)

// Results of two sizes give a forecast; one size, no number of records, and what is no result are refused.
func TestPlan(t *testing.T) {
	text := strings.Replace(strings.Replace(small, "rounds: 1", "rounds: 4", 1), "round: 500ms", "round: 100ms", 1)
	file, dir := write(t, "small.yaml", text), t.TempDir()
	var results []string
	for i, records := range []string{"5", "20"} {
		do(t, "load", file, "--out", dir, "--on", "memory:", "--records", records, "--seed", []string{"1", "2"}[i])
		results = append(results, filepath.Join(dir, "small-"+[]string{"1", "2"}[i], "result.json"))
	}
	code, out, diag := do(t, append([]string{"plan", "--records", "80"}, results...)...)
	if code != 0 || !strings.Contains(out, "small: a forecast for 80 records of ") || !strings.Contains(out, "4 times the largest of 2 results") || !strings.Contains(out, "at 80") {
		t.Errorf("exit %d, %q, %q", code, out, diag)
	}
	code, out, diag = do(t, append([]string{"plan", "--json", "--records", "80"}, results...)...)
	if code != 0 || !strings.HasPrefix(out, "{") || !strings.Contains(out, `"unit": "bytes"`) {
		t.Errorf("as JSON: exit %d, %q, %q", code, out, diag)
	}
	for want, args := range map[string][]string{
		"plan takes RESULT RESULT...":             results[:1],
		"say for how many records":                results,
		"the sizes are too alike":                 {"--records", "80", results[0], results[0]},
		"is no size that a forecast reaches":      {"--records", "1000000", results[0], results[1]},
		filepath.Join(dir, "none", "result.json"): {"--records", "80", results[0], filepath.Join(dir, "none", "result.json")},
	} {
		if code, out, diag := do(t, append([]string{"plan"}, args...)...); code != loadtest.Usage || out != "" || !strings.Contains(diag, want) {
			t.Errorf("%q: exit %d, %q, %q", want, code, out, diag)
		}
	}
}
