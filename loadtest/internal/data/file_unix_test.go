//go:build unix

package data

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// To open a pipe would wait for a writer, and a second reading find nothing.
func TestPipesAreNoData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pipe.jsonl")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Survey(t.Context(), rowsWorkload(t, file, ""), nil); err == nil || !strings.Contains(err.Error(), "a pipe or a device") {
		t.Errorf("%v, want that it is a pipe", err)
	}
}
