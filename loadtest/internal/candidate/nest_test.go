package candidate

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/progress"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// Lists that are not in the order of their keys are found after the run, as is an element that is there twice.
func TestListsAreVerified(t *testing.T) {
	w := testload.Parsed(t, workload.Parse, testload.Threads)
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func([]any) []any{
		"as it is":      func(list []any) []any { return list },
		"another order": func(list []any) []any { slices.Reverse(list); return list },
		"twice":         func(list []any) []any { return append(list, list[len(list)-1]) },
	} {
		s, err := store.Open(t.Context(), "memory:", "memory:", func(context.Context, string) (driver.Store, error) { return memory.New(nil), nil })
		if err != nil {
			t.Fatal(err)
		}
		c := New(w, s, w.Models[2], "")
		if err := c.Open(t.Context(), w, store.CandidateSpace("load_x", 1)); err != nil {
			t.Fatal(err)
		}
		if err := c.Fill(t.Context(), w, tables, &progress.Log{Out: io.Discard}).Rest(); err != nil {
			t.Fatal(err)
		}
		n := c.nests[1]
		host := tables[1].Column("whose")[0]
		if _, err := n.hosts.Update(t.Context(), []any{host, tables[1].Column("on")[0]}, func(rec *map[string]any) error {
			list, _ := (*rec)[n.of.List()].([]any)
			if len(list) < 2 {
				t.Fatalf("%d comments", len(list))
			}
			n.put(*rec, spoil(list))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var wrong *failure.WrongAnswers
		err = c.Verify(t.Context())
		if name == "as it is" && err != nil || name != "as it is" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), "are not in order, or one is there twice")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
