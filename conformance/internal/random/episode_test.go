package random

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/tested"
)

// The same seed gives the same operations, and another one others.
func TestSeeds(t *testing.T) {
	text := func(seed uint64) string { return fmt.Sprint(episode(seed, 0), episode(seed, 1)) }
	first := text(7)
	if again := text(7); first != again {
		t.Error("one seed gives different operations")
	}
	if first == text(8) {
		t.Error("two seeds give the same operations")
	}
}

// Every verb, and every form of a query, is drawn, and most operations do something.
func TestOperationsAreMixed(t *testing.T) {
	seen, done := map[string]int{}, 0
	store := memory.New(nil)
	on := tested.Store{Store: store, Facts: store.Facts(), FreshName: func() string { return "tested" }}
	p, err := comparison{on}.pair(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for i := range 20 {
		for _, op := range episode(3, i) {
			seen[op.verb]++
			if op.verb == "pass" {
				continue
			}
			total++
			if out := p.reference.do(t.Context(), op); !strings.Contains(out, "not found") && !strings.HasPrefix(out, "0") && out != "invalid" {
				done++
			}
		}
	}
	for _, verb := range []string{"insert", "put", "replace", "patch", "update", "delete", "group", "insert all", "pass", "maintain", "walk", "get", "exists", "get many",
		"find", "keys", "count", "view", "one", "page", "scan", "best", "groups", "verify"} {
		if seen[verb] < 3 {
			t.Errorf("%s came %d times in 20 episodes", verb, seen[verb])
		}
	}
	if done < total/2 {
		t.Errorf("only %d of %d operations found something to do", done, total)
	}
}
