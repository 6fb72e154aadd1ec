package redis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

var texts = []string{"", "a", "$", "$$x", "$time", "_expires", "\x00\x1f\"\\/\r\n\t", "é\u2028\U0010ffff", "*1\r\n$4\r\nPING\r\n", "{}[],:", strings.Repeat("n", 300)}

// Any bytes may be in fields, and any text in keys; no part of them is taken for
// what separates keys, patterns or answers.
func TestHostileBytes(t *testing.T) {
	t.Parallel()
	_, s, ts := own(t)
	names := append(slices.Clone(texts), "*", "?", "[a-z]", "}", "{", "{x}y", "a}b", "\\", "posts:{*")
	for _, author := range names {
		for _, id := range names {
			ops := ts.Insert(t, author, id)
			ops[0].Row.Fields = []driver.Value{driver.StringValue(id), driver.IntValue(1), {}, {}, {}, driver.BytesValue("\r\n\x00\xff" + author)}
			ops[0].Row.Extra = []driver.Pair{{Name: author, Value: driver.StringValue(id)}}
			ops[2].Row.Key = backendtest.KeyOf(t, ts.Slug, author+"\x00"+id)
			if slices.Contains([]string{"", "_expires"}, author) {
				ops[0].Row.Extra = nil
			}
			backendtest.MustCommit(t, s, ops)
		}
	}
	found := 0
	for chunk, err := range s.Walk(t.Context(), ts.Posts, "") {
		if err != nil {
			t.Fatal(err)
		}
		for i := range chunk.Rows {
			row := &chunk.Rows[i]
			parts, _, err1 := driver.ParseParts(nil, row.Key.Partition, ts.Posts.Partition)
			parts, _, err2 := driver.ParseParts(parts, row.Key.Sort, ts.Posts.Sort)
			if err1 != nil || err2 != nil || row.Fields[backendtest.FieldTitle].Str() != parts[1].Str() || row.Fields[backendtest.FieldPhoto].Str() != "\r\n\x00\xff"+parts[0].Str() {
				t.Fatalf("the row %q has %v, %v %v", row.Key, row.Fields, err1, err2)
			}
			found++
		}
	}
	if want := len(names) * len(names); found != want {
		t.Errorf("a walk finds %d rows, want %d", found, want)
	}
	for _, author := range names {
		n, err := s.Count(t.Context(), driver.Span{Table: ts.Posts, Key: backendtest.KeyOf(t, ts.Posts, author, "")})
		if err != nil || n != len(names) {
			t.Errorf("author %q has %d posts, %v; want %d", author, n, err, len(names))
		}
	}
}
