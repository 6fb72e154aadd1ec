package archtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	patternRow = regexp.MustCompile(`(?m)^\| ([A-F]\d+) \|.*\|$`)
	shownBy    = regexp.MustCompile("(rule|test) `([^`]+)` \\|$")
)

// patternCodes are the techniques of which docs/patterns.md has a row each.
func patternCodes() (codes []string) {
	for letter, n := range map[string]int{"A": 4, "B": 8, "C": 12, "D": 8, "E": 8, "F": 11} {
		for i := range n {
			codes = append(codes, fmt.Sprint(letter, i+1))
		}
	}
	return codes
}

// faultyPatterns says what is wrong with the rows of a page: codes without a row or with two, and rows that name no
// rule of the suite and no test that runs on every store.
func faultyPatterns(page, suite, tests string) (faults []string) {
	codes := patternCodes()
	for _, row := range patternRow.FindAllStringSubmatch(page, -1) {
		at := slices.Index(codes, row[1])
		if at < 0 {
			faults = append(faults, row[1]+" is no code, or has two rows")
			continue
		}
		codes = slices.Delete(codes, at, at+1)
		by := shownBy.FindStringSubmatch(row[0])
		switch {
		case by == nil:
			faults = append(faults, row[1]+" is shown by nothing")
		case by[1] == "test" && !strings.Contains(tests, "\nfunc "+by[2]+"("):
			faults = append(faults, fmt.Sprintf("%s: there is no test %s on every store", row[1], by[2]))
		case by[1] == "rule" && !strings.Contains(suite, `{Name: "`+by[2]+`", `) && !strings.Contains(suite, `{"`+by[2]+`", "`):
			faults = append(faults, fmt.Sprintf("%s: the suite has no rule %q", row[1], by[2]))
		}
	}
	slices.Sort(codes)
	for _, code := range codes {
		faults = append(faults, code+" has no row")
	}
	return faults
}

// sourceOf returns the text of all files that match a pattern.
func sourceOf(t *testing.T, patterns ...string) string {
	t.Helper()
	var all strings.Builder
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}

// Each technique has its row in docs/patterns.md, and what shows it on every store is there.
func TestPatterns(t *testing.T) {
	page := pages(t)["docs/patterns.md"]
	suite := sourceOf(t, "../../conformance/internal/api/*.go", "../../conformance/internal/hierarchy/*.go")
	tests := sourceOf(t, "../../internal/everystore/*_test.go", "../../backends/mongo/*_test.go")
	for _, fault := range faultyPatterns(page, suite, tests) {
		t.Error(fault)
	}
	for _, broken := range []string{
		strings.Replace(page, "| A1 |", "| A2 |", 1),
		strings.Replace(page, "test `TestFeed`", "test `TestFed`", 1),
		strings.Replace(page, "rule `jobs`", "rule `job`", 1),
		strings.Replace(page, "| test `TestOnce` |", "| |", 1),
	} {
		if len(faultyPatterns(broken, suite, tests)) == 0 {
			t.Error("a fault of the page is not found")
		}
	}
}

// linesOfCode counts the lines of a file that are neither blank nor a comment.
func linesOfCode(text string) (n int) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// A pattern is at most 80 lines of code.
func TestPatternsAreShort(t *testing.T) {
	names, err := filepath.Glob("../../examples/patterns/*/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := linesOfCode(string(text)); n > 80 {
			t.Errorf("%s has %d lines of code, at most 80", name, n)
		}
	}
	if n := linesOfCode("a // b\n\n\t// c\n\td\n"); n != 2 {
		t.Errorf("counted %d lines, want 2", n)
	}
}
