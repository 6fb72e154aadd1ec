package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo/driver"
)

// Check comes to an end whatever is wrong with a store, and says of every rule what
// it found.
func TestCheckOfBrokenStores(t *testing.T) {
	tests := []struct {
		name   string
		broken fault
		least  int // rules that fail
		groups []string
	}{
		{"rows lost", withoutFirst(), 50, []string{rule.Keys, rule.Queries, rule.Walks, randomGroup, historyGroup}},
		{"commits that do not see each other", racy(), 10, []string{rule.Conditions, rule.Unique, historyGroup}},
		{"commits in pieces", oneByOne(), 5, []string{rule.Conditions, rule.Groups, randomGroup}},
		{"nothing works", unavailable, 200, []string{rule.Keys, rule.Records, rule.Patterns, rule.Close, randomGroup, historyGroup}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBroken(driver.ScopeStore)
			tt.broken(b)
			report, err := Check(t.Context(), func(context.Context) (driver.Store, error) { return b, nil }, Options{Seed: 1, Ops: 800, Histories: 9})
			if err != nil {
				t.Fatal(err)
			}
			if report.Failed < tt.least {
				t.Errorf("%s, want at least %d to fail", report.Summary(), tt.least)
			}
			sum := report.Passed + report.Missing
			for _, g := range report.Groups {
				sum += len(g.Failed)
				if slices.Contains(tt.groups, g.Name) && len(g.Failed) == 0 {
					t.Errorf("nothing fails in %s", g.Name)
				}
				for _, f := range g.Failed {
					if f.Want == "" || f.Got == "" || !strings.Contains(f.Again, f.Rule) || f.Want == "no panic" {
						t.Errorf("failure %+v; want what was wanted and found, no panic, and a command", f)
					}
				}
			}
			if want := len(rules()); sum < want || sum > want+3 {
				t.Errorf("%d results for %d rules", sum, want)
			}
		})
	}
}

// A run that is interrupted says of which groups nothing was run.
func TestCheckInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBroken(driver.ScopeStore)
	b.commit = func(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
		cancel()
		return b.Store.Commit(ctx, token, ops)
	}
	r, err := Check(ctx, func(context.Context) (driver.Store, error) { return b, nil }, Options{Seed: 1})
	if r == nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("Check: %+v, %v; want a report, and that it was canceled", r, err)
	}
	n := 0
	for _, g := range r.Groups {
		if none := g.Passed+len(g.Failed)+len(g.Missing) == 0; none != (g.line() == "not run" || g.line() == "broken off") {
			t.Errorf("%s: %q", g.Name, g.line())
		} else if none {
			n++
		}
	}
	if n < 10 {
		t.Errorf("%d groups were not run, want most", n)
	}
}

// A run that is interrupted while it makes its tables leaves none of them.
func TestCheckInterruptedAtTheBeginning(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBroken(driver.ScopeStore)
	var made []*driver.Table
	b.define = func(_ context.Context, tables []*driver.Table) error {
		if len(tables) == 1 { // of a collection, or of the catalog
			return b.Store.Define(context.WithoutCancel(ctx), tables)
		}
		made = tables[:len(tables)/2]
		cancel()
		return errors.Join(b.Store.Define(context.WithoutCancel(ctx), made), fmt.Errorf("define: %w", driver.ErrTimeout))
	}
	b.close = func() error { return nil }
	if r, err := Check(ctx, func(context.Context) (driver.Store, error) { return b, nil }, Options{Seed: 1}); r == nil || !r.BrokenOff || !errors.Is(err, driver.ErrTimeout) || !errors.Is(err, context.Canceled) {
		t.Errorf("Check: %+v, %v; want a report of a run that was broken off, and the error of the store", r, err)
	}
	if len(made) == 0 {
		t.Error("no table was made, so this tests nothing")
	}
	for _, table := range made {
		if err := b.Store.Attach(t.Context(), []*driver.Table{table}); !errors.Is(err, driver.ErrSchema) {
			t.Errorf("the table %s is there: %v", table.Name, err)
		}
	}
}
