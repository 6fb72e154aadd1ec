package value

import (
	"strings"
	"testing"
	"time"
)

func TestCanonicalTellsValuesApart(t *testing.T) {
	values := []any{nil, "", "a", "1", int64(1), 1.0, true, []any{"a"}, []any{"a", "b"}, []any{"a,b"}, map[string]any{"a": "b"},
		[]byte("a"), time.UnixMilli(1), []any{[]any{"a"}, "b"}, map[string]any{"a": nil}}
	seen := map[string]any{}
	for _, v := range values {
		var b strings.Builder
		AppendCanonical(&b, v)
		if other, ok := seen[b.String()]; ok {
			t.Errorf("%#v and %#v have the same text %s", v, other, b.String())
		}
		seen[b.String()] = v
	}
	if Canonical(map[string]any{"a": "x", "_version": 1}) != Canonical(map[string]any{"a": "x", "_version": 2}) {
		t.Error("the version makes a difference")
	}
}
