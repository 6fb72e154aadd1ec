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

// What a store need not keep is as if it were absent; an empty text is kept.
func TestWhatIsEmpty(t *testing.T) {
	for _, v := range []any{nil, []byte{}, []any{}, map[string]any{}} {
		if !IsEmpty(v) || Sum(map[string]any{"a": int64(1), "b": v}, nil) != Sum(map[string]any{"a": int64(1)}, nil) {
			t.Errorf("%#v is not empty", v)
		}
	}
	for _, v := range []any{"", int64(0), false, []byte("a"), []any{""}} {
		if IsEmpty(v) {
			t.Errorf("%#v is empty", v)
		}
	}
}
