package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest"
)

func TestInit(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "shops.csv")
	if err := os.WriteFile(file, []byte("id,town\n1,a\n2,a\n3,b\n4,b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, printed, diag := do(t, "init", "--print", file)
	if code != loadtest.Met || !strings.Contains(printed, "collection: shops") || diag != "" {
		t.Fatalf("exit %d\n%s%s", code, printed, diag)
	}
	code, out, diag := do(t, "init", file)
	made := filepath.Join(dir, "shops.yaml")
	text, err := os.ReadFile(made)
	if code != loadtest.Met || !strings.HasPrefix(out, made+"\n") || string(text) != printed || err != nil {
		t.Errorf("exit %d, %v\n%s%s%s", code, err, out, diag, text)
	}
	if code, _, diag := do(t, "init", file); code != loadtest.Usage || !strings.Contains(diag, "shops.yaml is there already") {
		t.Errorf("again: exit %d\n%s", code, diag)
	}
	if code, _, diag := do(t, "init", filepath.Join(dir, "none.csv")); code != loadtest.Usage || !strings.Contains(diag, "none.csv") {
		t.Errorf("no file: exit %d\n%s", code, diag)
	}
	if code, out, diag := do(t, "check", "memory:", made); code != loadtest.Met {
		t.Errorf("check: exit %d\n%s%s", code, out, diag)
	}
	code, out, diag = do(t, "load", made, "--on", "memory:", "--rounds", "1", "--round", "200ms", "--out", dir)
	if code == loadtest.Usage || code == loadtest.Wrong || !strings.Contains(out, "agree on") {
		t.Errorf("load: exit %d\n%s%s", code, out, diag)
	}
}
