package tree_test

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

// randomNodes yields nodes with random parents among those before, in depth-first order of a list or not.
func randomNodes(n, roots int) iter.Seq2[category, error] {
	return func(yield func(category, error) bool) {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			rec := category{Node: tree.Node{ID: fmt.Sprint("n", i)}, Name: fmt.Sprintf("%d\"]}é", i)}
			if i >= roots {
				rec.Parent = fmt.Sprint("n", rng.IntN(i))
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// What is loaded is what inserts make of it, and what is written is loaded again.
func TestLoad(t *testing.T) {
	for _, k := range kinds() {
		for _, roots := range []int{1, 30} {
			t.Run(fmt.Sprint(k, roots), func(t *testing.T) {
				f, ctx := openOn(t, k.store(), k.schema()), t.Context()
				tr, single := f.Tree("shop"), f.Tree("single")
				if n, err := tr.Load(ctx, randomNodes(500, roots)); n != 500 || err != nil {
					t.Fatal(n, err)
				}
				for rec := range randomNodes(500, roots) {
					if err := single.Insert(ctx, tree.Under(rec.Parent), &rec); err != nil {
						t.Fatal(err)
					}
				}
				want := list(t, single, "")
				if got := list(t, tr, ""); !slices.Equal(got, want) {
					t.Errorf("loaded %q, want %q", got, want)
				}
				sound(t, f, k.Strategy)
				var lines, nested bytes.Buffer
				if err := errors.Join(tr.WriteLines(ctx, &lines, ""), tr.WriteNested(ctx, &nested, "")); err != nil {
					t.Fatal(err)
				}
				for name, nodes := range map[string]iter.Seq2[category, error]{"lines": tree.Lines[category](&lines), "nested": tree.Nested[category](&nested)} {
					again := f.Tree(name)
					if n, err := again.Load(ctx, nodes); n != 500 || err != nil {
						t.Errorf("%s: %d, %v", name, n, err)
					}
					if got := list(t, again, ""); !slices.Equal(got, want) {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
					if rec, err := again.Get(ctx, "n7"); err != nil || rec.Name != "7\"]}é" || rec.Tree != name {
						t.Errorf("%s: %+v, %v", name, rec, err)
					}
				}
			})
		}
	}
}

// A node and what is below it is written as a tree of its own.
func TestWriteOfAPart(t *testing.T) {
	f, ctx := open(t, tree.Path), t.Context()
	tr := f.Tree("shop")
	for _, edge := range [][2]string{{"", "a"}, {"a", "b"}, {"b", "c"}, {"b", "d"}, {"a", "e"}} {
		if err := tr.Insert(ctx, tree.Under(edge[0]), &category{Node: tree.Node{ID: edge[1]}}); err != nil {
			t.Fatal(err)
		}
	}
	var lines, nested, none bytes.Buffer
	if err := errors.Join(tr.WriteLines(ctx, &lines, "b"), tr.WriteNested(ctx, &nested, "b"), f.Tree("none").WriteNested(ctx, &none, "")); err != nil {
		t.Fatal(err)
	}
	const wantLines = `{"id":"b","Name":""}` + "\n" + `{"id":"c","parent":"b","Name":""}` + "\n" + `{"id":"d","parent":"b","Name":""}` + "\n"
	if lines.String() != wantLines {
		t.Errorf("lines:\n%s\nwant\n%s", &lines, wantLines)
	}
	const wantNested = "[\n" + `{"id":"b","Name":"","children":[` + "\n" + `{"id":"c","Name":""},` + "\n" + `{"id":"d","Name":""}]}]` + "\n"
	if nested.String() != wantNested {
		t.Errorf("nested:\n%s\nwant\n%s", &nested, wantNested)
	}
	if none.String() != "[]\n" {
		t.Errorf("an empty tree: %q", &none)
	}
	if err := tr.WriteLines(ctx, &lines, "nobody"); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("of a node that is not there: %v", err)
	}
}

func TestLoadRefusals(t *testing.T) {
	for _, tt := range []struct {
		name, lines string
		want        error
		says        string
		n           int
	}{
		{"no JSON", "{\"id\":\"a\"}\n{\n", repo.ErrInvalid, "line 2", 1},
		{"no ID", `{"name":"a"}`, repo.ErrInvalid, "without an ID", 0},
		{"children first", `{"id":"b","parent":"a"}` + "\n" + `{"id":"a"}`, repo.ErrNotFound, `its parent "a" did not come before it`, 0},
		{"twice", `{"id":"b"}` + "\n" + `{"id":"b"}`, repo.ErrExists, `"b" came before`, 1},
		{"there", `{"id":"b"}` + "\n" + `{"id":"there"}`, repo.ErrExists, "shop/there", 1},
		{"own parent", `{"id":"b","parent":"b"}`, repo.ErrNotFound, `"b"`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := open(t, tree.Path).Tree("shop")
			if err := tr.Insert(t.Context(), tree.Under(""), &category{Node: tree.Node{ID: "there"}}); err != nil {
				t.Fatal(err)
			}
			n, err := tr.Load(t.Context(), tree.Lines[category](strings.NewReader(tt.lines)))
			if n != tt.n || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%d, %v, want %d, %v that says %s", n, err, tt.n, tt.want, tt.says)
			}
			if got := list(t, tr, ""); len(got) != tt.n+1 {
				t.Errorf("%q is there", got)
			}
		})
	}
	for _, text := range []string{"", "{}", `[{"id":"a","children":[3]}]`, `[{"id":"a"`, `[{"id":"a"}`, `[{"id":"a","children":{}}]`, strings.Repeat(`[{"id":"a","children":`, 11000)} {
		n, err := open(t, tree.Path).Tree("shop").Load(t.Context(), tree.Nested[category](strings.NewReader(text)))
		if !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%.40s: %d, %v, want %v", text, n, err, repo.ErrInvalid)
		}
	}
}

