package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/driver/frame"
)

func texts() *driver.Table {
	return &driver.Table{
		Name:      "t",
		Partition: []driver.Column{{Name: "p", Kind: driver.String}},
		Sort:      []driver.Column{{Name: "s", Kind: driver.String}},
	}
}

// TestAgainstAList compares Get, Range and Count with a plain list of keys.
func TestAgainstAList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := texts()
		s := memory.New(nil)
		if err := s.Define(t.Context(), []*driver.Table{table}); err != nil {
			rt.Fatal(err)
		}
		text := rapid.StringMatching(`[ab~]{0,3}`)
		var keys []string // partition, slash, sort
		for range rapid.IntRange(0, 60).Draw(rt, "writes") {
			k := driver.Key{Partition: text.Draw(rt, "p") + "#", Sort: text.Draw(rt, "s") + "#"}
			op := driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: k}}
			name := k.Partition + "/" + k.Sort
			keys = slices.DeleteFunc(keys, func(have string) bool { return have == name })
			if rapid.IntRange(0, 3).Draw(rt, "delete") == 0 {
				op.Do = driver.Delete
			} else {
				keys = append(keys, name)
			}
			if _, err := s.Commit(t.Context(), driver.NewToken(), []driver.Op{op}); err != nil {
				rt.Fatal(err)
			}
		}
		span := driver.Span{
			Table:   table,
			Key:     driver.Key{Partition: text.Draw(rt, "partition") + "#"},
			From:    text.Draw(rt, "from"),
			To:      text.Draw(rt, "to"),
			Reverse: rapid.Bool().Draw(rt, "reverse"),
			Limit:   rapid.IntRange(0, 4).Draw(rt, "limit"),
		}
		want := inSpan(keys, span)
		var got []string
		for r, err := range s.Range(t.Context(), span) {
			if err != nil {
				rt.Fatal(err)
			}
			got = append(got, r.Key.Sort)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("Range(%+v) = %q, want %q", span, got, want)
		}
		if n, err := s.Count(t.Context(), span); err != nil || n != len(want) {
			rt.Fatalf("Count(%+v) = %d, %v, want %d", span, n, err, len(want))
		}
	})
}

// inSpan says by brute force what a Range has to yield.
func inSpan(keys []string, span driver.Span) []string {
	var found []string
	for _, k := range keys {
		p, sort, _ := strings.Cut(k, "/")
		if p == span.Key.Partition && sort >= span.From && (span.To == "" || sort < span.To) {
			found = append(found, sort)
		}
	}
	slices.Sort(found)
	if span.Reverse {
		slices.Reverse(found)
	}
	if span.Limit > 0 && len(found) > span.Limit {
		found = found[:span.Limit]
	}
	return found
}

// fill writes rows 0 to n-1 of two partitions in a scattered order.
func fill(t *testing.T, s *memory.Store, table *driver.Table, n int) {
	t.Helper()
	for i := range n {
		for _, p := range []string{"p#", "q#"} {
			k := driver.Key{Partition: p, Sort: fmt.Sprintf("%06d#", i*7919%n)}
			commit(t, s, driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: k}})
		}
	}
}

func TestManyRowsComeInOrder(t *testing.T) {
	table := texts()
	s := open(t, nil, table)
	const n = 5003
	fill(t, s, table, n)
	for _, reverse := range []bool{false, true} {
		i := 0
		for r, err := range s.Range(t.Context(), driver.Span{Table: table, Key: driver.Key{Partition: "p#"}, Reverse: reverse}) {
			if err != nil {
				t.Fatal(err)
			}
			at := i
			if reverse {
				at = n - 1 - i
			}
			if want := fmt.Sprintf("%06d#", at); r.Key.Sort != want || r.Key.Partition != "p#" {
				t.Fatalf("row %d is %v, want %s", i, r.Key, want)
			}
			i++
		}
		if i != n {
			t.Errorf("%d rows, want %d", i, n)
		}
	}
}

