package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/polystore/polystore/"

// A file is one Go file of the module, parsed.
type file struct {
	path string // from the module's root, with slashes
	dir  string
	fset *token.FileSet
	ast  *ast.File
	size int // lines
}

func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// files parses every Go file of the module. It looks at the files themselves, so
// that a cached test result notices new ones.
func files(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var list []file
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") && path != root {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		f, err := parse(root, path)
		list = append(list, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 50 {
		t.Fatalf("found %d Go files, so this looked in the wrong place", len(list))
	}
	return list
}

func parse(root, path string) (file, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return file{}, err
	}
	rel = filepath.ToSlash(rel)
	dir := "."
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		dir = rel[:i]
	}
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, rel, src, parser.ParseComments)
	return file{rel, dir, fset, parsed, strings.Count(string(src), "\n")}, err
}
