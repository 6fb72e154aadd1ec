package archtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// platforms are those that the tests do not run on.
var platforms = []string{"linux/386", "windows/amd64", "darwin/arm64"}

// A unit is a package as go list tells it, or one with its tests.
type unit struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // from paths in the files to those of units
	Module          *struct{ Main bool }
}

// The modules and their tests have no error of types on any platform. Nothing is compiled, not
// even what is imported, which makes it fast with an empty cache.
func TestPlatforms(t *testing.T) {
	for _, platform := range platforms {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			for _, fault := range append(typeErrors(t, "../..", platform), typeErrors(t, "../../otel", platform)...) {
				t.Error(fault)
			}
		})
	}
}

// Faults of one platform are found on that platform, in tests too.
func TestPlatformsTold(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module other\ngo 1.26\n",
		"a.go":           "package other\nvar A = []string{}",
		"a_windows.go":   "package other\nvar wrong int = A",
		"b/b.go":         "package b\nimport . \"other\"\nvar B = len(A)",
		"b/386_test.go":  "package b\nvar C int = 1 << 40", // fits where an int has 64 bits
		"b/out_test.go":  "package b_test\nimport \"other/b\"\nvar D = b.C",
		"b/in_darwin.go": "package b\nfunc f() { return B }",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for platform, want := range map[string]string{"linux/386": "386_test.go", "windows/amd64": "a_windows.go", "darwin/arm64": "in_darwin.go", "linux/arm64": ""} {
		faults := typeErrors(t, dir, platform)
		if (len(faults) > 0) != (want != "") {
			t.Errorf("%s: faults %v, want them in %q", platform, faults, want)
		}
		for _, fault := range faults {
			if e, ok := errors.AsType[types.Error](fault); !ok || filepath.Base(e.Fset.Position(e.Pos).Filename) != want {
				t.Errorf("%s: %v, want it in %q", platform, fault, want)
			}
		}
	}
}

// typeErrors returns the faults of the module in a folder on a platform.
func typeErrors(t *testing.T, dir, platform string) (faults []error) {
	t.Helper()
	goos, goarch, _ := strings.Cut(platform, "/")
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conf := types.Config{FakeImportC: true, Sizes: types.SizesFor("gc", goarch)}
	fset, known := token.NewFileSet(), map[string]*types.Package{}
	for list := json.NewDecoder(out); ; { // what is imported comes first
		var u unit
		if err := list.Decode(&u); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(u.ImportPath, ".test") { // whose files are only in the cache
			faults = append(faults, u.check(conf, fset, known)...)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return faults
}

// check makes the unit known, and returns its faults if it belongs to the module.
func (u *unit) check(conf types.Config, fset *token.FileSet, known map[string]*types.Package) (faults []error) {
	ours := u.Module != nil && u.Module.Main
	var parsed []*ast.File
	for _, name := range u.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(u.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		parsed = append(parsed, f)
	}
	conf.IgnoreFuncBodies = !ours
	conf.Importer = importer(func(path string) (*types.Package, error) {
		if to, ok := u.ImportMap[path]; ok {
			path = to
		}
		if path == "unsafe" {
			return types.Unsafe, nil
		}
		if known[path] == nil {
			return nil, fmt.Errorf("%s imports %s, which go list does not name before it", u.ImportPath, path)
		}
		return known[path], nil
	})
	conf.Error = func(err error) {
		if ours {
			faults = append(faults, err)
		}
	}
	path, _, _ := strings.Cut(u.ImportPath, " ")                 // then, in brackets, the test that it is compiled for
	known[u.ImportPath], _ = conf.Check(path, fset, parsed, nil) // its errors were told
	return faults
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
