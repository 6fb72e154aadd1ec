package document

import (
	"os"
	"path/filepath"
	"testing"
)

// The fingerprint tells what a file says, and nothing of how it says that, nor of the keys that are left out.
func TestFingerprint(t *testing.T) {
	of := func(text string) string {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		print, err := Fingerprint(file, "seed", "rate")
		if err != nil || len(print) != 16 {
			t.Fatalf("%q: %q, %v", text, print, err)
		}
		return print
	}
	was := of("seed: 1\nrate: 20\nqueries: [{name: a, weight: 50, min: 1.5}, {name: b}]\nmodels: {x: 1, y: [2]}\n")
	for text, same := range map[string]bool{
		"# a comment\nmodels:\n  y:\n    - 2\n  x: 1\nqueries:\n  - {weight: 50, name: a, min: 1.5}\n  - name: b\n": true,
		"seed: 7\nqueries: [{name: a, weight: 50, min: 1.5}, {name: b}]\nmodels: {x: 1, y: [2]}\n":                  true,
		"queries: [{name: a, weight: 50, min: 1.5}, {name: b}]\nmodels: {x: 1, y: [3]}\n":                           false,
		"queries: [{name: b}, {name: a, weight: 50, min: 1.5}]\nmodels: {x: 1, y: [2]}\n":                           false,
		"queries: [{name: a, weight: 50, min: .nan}]\n":                                                             false,
	} {
		if got := of(text); (got == was) != same {
			t.Errorf("%q: %s, and %s; same %v wanted", text, got, was, same)
		}
	}
	if _, err := Fingerprint(filepath.Join(t.TempDir(), "none.yaml")); err == nil {
		t.Error("a file that is not there has a fingerprint")
	}
}
