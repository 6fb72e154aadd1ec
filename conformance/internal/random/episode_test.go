package random

import (
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/conformance/internal/record"
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
			out := p.reference.do(t.Context(), op)
			if strings.Contains(out, "by a look at all") {
				t.Errorf("%s: %s", op, out)
			}
			if !strings.Contains(out, "not found") && !strings.HasPrefix(out, "0") && out != "invalid" {
				done++
			}
		}
	}
	for _, verb := range []string{"insert", "put", "replace", "patch", "update", "delete", "group", "insert all", "pass", "maintain", "walk", "get", "exists", "get many",
		"find", "keys", "count", "view", "one", "page", "scan", "best", "groups", "first", "find many", "put all", "delete all", "patch all", "verify"} {
		if seen[verb] < 3 {
			t.Errorf("%s came %d times in 20 episodes", verb, seen[verb])
		}
	}
	if done < total/2 {
		t.Errorf("only %d of %d operations found something to do", done, total)
	}
}

// What is not as a look at all records says is another answer on each side, so that it is a difference though both are
// wrong alike.
func TestWrongAlike(t *testing.T) {
	a, b := &typed[record.Entry]{name: "a"}, &typed[record.Entry]{name: "b"}
	right, wrong := []string{"x", "y"}, []string{"y", "x"}
	if a.alike(right, right, nil) != b.alike(right, right, nil) || a.alike(wrong, right, nil) == b.alike(wrong, right, nil) {
		t.Errorf("%q, %q", a.alike(right, right, nil), a.alike(wrong, right, nil))
	}
}