func TestRangeWhileRowsComeAndGo(t *testing.T) {
	table := texts()
	s := open(t, nil, table)
	fill(t, s, table, 2000)
	seen := map[string]int{}
	for r, err := range s.Range(t.Context(), driver.Span{Table: table, Key: driver.Key{Partition: "p#"}}) {
		if err != nil {
			t.Fatal(err)
		}
		sort := r.Key.Sort
		seen[sort]++
		if len(seen)%10 == 0 { // writes around the place where the loop is
			passing := driver.Key{Partition: "p#", Sort: sort[:6] + "x#"}
			commit(t, s,
				driver.Op{Do: driver.Put, Table: table, Row: driver.Row{Key: passing}},
				driver.Op{Do: driver.Delete, Table: table, Row: driver.Row{Key: driver.Key{Partition: "p#", Sort: sort}}})
		}
	}
	for i := range 2000 {
		if n := seen[fmt.Sprintf("%06d#", i)]; n != 1 {
			t.Errorf("row %d came %d times", i, n)
		}
	}
}

func TestRangeIsLazy(t *testing.T) {
	table := texts()
	s := open(t, nil, table)
	seq := s.Range(t.Context(), driver.Span{Table: table, Key: driver.Key{Partition: "p#"}})
	fill(t, s, table, 2)
	for range 2 { // each loop runs anew
		n := 0
		for range seq {
			n++
		}
		if n != 2 {
			t.Errorf("%d rows, want the 2 that were written before the loop", n)
		}
	}
}

func TestWalkGoesOnFromAMark(t *testing.T) {
	table := texts()
	s := open(t, nil, table)
	fill(t, s, table, 1000)
	seen := map[string]int{}
	marks := []string{""}
	for chunk, err := range s.Walk(t.Context(), table, "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range chunk.Rows {
			seen[r.Key.Partition+r.Key.Sort]++
		}
		marks = append(marks, chunk.Mark)
	}
	if len(seen) != 2000 || len(marks) < 5 || marks[len(marks)-1] != "" {
		t.Fatalf("%d rows in %d chunks, the last mark %q", len(seen), len(marks)-1, marks[len(marks)-1])
	}
	rest := 0
	for chunk, err := range s.Walk(t.Context(), table, marks[2]) {
		if err != nil {
			t.Fatal(err)
		}
		rest += len(chunk.Rows)
	}
	if rest != 2000-512 {
		t.Errorf("%d rows after the second mark, want %d", rest, 2000-512)
	}
}

func TestBadMarks(t *testing.T) {
	table := texts()
	s := open(t, nil, table)
	fill(t, s, table, 1)
	good := frame.Mark("t", "a#b#")
	tests := map[string]error{
		"":                      nil,
		good:                    nil,
		"x":                     driver.ErrInvalid,
		"t/a#b#":                driver.ErrInvalid,
		good[1:]:                driver.ErrInvalid,
		frame.Mark("u", "a#b#"): driver.ErrInvalid,
		frame.Mark("t", ""):     nil,
		strings.ToUpper(good):   driver.ErrInvalid,
		good + good:             driver.ErrInvalid,
	}
	for mark, want := range tests {
		var got error
		for _, err := range s.Walk(t.Context(), table, mark) {
			got = err
		}
		if !errors.Is(got, want) {
			t.Errorf("Walk(%q) = %v, want %v", mark, got, want)
		}
	}
}

func TestReturnedRowsAreTheCallers(t *testing.T) {
	table := posts()
	s := open(t, nil, table)
	k := key(t, table, "ann", 1)
	op := put(table, k, "x", 1)
	op.Row.Extra = []driver.Pair{{Name: "e", Value: driver.IntValue(1)}}
	commit(t, s, op)
	op.Row.Fields[0], op.Row.Extra[0].Name = driver.StringValue("changed after"), "changed"
	r := get(t, s, table, k)
	ring := slices.Clone(r.Ring)
	r.Fields[0], r.Extra[0].Name, r.Ring[0] = driver.StringValue("changed"), "changed", driver.Token{1}
	again := get(t, s, table, k)
	if again.Fields[0].Str() != "x" || again.Extra[0].Name != "e" || again.Ring[0] != ring[0] {
		t.Errorf("the stored row shares memory with a caller: %+v", again)
	}
}
