package tree_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A record whose own field would stand in JSON for what the tree needs is refused, by writers and readers.
func TestNamesInJSON(t *testing.T) {
	type employee struct {
		tree.Node
		Boss string `repo:"boss" json:"parent"`
	}
	f, err := tree.Open[employee](t.Context(), repo.NewStore(memory.New(nil), nil), tree.Schema{Collection: "staff"})
	if err != nil {
		t.Fatal(err)
	}
	tr, text := f.Tree("x"), `[{"id":"a"}]`
	_, lines := tr.Load(t.Context(), tree.Lines[employee](strings.NewReader(text)))
	_, nested := tr.Load(t.Context(), tree.Nested[employee](strings.NewReader(text)))
	for call, err := range map[string]error{
		"WriteLines": tr.WriteLines(t.Context(), new(bytes.Buffer), ""), "WriteNested": tr.WriteNested(t.Context(), new(bytes.Buffer), ""),
		"Lines": lines, "Nested": nested,
	} {
		if !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "Boss") {
			t.Errorf("%s: %v, want %v that names the field", call, err, repo.ErrInvalid)
		}
	}
}

// An object of the outermost list comes below the node that it names, and nothing follows the list.
func TestNestedBelowANode(t *testing.T) {
	for _, s := range all {
		tr := openWith(t, tree.Schema{Collection: "c", Strategy: s}).Tree("shop")
		plant(t, tr, "a")
		if _, err := tr.Load(t.Context(), tree.Nested[category](strings.NewReader(`[{"id":"x","parent":"a","children":[{"id":"y"}]}]`))); err != nil {
			t.Fatal(err)
		}
		whole(t, tr, string(s), "a(x(y))")
		_, err := tr.Load(t.Context(), tree.Nested[category](strings.NewReader(`[{"id":"p"}] [{"id":"q"}]`)))
		if !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "more follows") {
			t.Errorf("%s: two lists: %v, want %v", s, err, repo.ErrInvalid)
		}
	}
}

// What WriteNested writes can be read, and what could not is refused.
func TestNestedLevels(t *testing.T) {
	const most = 4000
	tr := openWith(t, tree.Schema{Collection: "c"}).Tree("shop")
	chain := func(yield func(category, error) bool) {
		for i := range most + 1 {
			n := category{Node: tree.Node{ID: fmt.Sprint(i)}}
			if i > 0 {
				n.Parent = fmt.Sprint(i - 1)
			}
			if !yield(n, nil) {
				return
			}
		}
	}
	if _, err := tr.Load(t.Context(), chain); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := tr.WriteNested(t.Context(), &out, "1"); err != nil || !json.Valid(out.Bytes()) {
		t.Errorf("%d levels: %v, and %d bytes that are JSON: %v", most, err, out.Len(), json.Valid(out.Bytes()))
	}
	if err := tr.WriteNested(t.Context(), &out, ""); !errors.Is(err, repo.ErrTooLarge) || !strings.Contains(err.Error(), "WriteLines") {
		t.Errorf("%d levels: %v, want %v", most+1, err, repo.ErrTooLarge)
	}
}

// Nested objects are read in memory, and so in time, that grows as they do, whatever comes first in each.
func TestNestedIsLinear(t *testing.T) {
	allocated := func(levels int) (bytes uint64) {
		text := "[" + strings.Repeat(`{"Children":null,"id":"a","children":[`, levels-1) + `{"id":"a"` + strings.Repeat(`}],"name":"n"`, levels-1) + "}]"
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n := 0
		for rec, err := range tree.Nested[category](strings.NewReader(text)) {
			if n++; err != nil || (rec.Parent == "") != (n == 1) || (rec.Name == "n") != (n < levels) {
				t.Fatalf("node %d of %d: %+v, %v", n, levels, rec, err)
			}
		}
		if n != levels {
			t.Errorf("%d nodes of %d", n, levels)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := allocated(500), allocated(4000); many > 16*few {
		t.Errorf("%d bytes for 500 levels, and %d for 4,000", few, many)
	}
	for _, bad := range []string{`[7]`, `[{"id":"a","children":7}]`, `[{"id":"a","children":[null]}]`, `[{"id":"a"`, `[{"id":"a","children":[{"id":"b"}`,
		"[" + strings.Repeat(`{"id":"a","children":[`, 6000)} {
		var last error
		for _, err := range tree.Nested[category](strings.NewReader(bad)) {
			last = err
		}
		if !errors.Is(last, repo.ErrInvalid) {
			t.Errorf("%.40s: %v, want %v", bad, last, repo.ErrInvalid)
		}
	}
}

// Types that are no records, a nil function and the empty ID are refused, and nothing panics.
func TestOddArguments(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	_, pointer := tree.Open[*category](t.Context(), store, tree.Schema{Collection: "c"})
	for what, err := range map[string]error{"a pointer": pointer, "a map": tree.Check[map[string]any](store.Facts(), tree.Schema{Collection: "c"}), "a number": tree.Check[int](store.Facts(), tree.Schema{Collection: "c"})} {
		if !errors.Is(err, repo.ErrSchema) {
			t.Errorf("%s: %v, want %v", what, err, repo.ErrSchema)
		}
	}
	for _, size := range []tree.Size{{Depth: 1 << 30, Children: 1 << 30, Below: 1 << 30, Levels: 2}, {Below: -1}} {
		if _, err := tree.Explain[category](store, tree.Schema{Collection: "c"}, size); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("explain %+v: %v, want %v", size, err, repo.ErrInvalid)
		}
	}
	for _, k := range kinds() {
		tr := openOn(t, k.store(), k.schema()).Tree("shop")
		plant(t, tr, "a b<a")
		if _, err := tr.Update(t.Context(), "a", nil); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: update by nil: %v", k, err)
		}
		_, ancestors := tr.Ancestors(t.Context(), "")
		_, depth := tr.Depth(t.Context(), "")
		_, common := tr.CommonAncestor(t.Context(), "a", "")
		for _, err := range []error{ancestors, depth, common} {
			if !errors.Is(err, repo.ErrNotFound) {
				t.Errorf("%s: of no node: %v, want %v", k, err, repo.ErrNotFound)
			}
		}
		for of, want := range map[string]bool{"": false, "a": true} {
			if is, err := tr.IsBelow(t.Context(), of, ""); err != nil || is != want {
				t.Errorf("%s: %q below the whole tree: %v, %v", k, of, is, err)
			}
		}
	}
}