// Where others change what is loaded meanwhile, the rest is loaded all the same. A document is loaded at once.
func TestLoadBesideOthers(t *testing.T) {
	for _, k := range kinds() {
		if k.Strategy == tree.Document {
			continue
		}
		f, ctx := openOn(t, k.store(), k.schema()), t.Context()
		tr, i := f.Tree("shop"), 0
		n, err := tr.Load(ctx, func(yield func(category, error) bool) {
			for rec, err := range randomNodes(1000, 10) {
				if i++; i%50 == 49 {
					if err := tr.Move(ctx, "n1", tree.Under([]string{"n2", ""}[i/50%2])); err != nil && i > 150 && !errors.Is(err, tree.ErrBelowItself) {
						t.Error(err)
					}
				}
				if !yield(rec, err) {
					return
				}
			}
		})
		if n != 1000 || err != nil {
			t.Errorf("%s: %d, %v", k, n, err)
		}
		sound(t, f, k.Strategy)
	}
}

// What is loaded below a node of the tree comes after its children.
func TestLoadBelow(t *testing.T) {
	each(t, jobs, func(t *testing.T, tr *tree.Tree[category]) {
		ctx := t.Context()
		below := func(nodes string) (int, error) {
			return tr.Load(ctx, func(yield func(category, error) bool) {
				for _, one := range strings.Fields(nodes) {
					id, parent, _ := strings.Cut(one, "<")
					if !yield(category{Node: tree.Node{ID: id, Parent: parent}}, nil) {
						return
					}
				}
			})
		}
		if n, err := below("ml<data nlp<ml vision<ml root chief<root paint<front night<web"); n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		want := "it(data(engineer scientist ml(nlp vision)) web(front(paint) back night)) sales root(chief)"
		if got := drawn(t, tr, "", 0); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if n, err := below("m<it n<nobody"); n > 1 || !errors.Is(err, repo.ErrNotFound) || !strings.Contains(err.Error(), `its parent "nobody"`) {
			t.Errorf("below a node that is not there: %d, %v", n, err)
		}
		if n, err := below("k<it it<k"); n > 1 || !errors.Is(err, repo.ErrExists) {
			t.Errorf("a node that is there: %d, %v", n, err)
		}
		if err := tr.Move(ctx, "ml", tree.Under("web")); err != nil {
			t.Error(err)
		}
	})
}

