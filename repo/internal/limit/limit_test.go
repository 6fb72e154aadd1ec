package limit_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo/internal/limit"
)

// The reference has the limits that hold.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/records.md")
	if err != nil {
		t.Fatal(err)
	}
	for what, n := range map[string]int{
		"a key, as text": limit.MaxKey, "rows of indexes of a record, and indexed elements of a list": limit.MaxRows,
		"indexes of a collection": limit.MaxIndexes, "lists, maps and structs inside each other": limit.MaxDepth, "a record": limit.MaxRecord,
	} {
		if !says(string(text), what, n) {
			t.Errorf("docs/reference/records.md does not say %d of %s", n, what)
		}
		if says(string(text), what, n+1) {
			t.Errorf("docs/reference/records.md says %d of %s, too", n+1, what)
		}
	}
}

// says reports whether a table says a number of something.
func says(text, what string, n int) bool {
	number := fmt.Sprint(n)
	if n > 999 {
		number = fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	if n == 1<<20 {
		number = "1 MiB"
	}
	_, rest, found := strings.Cut(text, "| "+what+" | ")
	said, _, _ := strings.Cut(rest, " |")
	return found && (said == number || strings.HasPrefix(said, number+" "))
}
