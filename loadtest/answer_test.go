package loadtest

import (
	"strings"
	"testing"
	"time"
)

func recs(texts ...string) []map[string]any {
	var list []map[string]any
	for _, text := range texts {
		id, order, _ := strings.Cut(text, ":")
		list = append(list, map[string]any{"id": id, "order": order, "_version": time.Now()})
	}
	return list
}

func found(texts ...string) reply {
	return reply{answer: answer{n: len(texts), records: recs(texts...)}}
}

func TestDiffer(t *testing.T) {
	tests := []struct {
		name  string
		order string
		limit int
		a, b  reply
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
		{"a count", "", 0, reply{answer: answer{n: 3}}, reply{answer: answer{n: 4}}, "3 records, the other 4"},
		{"not there", "", 0, reply{outcome: absent}, found("a:1"), `"not found", the other with "done"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			q := &query{name: "q", kind: "find", limit: tt.limit, collection: &collection{}}
			q.collection.schema.Partition = []string{"id"}
			if tt.order != "" {
				q.order = []string{"-" + tt.order}
			}
			got := differ(&call{q: q}, tt.a, tt.b)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCanonicalTellsValuesApart(t *testing.T) {
	values := []any{nil, "", "a", "1", int64(1), 1.0, true, []any{"a"}, []any{"a", "b"}, []any{"a,b"}, map[string]any{"a": "b"},
		[]byte("a"), time.UnixMilli(1), []any{[]any{"a"}, "b"}, map[string]any{"a": nil}}
	seen := map[string]any{}
	for _, v := range values {
		var b strings.Builder
		appendCanonical(&b, v)
		if other, ok := seen[b.String()]; ok {
			t.Errorf("%#v and %#v have the same text %s", v, other, b.String())
		}
		seen[b.String()] = v
	}
	if canonical(map[string]any{"a": "x", "_version": 1}) != canonical(map[string]any{"a": "x", "_version": 2}) {
		t.Error("the version makes a difference")
	}
}
