package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

// The table of docs/reference/errors.md has every kind of error of package repo, in the order and with the
// statuses of this program.
func TestTable(t *testing.T) {
	rows := find(t, "../../docs/reference/errors.md", "(?m)^\\| `(Err\\w+)` .*\\| (\\d+) \\|$")
	lines := find(t, "status.go", `(?m)^\t\{repo\.(Err\w+), `)
	names := kindsOfRepo(t)
	if len(rows) != len(names) || len(rows) != len(lines) {
		t.Fatalf("%d rows, %d kinds in package repo, %d in this program", len(rows), len(names), len(lines))
	}
	for i, row := range rows {
		if !names[row[1]] || row[1] != lines[i][1] || row[2] != fmt.Sprint(statuses[i].status) {
			t.Errorf("row %d: %s is %s; this program answers %s with %d", i, row[1], row[2], lines[i][1], statuses[i].status)
		}
		delete(names, row[1])
	}
}

// find returns what a pattern finds in a file.
func find(t *testing.T, file, pattern string) [][]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
}

// kindsOfRepo returns the names of the errors that package repo exports.
func kindsOfRepo(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../repo/errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Err") {
			names[v.Names[0].Name] = true
		}
		return true
	})
	return names
}

// An error of two kinds is answered as the special one.
func TestSpecialKinds(t *testing.T) {
	for special, general := range map[error]error{
		repo.ErrUnknownOutcome: repo.ErrTimeout, repo.ErrContention: repo.ErrConflict,
		repo.ErrCursor: repo.ErrInvalid, repo.ErrNoIndex: repo.ErrInvalid,
	} {
		got, _ := statusOf(errors.Join(general, special))
		want, _ := statusOf(special)
		if got != want {
			t.Errorf("%v and %v: %d, want %d", general, special, got, want)
		}
	}
}

// A key of a client cannot make a line of the log.
func TestLog(t *testing.T) {
	var text strings.Builder
	log.SetOutput(&text)
	defer log.SetOutput(os.Stderr)
	broken := handler(func(http.ResponseWriter, *http.Request) error {
		return &repo.Error{Op: "get", Key: "a\nforged", Err: repo.ErrCorrupt}
	})
	rec := httptest.NewRecorder()
	broken.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	if rec.Code != 500 || strings.Count(text.String(), "\n") != 1 || strings.Contains(rec.Body.String(), "forged") {
		t.Errorf("%d, %q; the log has %q", rec.Code, rec.Body, text.String())
	}
}
