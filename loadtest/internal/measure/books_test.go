package measure

import (
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/fault"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// What was acknowledged shortly before a server was killed may be lost where its class of durability says so.
func TestExcuses(t *testing.T) {
	spans := []fault.Span{
		{Fault: fault.Fault{Kind: "pause"}, From: 2 * time.Second, To: 3 * time.Second},
		{Fault: fault.Fault{Kind: "kill"}, From: 10 * time.Second, To: 11 * time.Second},
	}
	delayed := excuses(spans, time.Second, driver.Facts{Durability: driver.Delayed, Delay: 2 * time.Second})
	for at, want := range map[time.Duration]bool{3: false, 8: false, 9: true, 12: true, 13: false} {
		if got := delayed(at * time.Second); got != want {
			t.Errorf("what was acknowledged at %d s may be lost: %v", at, got)
		}
	}
	if strict := excuses(spans, time.Second, driver.Facts{Durability: driver.Memory}); strict(11 * time.Second) {
		t.Error("a class without a delay excuses a loss")
	}
	notes := &workload.Collection{Schema: repo.Schema{Collection: "notes", Partition: []string{"id"}}, Keys: [][]string{{"id"}}}
	var b books
	for i, id := range []string{"a", "b"} {
		k := &operation.Call{Q: &workload.Query{Name: "new", Kind: "insert", Collection: notes}, Record: map[string]any{"id": id}}
		b.note(k, &act{outcome: operation.Done}, i == 0)
	}
	none := func(func(map[string]any, error) bool) {}
	if b.all.After(notes, none) != nil || b.kept.After(notes, none) != nil || b.all.Lost != 2 || b.kept.Lost != 1 || b.all.Acknowledged != 2 {
		t.Errorf("%d of %d are lost, %d of them without an excuse; want 2 of 2, and 1", b.all.Lost, b.all.Acknowledged, b.kept.Lost)
	}
}
