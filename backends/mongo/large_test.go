package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/mongo"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// manyRows returns the table of a partition with many rows.
func manyRows(t *testing.T, s *mongo.Store, n int) *driver.Table {
	t.Helper()
	table := &driver.Table{Name: "many", Class: driver.Rows, Partition: []driver.Column{{Name: "p", Kind: driver.String}},
		Sort: []driver.Column{{Name: "n", Kind: driver.Int}}, Fields: []driver.Column{{Name: "n2", Kind: driver.Int}}}
	if err := s.Define(t.Context(), []*driver.Table{table}); err != nil {
		t.Fatal(err)
	}
	var ops []driver.Op
	for i := range n {
		sort, err := driver.AppendParts(nil, table.Sort, []driver.Value{driver.IntValue(int64(i))})
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: driver.Key{Partition: "p#", Sort: string(sort)},
			Fields: []driver.Value{driver.IntValue(int64(i) * int64(i))}}})
	}
	backendtest.MustCommit(t, s, ops)
	return table
}

// Ten thousand rows are one commit, and are read in pages, from both ends.
func TestTenThousandRows(t *testing.T) {
	t.Parallel()
	s, _, _ := shared(t)
	const n = 10000
	table := manyRows(t, s, n)
	span := driver.Span{Table: table, Key: driver.Key{Partition: "p#"}}
	for _, reverse := range []bool{false, true} {
		span.Reverse = reverse
		next := int64(0)
		for row, err := range s.Range(t.Context(), span) {
			if err != nil {
				t.Fatal(err)
			}
			want := next
			if reverse {
				want = n - 1 - next
			}
			if row.Fields[0].Int() != want*want {
				t.Fatalf("row %d has %v", next, row.Fields[0])
			}
			next++
		}
		if next != n {
			t.Errorf("%d rows, want %d", next, n)
		}
	}
	for limit, want := range map[int]int{0: n, 700: 700} {
		span.Limit = limit
		if got, err := s.Count(t.Context(), span); got != want || err != nil {
			t.Errorf("count with limit %d: %d, %v", limit, got, err)
		}
	}
	walked := 0
	mark := ""
	for chunk, err := range s.Walk(t.Context(), table, "") {
		if err != nil {
			t.Fatal(err)
		}
		walked += len(chunk.Rows)
		if mark = chunk.Mark; walked > n/2 {
			break
		}
	}
	for chunk, err := range s.Walk(t.Context(), table, mark) {
		if err != nil {
			t.Fatal(err)
		}
		walked += len(chunk.Rows)
	}
	if walked != n {
		t.Errorf("%d rows by a walk in two parts, want %d", walked, n)
	}
	for _, bad := range []string{"x", "!", mark + "A"} {
		if err := backendtest.Drain(s.Walk(t.Context(), table, bad)); !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("walk from the mark %q: %v, want ErrInvalid", bad, err)
		}
	}
}

// More than one answer has room for is asked for again, and leaves no cursor behind.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	server, s, ts := own(t)
	var keys []driver.Key
	big := driver.StringValue(strings.Repeat("x", 1<<20))
	for i := range 40 {
		ops := ts.Insert(t, "ann", fmt.Sprintf("%02d", i))[:1]
		ops[0].Row.Fields[backendtest.FieldTitle] = big
		backendtest.MustCommit(t, s, ops)
		keys = append(keys, ops[0].Row.Key, backendtest.KeyOf(t, ts.Posts, "bob", fmt.Sprint(i)), ops[0].Row.Key)
	}
	rows := make([]driver.Row, len(keys))
	if err := s.Get(t.Context(), ts.Posts, keys, nil, rows); err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		there := !rows[i].Rev.IsZero()
		if there != (i%3 != 1) || there && len(rows[i].Fields[backendtest.FieldTitle].Str()) != 1<<20 || rows[i].Key != keys[i] {
			t.Fatalf("row %d of %v is there: %v", i, keys[i], there)
		}
	}
	for _, reverse := range []bool{false, true} {
		n := 0
		for row, err := range s.Range(t.Context(), driver.Span{Table: ts.Posts, Key: driver.Key{Partition: "ann#"}, Reverse: reverse}) {
			if err != nil || len(row.Fields[backendtest.FieldTitle].Str()) != 1<<20 {
				t.Fatalf("row %d: %v", n, err)
			}
			n++
		}
		if n != 40 {
			t.Errorf("%d rows, want 40", n)
		}
	}
	walked := 0
	for chunk, err := range s.Walk(t.Context(), ts.Posts, "") {
		if err != nil {
			t.Fatal(err)
		}
		walked += len(chunk.Rows)
	}
	if walked != 40 {
		t.Errorf("%d rows by a walk, want 40", walked)
	}
	status := do(t, raw(t, server.URL).Database("admin"), d("serverStatus", 1))
	if n := status.Lookup("metrics", "cursor", "open", "total").AsInt64(); n > 0 {
		t.Errorf("%d cursors are open", n)
	}
}

