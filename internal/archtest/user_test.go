package archtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// modulesOf makes a module of its own that imports one package of this one, tidies
// it, and returns the modules that it then requires.
func modulesOf(t *testing.T, imported string) []string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	name := strings.TrimSuffix(module, "/")
	write("main.go", "package main\n\nimport _ \""+module+imported+"\"\n\nfunc main() {}\n")
	write("go.mod", "module example.com/user\n\ngo 1.26\n\nrequire "+name+" v0.0.0\n\nreplace "+name+" => "+root+"\n")
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write("go.sum", string(sum))
	tidy := exec.CommandContext(t.Context(), "go", "mod", "tidy")
	tidy.Dir, tidy.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := tidy.CombinedOutput(); err != nil {
		t.Fatalf("go mod tidy: %v\n%s", err, out)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
	list.Dir, list.Env = dir, tidy.Env
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := map[string]bool{}
	for _, path := range strings.Fields(string(out)) {
		seen[path] = true
	}
	var mods []string
	for path := range seen {
		mods = append(mods, path)
	}
	return mods
}

// Who imports package repo alone is kept free of drivers and test tools.
func TestRepoAloneBringsNothing(t *testing.T) {
	if mods := modulesOf(t, "repo"); len(mods) != 2 { // the program itself, and this module
		t.Errorf("a program that imports repo alone is built with %v", mods)
	}
	if mods := modulesOf(t, "backends/pebble"); len(mods) < 5 {
		t.Errorf("a program that imports the Pebble backend is built with %v, so nothing is measured", mods)
	}
}
