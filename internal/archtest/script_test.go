package archtest_test

import (
	"fmt"
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var withoutRace = regexp.MustCompile(`(?m)^without_race='\^\((.*)\)\$'\npackages_without_race='/polystore/\((.*)\)\$'$`)

// secondRun has the folders of the run without the race detector.
var secondRun = regexp.MustCompile(`(?m)^.*-run "\$without_race" (.*) \|\|`)

// under reports whether a folder is one that a pattern of go test names.
func under(dir, pattern string) bool {
	pattern = strings.TrimPrefix(pattern, "./")
	if all, ok := strings.CutSuffix(pattern, "..."); ok {
		return strings.HasPrefix(dir, all)
	}
	return dir == pattern
}

// misplaced returns what a script names that the second run would not find, or that the first leaves out elsewhere:
// of every test it is told in which folders it is.
func misplaced(script string, tests map[string][]string) (bad []string) {
	m, second := withoutRace.FindStringSubmatch(script), secondRun.FindAllStringSubmatch(script, -1)
	if m == nil || second == nil {
		return []string{"the script does not say what runs without the race detector"}
	}
	runs := strings.Split(m[2], "|") // whole packages
	for _, run := range second {
		runs = append(runs, strings.Fields(run[1])...)
	}
	for name := range strings.SplitSeq(m[1], "|") {
		if len(tests[name]) == 0 {
			bad = append(bad, "there is no "+name)
		}
		for _, dir := range tests[name] {
			if !slices.ContainsFunc(runs, func(run string) bool { return under(dir, run) }) {
				bad = append(bad, fmt.Sprintf("%s of %s is in no run", name, dir))
			}
		}
	}
	dirs := map[string]bool{}
	for _, list := range tests {
		for _, dir := range list {
			dirs[dir] = true
		}
	}
	for name := range strings.SplitSeq(m[2], "|") {
		if !dirs[name] {
			bad = append(bad, "there are no tests in "+name)
		}
	}
	return bad
}

// scripts/test runs each test once: those without the race detector are where it looks for them.
func TestScriptRunsEachTest(t *testing.T) {
	tests := map[string][]string{}
	for _, f := range files(t) {
		if !f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") {
				tests[fn.Name.Name] = append(tests[fn.Name.Name], f.dir)
			}
		}
	}
	script, err := os.ReadFile("../../scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range misplaced(string(script), tests) {
		t.Errorf("scripts/test: %s", bad)
	}
	control := "without_race='^(TestGone|TestElsewhere)$'\npackages_without_race='/polystore/(bench|internal/gone)$'\ngo test -run \"$without_race\" ./backends/... ||"
	want := "there is no TestGone; TestElsewhere of repo is in no run; there are no tests in internal/gone"
	if got := strings.Join(misplaced(control, map[string][]string{"TestElsewhere": {"repo", "backends/a", "bench"}}), "; "); got != want {
		t.Errorf("of a script that leaves tests out: %s, want %s", got, want)
	}
}