// What is larger than a document can be is refused, by the store or by the server, and
// nothing is done.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s, ts, _ := shared(t)
	text := func(n int) []driver.Value { return []driver.Value{driver.StringValue(strings.Repeat("x", n))} }
	for _, n := range []int{16<<20 - 100, 16 << 20, 17 << 20, 49 << 20} {
		for what, ops := range map[string][]driver.Op{"one": ts.Insert(t, "ann", "1")[:1], "several": ts.Insert(t, "ann", "1")} {
			ops[0].Row.Fields = text(n)
			_, err := s.Commit(t.Context(), driver.NewToken(), ops)
			if !errors.Is(err, driver.ErrTooLarge) {
				t.Errorf("%d bytes in a commit of %s: %v, want ErrTooLarge", n, what, err)
			}
		}
	}
	ops := ts.Insert(t, "ann", "1")
	ops[0].Row.Fields = text(16<<20 - 1000)
	backendtest.MustCommit(t, s, ops[:1])
	grow := ts.Add(t, "ann", "1")
	grow[0].Edits = append(grow[0].Edits, driver.Edit{Field: -1, Name: "more", Value: text(2000)[0]})
	if _, err := s.Commit(t.Context(), driver.NewToken(), grow); !errors.Is(err, driver.ErrTooLarge) {
		t.Errorf("a patch that makes a record too large: %v, want ErrTooLarge", err)
	}
	if got := ts.Numbers(t, s, "ann", []string{"1"}); got != "1 posts, 1 counted, 0 rows, 0 slugs" {
		t.Errorf("there are %s", got)
	}
	deep := driver.IntValue(1)
	for range 149 {
		deep = driver.ListValue([]driver.Value{deep})
	}
	put := ts.Insert(t, "ann", "deep")[:1]
	put[0].If = driver.Any
	put[0].Row.Fields = make([]driver.Value, backendtest.FieldTags+1)
	put[0].Row.Fields[backendtest.FieldTags] = deep
	backendtest.MustCommit(t, s, put)
	if n := ts.There(t, s, ts.Posts, put[0].Row.Key); n != 1 {
		t.Error("a record of deep values is gone")
	}
	put[0].Row.Fields[backendtest.FieldTags] = driver.ListValue([]driver.Value{driver.ListValue([]driver.Value{deep})})
	if _, err := s.Commit(t.Context(), driver.NewToken(), put); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("values that are nested too deeply: %v, want ErrInvalid", err)
	}
}

// Names and values that mean something to MongoDB are names and values.
func TestHostileBytes(t *testing.T) {
	t.Parallel()
	s, ts, _ := shared(t)
	hostile := []string{"", "$title", "$$ROOT", "$", "a.b", ".", "%", "%24", "_id", "$ref", "$id", "0", "\x00", "a\x00b", "\u202e", "ünï", "{}", "\U0010FFFF"}
	var pairs []driver.Value
	var extra []driver.Pair
	for _, h := range slices.Sorted(slices.Values(hostile)) {
		extra = append(extra, driver.Pair{Name: h, Value: driver.StringValue(h)})
		if !strings.Contains(h, "\x00") {
			pairs = append(pairs, driver.StringValue(h), driver.StringValue(h))
		}
	}
	list := driver.ListValue([]driver.Value{driver.MapValue(pairs), driver.BytesValue("\x00\xff$"), {}})
	for i, cond := range []driver.Cond{driver.Absent, driver.Any, driver.Present} {
		for _, h := range hostile {
			key := backendtest.KeyOf(t, ts.Posts, h, h)
			fields := []driver.Value{driver.StringValue(h), driver.IntValue(int64(i)), {}, {}, {}, driver.BytesValue(h), list}
			backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Put, If: cond, Table: ts.Posts, Row: driver.Row{Key: key, Fields: fields, Extra: extra, Meta: h}}})
			for _, p := range extra {
				edit := driver.Edit{Field: -1, Name: p.Name, Value: list}
				if p.Name == h {
					backendtest.MustCommit(t, s, []driver.Op{{Do: driver.Patch, If: driver.Present, Table: ts.Posts, Row: driver.Row{Key: key}, Edits: []driver.Edit{edit}}})
				}
			}
			var rows [1]driver.Row
			if err := s.Get(t.Context(), ts.Posts, []driver.Key{key}, nil, rows[:]); err != nil {
				t.Fatalf("%q: %v", h, err)
			}
			checkHostile(t, h, &rows[0], fields, extra, list)
		}
	}
	bad := driver.MapValue([]driver.Value{driver.StringValue("a\x00"), driver.IntValue(1)})
	op := driver.Op{Do: driver.Patch, If: driver.Present, Table: ts.Posts, Row: driver.Row{Key: backendtest.KeyOf(t, ts.Posts, "", "")},
		Edits: []driver.Edit{{Field: -1, Name: "x", Value: bad}}}
	if _, err := s.Commit(context.WithoutCancel(t.Context()), driver.NewToken(), []driver.Op{op}); !errors.Is(err, driver.ErrInvalid) {
		t.Errorf("a NUL in the key of a map: %v, want ErrInvalid", err)
	}
}

func checkHostile(t *testing.T, h string, row *driver.Row, fields []driver.Value, extra []driver.Pair, list driver.Value) {
	t.Helper()
	for i, want := range fields {
		if !row.Fields[i].Equal(want) {
			t.Errorf("%q: field %d is %v, want %v", h, i, row.Fields[i], want)
		}
	}
	if row.Meta != h || len(row.Extra) != len(extra) {
		t.Fatalf("%q: note %q, %d undeclared fields, want %d", h, row.Meta, len(row.Extra), len(extra))
	}
	for i, p := range row.Extra {
		want := extra[i].Value
		if p.Name == h {
			want = list
		}
		if p.Name != extra[i].Name || !p.Value.Equal(want) {
			t.Errorf("%q: undeclared field %q is %v, want %q %v", h, p.Name, p.Value, extra[i].Name, want)
		}
	}
}
