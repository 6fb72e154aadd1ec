package candidate

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/testload"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// A slow store takes a millisecond for each commit.
type slow struct{ driver.Store }

func (s slow) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	time.Sleep(time.Millisecond)
	return s.Store.Commit(ctx, token, ops)
}

// filling begins to load a workload into its first model on a slow store.
func filling(t *testing.T, text string) *Filling {
	t.Helper()
	w := testload.Parsed(t, workload.Parse, text)
	tables, err := data.Survey(t.Context(), w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), "memory:", "memory:", func(context.Context, string) (driver.Store, error) { return slow{memory.New(nil)}, nil })
	if err != nil {
		t.Fatal(err)
	}
	c := New(w, s, w.Models[0], "")
	if err := c.Open(t.Context(), w, store.CandidateSpace("load_x", 1)); err != nil {
		t.Fatal(err)
	}
	return c.Fill(t.Context(), w, tables, nil)
}

// By a first piece it is known how long the rest takes, if nothing becomes slower.
func TestFirstPieceTellsTheRest(t *testing.T) {
	text := strings.Replace(testload.Small, "count: 200", "count: 3072", 1)
	synctest.Test(t, func(t *testing.T) {
		f := filling(t, text)
		defer f.Stop()
		if err := f.Some(); err != nil {
			t.Fatal(err)
		}
		some, left := f.Of.Loaded, f.Left()
		if f.parts[0].n != limit.FirstPiece || some < time.Millisecond || left != 5*some {
			t.Fatalf("%d records in %v, and %v are left", f.parts[0].n, some, left)
		}
		time.Sleep(time.Hour) // what happens meanwhile does not count
		if err := f.Rest(); err != nil {
			t.Fatal(err)
		}
		if took := f.Of.Loaded - some; f.parts[0].n != 3072 || took != left || f.Left() != 0 {
			t.Errorf("%d records, the rest in %v and not in %v; %v are left", f.parts[0].n, took, left, f.Left())
		}
	})
}

func TestLoadingThatIsStopped(t *testing.T) {
	for name, text := range map[string]string{"records": strings.Replace(testload.Small, "count: 200", "count: 3072", 1), "trees": testload.Forest(t)} {
		f := filling(t, text)
		f.parts[0].first = 20
		if err := f.Some(); err != nil || f.parts[0].n != 20 {
			t.Errorf("%s: %d were loaded first: %v", name, f.parts[0].n, err)
		}
		f.Stop()
		if err := f.Of.Answers(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A record that the store refuses is told by its own line, also behind the first piece.
func TestRefusedBehindTheFirstPiece(t *testing.T) {
	f := filling(t, strings.Replace(testload.Small, "count: 200", "count: 600", 1))
	defer f.Stop()
	for author := range 9 {
		rec := map[string]any{"author": "user:" + string(rune('1'+author)), "id": "P0590"}
		if err := f.Of.repos[0].Insert(t.Context(), &rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Rest(); err == nil || !strings.Contains(err.Error(), "record 590 of posts") {
		t.Errorf("%v", err)
	}
}
