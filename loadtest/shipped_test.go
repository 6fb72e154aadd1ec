package loadtest

import (
	"os"
	"strings"
	"testing"

	"github.com/polystore/polystore/loadtest/internal/workload"
)

// shipped is a workload of the examples with changes, each a text and what it becomes.
func shipped(t *testing.T, name string, changes ...string) (*workload.Workload, error) {
	t.Helper()
	text, err := os.ReadFile("../examples/" + name + "/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(string(text), changes[i]) {
			t.Fatalf("the workload has no %q", changes[i])
		}
		text = []byte(strings.Replace(string(text), changes[i], changes[i+1], 1))
	}
	return workload.Parse(name+".yaml", text)
}
