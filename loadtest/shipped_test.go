package loadtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/loadtest/report"
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

// A shipped workload is long enough for its objectives, and its rounds on four stores take four minutes at the most.
func TestShippedWorkloadsAreAsLongAsTheyMust(t *testing.T) {
	files, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		w, err := workload.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		needs := report.Calls((&run{w: w}).asked(), w.Rounds)
		if has := w.RoundOps() * w.Rounds; has < needs+needs/20 {
			t.Errorf("%s: the rounds have %d operations, and the objectives need %d", file, has, needs)
		}
		if took := time.Duration(4*len(w.Models)) * (time.Duration(w.Rounds)*w.Round + w.Round/2); took > 4*time.Minute {
			t.Errorf("%s: the rounds of all models on four stores take %v", file, took)
		}
	}
}
