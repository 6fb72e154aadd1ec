package loadtest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/repo/driver"
)

// A leisurely store takes its time for each read by key.
type leisurely struct{ *watched }

func (s leisurely) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	time.Sleep(5 * time.Millisecond)
	return s.watched.Get(ctx, t, keys, mask, rows)
}

// No rate is met at which a store needs more time than there is, whatever the machine does: 4 slots of 200 reads a
// second. The file of the result has the search, and the text that is made of it.
func TestMax(t *testing.T) {
	text := strings.Replace(testload.Small[:strings.Index(testload.Small, "queries:")], "rate: 200", "rate: 1000\nslots: 4", 1) +
		"queries: [{name: one post, weight: 100, kind: get, objectives: {p50: 60ms}}]\nmodels: [{name: covering}]\n"
	s := newWatched()
	opts := options(leisurely{s})
	opts.Max = true
	result, err := Run(t.Context(), mustParse(t, text), opts)
	if err != nil {
		t.Fatal(err)
	}
	s.check(t)
	for _, c := range result.Candidates {
		if len(c.Steps) < 2 || c.Steps[0].Rate != 1000 {
			t.Fatalf("%s: steps %+v", c.Name, c.Steps)
		}
		for _, step := range c.Steps {
			if step.Rate >= 1000 && step.Met {
				t.Errorf("%s met %d/s", c.Name, step.Rate)
			}
			if len(step.Rounds) != 4 || step.Rounds[0].Ops < 1 {
				t.Errorf("%s: %+v", c.Name, step)
			}
		}
	}
	if !strings.Contains(result.Text, "highest rate   covering: what is asked is met at ") {
		t.Errorf("the text:\n%s", result.Text)
	}
	file, err := result.Save(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadResult(file)
	if err != nil || read.Text != result.Text {
		t.Errorf("read again: %v\n%s", err, read.Text)
	}
	body, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(body), `"rate": 1000,`, `"rate": 0,`, 2)), 0o600)
	}
	if _, bad := ReadResult(file); err != nil || bad == nil {
		t.Errorf("a step at no rate: %v, %v", bad, err)
	}
}
