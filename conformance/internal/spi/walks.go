package spi

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/conformance/internal/table"
	"github.com/polystore/polystore/repo/driver"
)

func walkRules() []entry {
	return []entry{
		{Name: "walk", Sentence: "Walk yields all rows of a table, with all fields and their Key, in chunks.", Check: walkAll},
		{Name: "empty table", Sentence: "Walk of an empty table yields no row.", Check: walkEmpty},
		{Name: "marks", Sentence: "A walk goes on after the chunk whose mark it is given.", Check: walkMarks},
		{Name: "last mark", Sentence: "A walk that goes on after the last full chunk, behind which there is nothing, yields no row and no error.", Check: lastMark},
		{Name: "marks of deleted rows", Sentence: "A walk goes on after its mark although the rows before it were deleted.", Check: marksOfDeleted},
		{Name: "bad marks", Sentence: "A bad mark is ErrInvalid.", Check: badMarks},
		{Name: "chunks for good", Sentence: "Chunks belong to the caller.", Check: chunksForGood},
		{Name: "walk at once", Sentence: "A row that is there during the whole walk comes at least once, while others come and go.", Check: walkAtOnce},
	}
}

// walkTable makes a table with n rows.
func walkTable(ctx context.Context, e *env, n int) (*driver.Table, []string) {
	t := e.ownTable(table.Fields()...)
	e.define(ctx, t)
	var ops []driver.Op
	var want []string
	for i := range n {
		r := row(e.at(t, fmt.Sprint("p", i%7), fmt.Sprintf("%05d", i)), fmt.Sprint("row ", i))
		r.Extra, r.Meta, r.Expires = []driver.Pair{{Name: "x", Value: num(int64(i))}}, fmt.Sprint("note ", i), int64(i)
		want = append(want, r.Key.Partition+r.Key.Sort)
		ops = append(ops, put(t, r))
	}
	for part := range 7 {
		var own []driver.Op
		for i := part; i < n; i += 7 {
			own = append(own, ops[i])
		}
		e.commitMany(ctx, own)
	}
	slices.Sort(want)
	return t, want
}

// A walked is a table that rules walk and leave as it is, and its keys.
type walked struct {
	table *driver.Table
	keys  []string
}

// sharedWalk returns a table with 1500 rows that rules share which change nothing in it.
func sharedWalk(ctx context.Context, e *env) (*driver.Table, []string) {
	w := rule.SharedAs(ctx, e, "walked", func(string) (walked, error) {
		t, keys := walkTable(ctx, e, 1500)
		return walked{t, keys}, nil
	})
	return w.table, slices.Clone(w.keys)
}

// walkFrom returns the keys and marks of a walk.
func walkFrom(ctx context.Context, e *env, t *driver.Table, mark string) (keys []string, chunks []driver.Chunk) {
	for chunk, err := range e.Store.Walk(ctx, t, mark) {
		e.OK("walk", err)
		e.That(len(chunk.Rows) <= 1000, "some hundreds of rows in a chunk", "%d", len(chunk.Rows))
		if len(chunks) > 0 {
			e.That(chunks[len(chunks)-1].Mark != "", "a mark with every chunk but the last", "none")
		}
		for i := range chunk.Rows {
			keys = append(keys, chunk.Rows[i].Key.Partition+chunk.Rows[i].Key.Sort)
		}
		chunks = append(chunks, chunk)
	}
	slices.Sort(keys)
	return keys, chunks
}

func walkAll(ctx context.Context, e *env) {
	t, want := sharedWalk(ctx, e)
	keys, chunks := walkFrom(ctx, e, t, "")
	rule.Equal(e, "the number of rows", len(slices.Compact(keys)), len(want))
	for _, chunk := range chunks {
		for i := range chunk.Rows {
			r := &chunk.Rows[i]
			n, ok := strings.CutPrefix(textOf(r), "row ")
			e.That(ok, "a row with its fields", "%s", show(r))
			rule.Equal(e, "note, expiry and undeclared field of row "+n, fmt.Sprint(r.Meta, " ", r.Expires, " ", r.Extra), fmt.Sprint("note "+n, " ", n, " ", []driver.Pair{{Name: "x", Value: num(r.Expires)}}))
		}
	}
}