// Beside others what is loaded below a node is below it, or there is no node any more.
func TestLoadBelowBesideOthers(t *testing.T) {
	for _, s := range all {
		for at := 1; at < 8; at++ {
			h, tr, other := shopBeside(t, tree.Schema{Strategy: s, Also: all}, "r a<r b")
			var beside error
			h.before = func(n int, _ []driver.Op) error {
				if n == at {
					beside = []error{other.Move(t.Context(), "a", tree.Under("b")), other.Delete(t.Context(), "a")}[at%2]
					_ = other.Convert(t.Context(), all[(slices.Index(all, s)+at)%len(all)])
				}
				return nil
			}
			n, err := tr.Load(t.Context(), numbered(130, func(int) string { return "a" }, -1, nil))
			_, lost := other.Get(t.Context(), "a")
			if there, err := other.Count(t.Context(), ""); lost == nil && (n != 130 || there != 133) || lost != nil && there != 2 {
				t.Errorf("%s at commit %d: %d of %d nodes, %v", s, at, n, there, err)
			}
			if err != nil && (lost == nil || !errors.Is(err, repo.ErrNotFound)) || beside != nil && !errors.Is(beside, tree.ErrHasChildren) {
				t.Errorf("%s at commit %d: %v, beside %v", s, at, err, beside)
			}
			if bad, err := other.Verify(t.Context()); len(bad) > 0 || err != nil {
				t.Errorf("%s at commit %d: %v, %v", s, at, bad, err)
			}
		}
	}
}

// Nothing is loaded below a node after its deletion has looked for children.
func TestLoadBelowAClosingNode(t *testing.T) {
	for _, s := range all {
		h, tr, other := shopBeside(t, tree.Schema{Strategy: s}, "r a<r")
		var n int
		var beside error
		h.before = func(at int, _ []driver.Op) error {
			if at == 2 || s == tree.Document {
				n, beside = other.Load(t.Context(), numbered(3, func(int) string { return "a" }, -1, nil))
				h.before = nil
			}
			return nil
		}
		err := tr.Delete(t.Context(), "a")
		if refused := errors.Is(err, tree.ErrHasChildren); err != nil && !refused || refused != (n == 3) || n == 0 && !errors.Is(beside, repo.ErrNotFound) {
			t.Errorf("%s: deletion: %v; load: %d, %v", s, err, n, beside)
		}
		if bad, err := other.Verify(t.Context()); len(bad) > 0 || err != nil {
			t.Errorf("%s: %v, %v", s, bad, err)
		}
	}
}

// Nodes that come in any order are loaded parents first, in the order of siblings. A cycle is named.
func TestParentsFirst(t *testing.T) {
	each(t, "", func(t *testing.T, tr *tree.Tree[category]) {
		load := func(nodes string) (int, error) {
			return tr.Load(t.Context(), tree.ParentsFirst(func(yield func(category, error) bool) {
				for _, one := range strings.Fields(nodes) {
					id, parent, _ := strings.Cut(one, "<")
					if !yield(category{Node: tree.Node{ID: id, Parent: parent}}, nil) {
						return
					}
				}
			}))
		}
		if n, err := load("d<b c<b b<a e<a a x<r r"); n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if got := drawn(t, tr, "", 0); got != "a(b(d c) e) r(x)" {
			t.Error(got)
		}
		if n, err := load("k l<n m<l n<m o<n"); n != 0 || !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "l below n below m below l") {
			t.Errorf("a cycle: %d, %v", n, err)
		}
		if n, err := load("k l<none"); n > 1 || !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("a parent that is not there: %d, %v", n, err)
		}
		if n, err := load("u v<u u"); n > 2 || !errors.Is(err, repo.ErrExists) {
			t.Errorf("a node twice: %d, %v", n, err)
		}
	})
}

func TestHasChildren(t *testing.T) {
	each(t, jobs, func(t *testing.T, tr *tree.Tree[category]) {
		has, err := tr.HasChildren(t.Context(), "it", "front", "", "nobody", "web")
		if !slices.Equal(has, []bool{true, false, true, false, true}) || err != nil {
			t.Errorf("%v, %v", has, err)
		}
		if has, err := tr.HasChildren(t.Context()); len(has) > 0 || err != nil {
			t.Errorf("of no node: %v, %v", has, err)
		}
		if counts, err := tr.CountChildren(t.Context(), "it", "front", "", "nobody", "web"); !slices.Equal(counts, []int{2, 0, 2, 0, 2}) || err != nil {
			t.Errorf("counts %v, %v", counts, err)
		}
		if counts, err := tr.CountChildren(t.Context()); len(counts) > 0 || err != nil {
			t.Errorf("counts of no node: %v, %v", counts, err)
		}
	})
}
