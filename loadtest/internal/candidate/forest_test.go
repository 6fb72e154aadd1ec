package candidate

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// filled returns a candidate of each model of the workload of trees.
func filled(t *testing.T) []*Candidate {
	t.Helper()
	w := testload.Parsed(t, workload.Parse, testload.Forest(t))
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), "memory:", "memory:", func(context.Context, string) (driver.Store, error) { return memory.New(nil), nil })
	if err != nil {
		t.Fatal(err)
	}
	var list []*Candidate
	for i, mo := range w.Models {
		c := New(w, s, mo, "")
		if err := c.Open(t.Context(), w, store.CandidateSpace("load_x", i)); err != nil {
			t.Fatal(err)
		}
		if err := c.Fill(t.Context(), w, tables, &progress.Log{Out: io.Discard}).Rest(); err != nil || c.Lacks != "" {
			t.Fatalf("%s: %v, lacks %q", c.Label, err, c.Lacks)
		}
		list = append(list, c)
	}
	return list
}

// A record of trees comes back as it was, whatever the strategy, with its place.
func TestNodesComeBack(t *testing.T) {
	for _, c := range filled(t) {
		n := 0
		for rec, err := range c.All(t.Context(), 0) {
			if err != nil {
				t.Fatalf("%s: %v", c.Label, err)
			}
			if _, ok := rec["since"].(interface{ UnixMilli() int64 }); !ok || len(rec["tags"].([]any)) != 2 || rec["suite"] == "" || rec["path"] == "" {
				t.Fatalf("%s: %v", c.Label, rec)
			}
			if (rec["folder"] == nil) != (rec[depth] == int64(1)) {
				t.Fatalf("%s: %v has a parent or none, and that depth", c.Label, rec)
			}
			n++
		}
		if n != 150 {
			t.Errorf("%s: %d nodes, want 150", c.Label, n)
		}
	}
}

// A tree that is not whole after the run is found, though its indexes agree with its records.
func TestTreesAreVerified(t *testing.T) {
	for _, c := range filled(t) {
		if err := c.Verify(t.Context()); err != nil {
			t.Errorf("%s: %v", c.Label, err)
		}
		if c.Label == "document" {
			continue // its nodes are no records that a program could spoil
		}
		key := repo.Key{"two", "7"}
		if _, err := c.forests[0].Nodes().Patch(t.Context(), key, repo.Set("parent", "nobody")); err != nil {
			t.Fatal(err)
		}
		var wrong *failure.WrongAnswers
		err := c.Verify(t.Context())
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), `after the run the tree "two" in files of `+c.Label+" has ") || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("%s: got %v, want WrongAnswers about the parent", c.Label, err)
		}
	}
}