func walkEmpty(ctx context.Context, e *env) {
	t := e.ownTable(table.Fields()...)
	e.define(ctx, t)
	keys, _ := walkFrom(ctx, e, t, "")
	rule.Equal(e, "the number of rows", len(keys), 0)
	key := e.at(t, "p", "a")
	e.commit(ctx, put(t, row(key, "x")))
	keys, _ = walkFrom(ctx, e, t, "")
	rule.Equal(e, "the rows", keys, []string{key.Partition + key.Sort})
}

func walkMarks(ctx context.Context, e *env) {
	t, want := sharedWalk(ctx, e)
	_, chunks := walkFrom(ctx, e, t, "")
	e.That(len(chunks) > 1, "more than one chunk", "%d", len(chunks))
	for i, chunk := range chunks {
		if chunk.Mark == "" {
			continue
		}
		rest, _ := walkFrom(ctx, e, t, chunk.Mark)
		for _, before := range chunks[:i+1] {
			for j := range before.Rows {
				rest = append(rest, before.Rows[j].Key.Partition+before.Rows[j].Key.Sort)
			}
		}
		slices.Sort(rest)
		rule.Equal(e, fmt.Sprintf("the number of rows up to chunk %d and after its mark", i), len(slices.Compact(rest)), len(want))
	}
	rule.Equal(e, "how many rows there are at most after the first mark", lenAfter(ctx, e, t, chunks[0].Mark) <= len(want)-len(chunks[0].Rows)/2, true)
}

func lenAfter(ctx context.Context, e *env, t *driver.Table, mark string) int {
	keys, _ := walkFrom(ctx, e, t, mark)
	return len(keys)
}

func badMarks(ctx context.Context, e *env) {
	t, _ := sharedWalk(ctx, e)
	_, chunks := walkFrom(ctx, e, t, "")
	good := rule.At(e, "the chunks of a walk", chunks, 0).Mark
	for _, mark := range []string{"\x00", "no mark", "\xff\xfe", strings.Repeat("m", 5000), good + "\x00x"} {
		seen := 0
		for chunk, err := range e.Store.Walk(ctx, t, mark) {
			seen++
			e.Is("walk from the mark "+rule.Brief(mark), err, driver.ErrInvalid)
			rule.Equal(e, "the rows with the error", len(chunk.Rows), 0)
		}
		rule.Equal(e, "how often the error came", seen, 1)
	}
	e.That(lenAfter(ctx, e, t, good) > 0, "rows after a good mark", "none")
}

func chunksForGood(ctx context.Context, e *env) {
	t, want := sharedWalk(ctx, e)
	_, chunks := walkFrom(ctx, e, t, "")
	walkFrom(ctx, e, t, "")
	var got []string
	for _, chunk := range chunks {
		for i := range chunk.Rows {
			r := &chunk.Rows[i]
			e.That(textOf(r) == "row "+strings.TrimPrefix(r.Meta, "note "), "a row as it was yielded", "%s", show(r))
			got = append(got, r.Key.Partition+r.Key.Sort)
		}
	}
	slices.Sort(got)
	rule.Equal(e, "the keys of all chunks, looked at later", len(slices.Compact(got)), len(want))
}

func walkAtOnce(ctx context.Context, e *env) {
	t, want := walkTable(ctx, e, 1500)
	seen := map[string]bool{}
	for chunk, err := range e.Store.Walk(ctx, t, "") {
		e.OK("walk", err)
		for i := range chunk.Rows {
			seen[chunk.Rows[i].Key.Partition+chunk.Rows[i].Key.Sort] = true
		}
		for i := range 60 {
			key := e.at(t, fmt.Sprint("p", i%7), fmt.Sprintf("%05d-%d", i*25, len(seen)%3))
			if (len(seen)/250)%2 == 0 {
				e.commit(ctx, put(t, row(key, "goes")))
			} else {
				e.commit(ctx, driver.Op{Do: driver.Delete, Table: t, Row: driver.Row{Key: key}})
			}
		}
	}
	missing := 0
	for _, key := range want {
		if !seen[key] {
			missing++
		}
	}
	rule.Equal(e, "how many rows that stayed were missed", missing, 0)
}
