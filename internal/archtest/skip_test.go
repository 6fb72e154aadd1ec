package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// skips returns the calls in a file by which a test leaves something out.
func skips(f *ast.File) []string {
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch sel.Sel.Name {
		case "Skip", "Skipf", "SkipNow", "Short":
			if x, ok := sel.X.(*ast.Ident); ok && (x.Name == "t" || x.Name == "b" || x.Name == "f" || x.Name == "tb" || x.Name == "testing") {
				found = append(found, x.Name+"."+sel.Sel.Name)
			}
		}
		return true
	})
	return found
}

// No test leaves itself out: what cannot be tested on a machine fails there, with
// a message that says what to install.
func TestNothingSkips(t *testing.T) {
	for _, f := range files(t) {
		if found := skips(f.ast); f.isTest() && len(found) > 0 {
			t.Errorf("%s uses %s", f.path, strings.Join(found, ", "))
		}
	}
	control, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x; func f() { t.Skip() }", 0)
	if err != nil || len(skips(control)) != 1 {
		t.Errorf("a skip is not seen: %v", err)
	}
}
