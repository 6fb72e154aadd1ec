package tiny_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/polystore/polystore/conformance"
	"github.com/polystore/polystore/docs/tiny"
	"github.com/polystore/polystore/repo/driver"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(context.Context) (driver.Store, error) { return tiny.New(), nil })
}

// It stays short enough to be read at once.
func TestLength(t *testing.T) {
	text, err := os.ReadFile("tiny.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	if n < 100 || n > 300 {
		t.Errorf("tiny.go has %d lines of code, want at most 300", n)
	}
}
