package tree_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
