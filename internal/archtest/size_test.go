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

// exportedBudget is how many types and functions a package may export: what a
// reader of its documentation has to take in.
var exportedBudget = map[string]int{"repo": 52, "repo/driver": 58, "repo/driver/frame": 50, "repo/driver/address": 10, "backends/memory": 5, "backends/pebble": 5, "backends/redis": 5, "backends/mongo": 5, "backends/cassandra": 5}

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
