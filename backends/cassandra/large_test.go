package cassandra_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// What the server would not take is refused before it is sent, and what is a little
// smaller is taken.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s, ts := shared(t)
	author := unique()
	commit := func(id string, bytes int) error {
		ops := ts.insert(t, author, id)
		ops[0].Row.Fields[fTitle] = text(strings.Repeat("x", bytes))
		return backendtest.Commit(t, s, ops)
	}
	most := s.Facts().MaxCommit
	if most < 7<<20 || most > 16<<20 { // half of a segment of 16 MiB is the least that a server here takes
		t.Errorf("a commit can have %d bytes", most)
	}
	if err := commit("over", most); !errors.Is(err, driver.ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(most)) {
		t.Errorf("a commit of over %d bytes: %v, want ErrTooLarge that says so", most, err)
	}
	if ts.there(t, s, ts.posts, ts.key(t, author, "over")) {
		t.Error("a commit that was refused is there")
	}
	fits := most - 4<<10
	if err := commit("fits", fits); err != nil {
		t.Errorf("a commit of %d bytes: %v", fits, err)
	}
	if got := get(t, s, ts.posts, ts.key(t, author, "fits")).Fields[fTitle].Str(); len(got) != fits {
		t.Errorf("%d bytes came back", len(got))
	}
}

// A partition of ten thousand records is read in order, both ways, and counted.
func TestTenThousand(t *testing.T) {
	t.Parallel()
	s, ts := shared(t)
	author := unique()
	const all, together = 10_000, 250
	for from := 0; from < all; from += together {
		var ops []driver.Op
		for i := from; i < from+together; i++ {
			ops = append(ops, driver.Op{Do: driver.Put, Table: ts.posts, If: driver.Absent,
				Row: driver.Row{Key: ts.key(t, author, fmt.Sprintf("%05d", i)), Fields: []driver.Value{text(fmt.Sprint(i)), driver.IntValue(int64(i))}}})
		}
		backendtest.MustCommit(t, s, ops)
	}
	for _, reverse := range []bool{false, true} {
		n := 0
		for row, err := range s.Range(t.Context(), driver.Span{Table: ts.posts, Key: driver.Key{Partition: author + "#"}, Reverse: reverse}) {
			if err != nil {
				t.Fatal(err)
			}
			want := n
			if reverse {
				want = all - 1 - n
			}
			if got := row.Fields[fViews].Int(); got != int64(want) {
				t.Fatalf("reverse %v: record %d is %d, want %d", reverse, n, got, want)
			}
			n++
		}
		if n != all {
			t.Errorf("reverse %v: %d records, want %d", reverse, n, all)
		}
	}
	span := driver.Span{Table: ts.posts, Key: driver.Key{Partition: author + "#"}}
	for limit, want := range map[int]int{0: all, 7000: 7000, all + 1: all} {
		span.Limit = limit
		if n, err := s.Count(t.Context(), span); n != want || err != nil {
			t.Errorf("count with limit %d: %d, %v; want %d", limit, n, err, want)
		}
	}
}

// Texts that look like CQL, escapes or ends of keys come back as they were, in keys,
// fields and fields that nobody declared.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	s, ts := shared(t)
	for _, x := range []string{"", "#", "##", "'; DROP TABLE posts; --", `"`, "?", ":", "\x00", "\U0010ffff", "%00", "{}|", "null", "by_at:"} {
		author := unique() + x
		if x == "" || x == "#" || x == "##" { // whole partitions, which no other test has
			author = x
		}
		ops := ts.insert(t, author, x)
		ops[0].If, ops[2].If = driver.Any, driver.Any
		ops[0].Row.Fields[fTitle] = text(x)
		ops[0].Row.Extra = []driver.Pair{{Name: "$" + x, Value: driver.ListValue([]driver.Value{text(x), driver.BytesValue(x + "\xff")})}}
		ops[0].Row.Meta = x
		backendtest.MustCommit(t, s, ops)
		row := get(t, s, ts.posts, ops[0].Row.Key)
		if row.Fields[fTitle].Str() != x || row.Fields[fTitle].IsNone() || row.Meta != x || len(row.Extra) != 1 || row.Extra[0].Name != "$"+x || !row.Extra[0].Value.Equal(ops[0].Row.Extra[0].Value) {
			t.Errorf("%q came back as %+v", x, row)
		}
		for _, op := range ops[1:] {
			if !ts.there(t, s, op.Table, op.Row.Key) {
				t.Errorf("%q: no row of %s", x, op.Table.Name)
			}
		}
		span := driver.Span{Table: ts.posts, Key: driver.Key{Partition: ops[0].Row.Key.Partition}}
		if n, err := s.Count(t.Context(), span); n != 1 || err != nil {
			t.Errorf("%q: %d records in its partition, %v", x, n, err)
		}
	}
}
