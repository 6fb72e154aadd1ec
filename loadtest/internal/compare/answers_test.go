package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
)

func recs(texts ...string) []map[string]any {
	var list []map[string]any
	for _, text := range texts {
		id, order, _ := strings.Cut(text, ":")
		list = append(list, map[string]any{"id": id, "order": order, "_version": time.Now()})
	}
	return list
}

func found(texts ...string) candidate.Reply {
	return candidate.Reply{Answer: operation.Answer{N: len(texts), Records: recs(texts...)}}
}

func TestDiffer(t *testing.T) {
	tests := []struct {
		name  string
		order string
		limit int
		a, b  candidate.Reply
		want  string // "" is the same answer
	}{
		{"the same", "order", 0, found("a:1", "b:2"), found("a:1", "b:2"), ""},
		{"ties in another order", "order", 0, found("a:1", "b:1", "c:2"), found("b:1", "a:1", "c:2"), ""},
		{"another order", "order", 0, found("a:1", "b:2"), found("b:2", "a:1"), "differ in order from record 1"},
		{"another record in a tie", "order", 0, found("a:1", "b:1", "c:2"), found("a:1", "x:1", "c:2"), "only the first has \"b\""},
		{"the last tie cut by the limit", "order", 2, found("a:1", "b:2"), found("a:1", "x:2"), ""},
		{"the last tie, not cut", "order", 3, found("a:1", "b:2"), found("a:1", "x:2"), "differ in records 2 to 2"},
		{"cut, but another order value", "order", 2, found("a:1", "b:2"), found("a:1", "b:3"), "differ in order from record 2"},
		{"no order", "", 0, found("a:1", "b:2"), found("b:2", "a:1"), ""},
		{"no order, another record", "", 0, found("a:1", "b:2"), found("b:2", "c:1"), "differ in records"},
		{"no order, cut", "", 2, found("a:1", "b:2"), found("c:2", "d:1"), ""},
		{"fewer", "order", 0, found("a:1", "b:2"), found("a:1"), "finds 2 records, the other 1; only the first has \"b\""},
		{"a count", "", 0, candidate.Reply{Answer: operation.Answer{N: 3}}, candidate.Reply{Answer: operation.Answer{N: 4}}, "3 records, the other 4"},
		{"not there", "", 0, candidate.Reply{Outcome: operation.Absent}, found("a:1"), `"not found", the other with "done"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := &workload.Query{Name: "q", Kind: "find", Limit: tt.limit, Collection: &workload.Collection{}}
			q.Collection.Schema.Partition = []string{"id"}
			if tt.order != "" {
				q.Order = []string{"-" + tt.order}
			}
			got := differ(&operation.Call{Q: q, Limit: tt.limit}, tt.a, tt.b)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Answers of trees have one order, which no field tells, and a limit cuts no ties.
func TestDifferInOrder(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit int
		a, b  candidate.Reply
		want  string
	}{
		{"the same", 0, found("a:1", "b:1"), found("a:1", "b:1"), ""},
		{"another order", 0, found("a:1", "b:1", "c:1"), found("a:1", "c:1", "b:1"), `they differ from node 2 on: "b" and "c"`},
		{"another node behind a limit", 2, found("a:1", "b:1"), found("a:1", "x:1"), `they differ from node 2 on: "b" and "x"; only the first has "b"`},
		{"another field", 0, found("a:1", "b:1"), found("a:1", "b:2"), "they differ from node 2 on"},
		{"one node less", 0, found("a:1", "b:1"), found("a:1"), `finds 2 records, the other 1; only the first has "b"`},
	} {
		for _, kind := range []string{"children", "ancestors", "subtree"} {
			q := &workload.Query{Name: "q", Kind: kind, Limit: tt.limit, Collection: &workload.Collection{}}
			q.Collection.Schema.Partition = []string{"id"}
			if got := differ(&operation.Call{Q: q}, tt.a, tt.b); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("%s of %s: got %q, want %q", tt.name, kind, got, tt.want)
			}
		}
	}
}
