package archtest_test

import (
	"go/ast"
	"go/token"
	"testing"
)

const (
	maxFunction = 60  // lines of a function, signature and braces included
	maxFile     = 400 // lines of a file that is no test
	maxParams   = 6   // of a function, context included
	maxMethods  = 40  // of a type
)

// A function is one function or method of a file.
type function struct {
	name        string
	line, lines int
	params      int
}

func functions(f file) []function {
	var list []function
	ast.Inspect(f.ast, func(n ast.Node) bool {
		d, ok := n.(*ast.FuncDecl)
		if !ok || d.Body == nil {
			return true
		}
		at := func(p token.Pos) int { return f.fset.Position(p).Line }
		list = append(list, function{d.Name.Name, at(d.Pos()), at(d.End()) - at(d.Pos()) + 1, d.Type.Params.NumFields()})
		return true
	})
	return list
}

func TestSizes(t *testing.T) {
	for _, f := range files(t) {
		if f.size > maxFile && !f.isTest() {
			t.Errorf("%s has %d lines, at most %d: split it by noun", f.path, f.size, maxFile)
		}
		for _, fn := range functions(f) {
			if fn.lines > maxFunction {
				t.Errorf("%s:%d: %s has %d lines, at most %d", f.path, fn.line, fn.name, fn.lines, maxFunction)
			}
			if fn.params > maxParams && !f.isTest() {
				t.Errorf("%s:%d: %s has %d parameters, at most %d", f.path, fn.line, fn.name, fn.params, maxParams)
			}
		}
	}
}

// methods counts the methods of each type, of its pointer too, that files which are no tests declare.
func methods(list []file) map[string]int {
	count := map[string]int{}
	for _, f := range list {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && !f.isTest() {
				count[f.dir+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	return count
}

// receiver returns the name of the type of a receiver.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func TestMethods(t *testing.T) {
	count := methods(files(t))
	for name, n := range count {
		if n > maxMethods {
			t.Errorf("%s has %d methods, at most %d: cut it by noun", name, n, maxMethods)
		}
	}
	if n := count["repo.Repo"]; n < 20 { // a generic type, whose methods have pointers and values
		t.Errorf("repo.Repo has %d methods: not all are counted", n)
	}
}

// exportedBudget is how many types and functions a package may export: what a
// reader of its documentation has to take in.
var exportedBudget = map[string]int{"repo": 71, "repo/driver": 65, "repo/driver/frame": 53, "repo/driver/address": 10, "backends/memory": 5, "backends/pebble": 5, "backends/redis": 5, "backends/mongo": 5, "backends/cassandra": 5}

func TestExportedBudget(t *testing.T) {
	count := map[string]int{}
	for _, f := range files(t) {
		if _, ok := exportedBudget[f.dir]; ok && !f.isTest() {
			count[f.dir] += len(exported(f))
		}
	}
	for dir, most := range exportedBudget {
		if n := count[dir]; n == 0 || n > most {
			t.Errorf("package %s exports %d names, want 1 to %d", dir, n, most)
		}
	}
}

// exported returns the types and functions that a file exports.
func exported(f file) []string {
	var names []string
	for name, obj := range f.ast.Scope.Objects {
		if (obj.Kind == ast.Typ || obj.Kind == ast.Fun) && ast.IsExported(name) {
			names = append(names, name)
		}
	}
	return names
}

func TestSizeRulesCatch(t *testing.T) {
	var longest, widest int
	for _, f := range files(t) {
		for _, fn := range functions(f) {
			longest, widest = max(longest, fn.lines), max(widest, fn.params)
		}
	}
	if longest < 20 || widest < 3 {
		t.Errorf("longest function %d lines, widest %d parameters: nothing is measured", longest, widest)
	}
}