// Trees that cannot be have no costs, nor has a conversion to one.
func TestExplainOfNoTree(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	explain := func(s tree.Strategy, size tree.Size) (converts string, err error) {
		list, err := tree.Explain[category](store, tree.Schema{Collection: "c", Strategy: s, Also: all}, size)
		for _, c := range list {
			converts += c.Call + ";"
		}
		return converts, err
	}
	for _, tt := range []struct {
		strategy tree.Strategy
		no, some tree.Size
	}{
		{tree.Path, tree.Size{Depth: 5000}, tree.Size{Depth: 100}},
		{tree.Path, tree.Size{Children: 1, Below: 300, Levels: 300}, tree.Size{Children: 1, Below: 60, Levels: 60}},
		{tree.Ancestors, tree.Size{Depth: 5003}, tree.Size{Depth: 250}},
		{tree.Document, tree.Size{Children: 1000, Below: 1_000_000, Levels: 2}, tree.Size{Children: 100, Below: 10_000, Levels: 2}},
	} {
		if _, err := explain(tt.strategy, tt.no); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s of %+v: %v, want %v", tt.strategy, tt.no, err, repo.ErrInvalid)
		}
		if _, err := explain(tt.strategy, tt.some); err != nil {
			t.Errorf("%s of %+v: %v", tt.strategy, tt.some, err)
		}
		for size, want := range map[tree.Size]bool{tt.no: false, tt.some: true} {
			calls, err := explain(tree.Adjacency, size)
			if err != nil || !strings.Contains(calls, "Convert to nested_sets;") || strings.Contains(calls, fmt.Sprintf("Convert to %s;", tt.strategy)) != want {
				t.Errorf("%+v: %s, %v", size, calls, err)
			}
		}
	}
}

// A name that Find cannot take is refused before anything is made.
func TestNameOfNoText(t *testing.T) {
	type sized struct {
		tree.Node
		Size int `repo:"size"`
	}
	for name, says := range map[string]string{"size": "kind int", "title": "no such field"} {
		s := memory.New(nil)
		schema := tree.Schema{Collection: "c", Name: name}
		_, err := tree.Open[sized](t.Context(), repo.NewStore(s, nil), schema)
		for call, err := range map[string]error{"open": err, "check": tree.Check[sized](s.Facts(), schema)} {
			if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "Schema.Name") || !strings.Contains(err.Error(), says) {
				t.Errorf("%s by %s: %v, want %v that says %s", call, name, err, repo.ErrSchema, says)
			}
		}
		if _, err := repo.SchemaOf(t.Context(), repo.NewStore(s, nil), "c"); !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("by %s: the collection was made: %v", name, err)
		}
	}
}

// An error of many reads, writes or attempts says once what happened.
func TestErrorsSayItOnce(t *testing.T) {
	for _, s := range all {
		for at := 1; at < 100; at *= 3 {
			ctx, cancel := context.WithCancel(t.Context())
			h := &hooked{Store: memory.New(nil)}
			tr := shopOn(t, h, tree.Schema{Strategy: s})
			if _, err := tr.Load(t.Context(), randomNodes(300, 3)); err != nil {
				t.Fatal(err)
			}
			h.row = func(n int) {
				if n == at {
					cancel()
				}
			}
			for call, err := range everyCall(ctx, tr) {
				if n := strings.Count(fmt.Sprint(err), context.Canceled.Error()); n > 1 {
					t.Errorf("%s at row %d: %s: %d times: %v", s, at, call, n, err)
				}
			}
			cancel()
		}
	}
}
