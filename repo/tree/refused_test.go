package tree_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// A conversion that some node does not allow says why, and leaves the tree as it was, for whoever writes it.
func TestConversionIsTakenBack(t *testing.T) {
	ctx := t.Context()
	for _, to := range all[:len(all)-1] {
		f := openWith(t, tree.Schema{Collection: "c", Strategy: tree.Document, Also: all, Name: "name"})
		tr := f.Tree("shop")
		plant(t, tr, "a b<a")
		const long = "long" // of which the index has no room
		if err := tr.Insert(ctx, tree.Under("a"), &category{Node: tree.Node{ID: long}, Name: strings.Repeat("x", 2000)}); err != nil {
			t.Fatal(err)
		}
		err := tr.Convert(ctx, to)
		if !errors.Is(err, repo.ErrTooLarge) && !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), `stays one of "document"`) {
			t.Errorf("to %s: %v", to, err)
		}
		plant(t, tr, "c<b")
		if got := beneath(t, tr, ""); !slices.Equal(got, []string{"a", "b", "c", long}) {
			t.Errorf("%q", got)
		}
		if err := tr.Delete(ctx, long); err != nil {
			t.Fatal(err)
		}
		if err := tr.Convert(ctx, to); err != nil {
			t.Errorf("to %s without the node: %v", to, err)
		}
		sound(t, f, to)
	}
}

// A program whose schema lacks the strategy of a tree is told so by every call: it sees no empty tree.
func TestSchemaWithoutTheStrategy(t *testing.T) {
	ctx, store := t.Context(), repo.NewStore(memory.New(nil), nil)
	old, err := tree.Open[category](ctx, store, tree.Schema{Collection: "c"})
	if err != nil {
		t.Fatal(err)
	}
	now, err := tree.Open[category](ctx, store, tree.Schema{Collection: "c", Also: []tree.Strategy{tree.Document}})
	if err != nil {
		t.Fatal(err)
	}
	plant(t, old.Tree("shop"), "a b<a")
	if err := now.Tree("shop").Convert(ctx, tree.Document); err != nil {
		t.Fatal(err)
	}
	for call, err := range everyCall(ctx, old.Tree("shop")) {
		if !errors.Is(err, repo.ErrSchema) && call != "nested" {
			t.Errorf("%s: %v, want %v", call, err, repo.ErrSchema)
		}
	}
	if got := beneath(t, now.Tree("shop"), ""); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%q", got)
	}
}

// The same of a program whose schema lacks what a tree is being converted to: it cannot end that, and says so.
func TestSchemaWithoutWhatTheTreeBecomes(t *testing.T) {
	for at := 2; at < 6; at++ {
		h, now, reader := shopBeside(t, tree.Schema{Also: []tree.Strategy{tree.Document}}, "a b<a c<a")
		old := shopOn(t, h.Store, tree.Schema{})
		h.diesAt(at)
		if err := now.Convert(t.Context(), tree.Document); !isUnsure(err) {
			t.Fatal(err)
		}
		_, update := old.Update(t.Context(), "b", func(*category) error { return nil })
		for call, err := range map[string]error{
			"move": old.Move(t.Context(), "b", tree.Under("")), "delete": old.Delete(t.Context(), "b"), "cut": old.DeleteSubtree(t.Context(), "a"),
			"lift": old.Lift(t.Context(), "a"), "settle": old.Settle(t.Context()), "convert": old.Convert(t.Context(), tree.Adjacency), "update": update,
		} {
			if (!errors.Is(err, repo.ErrSchema) || errors.Is(err, repo.ErrUnknownOutcome)) && (call != "update" || at > 3) {
				t.Errorf("%s, after %d commits of a conversion: %v, want %v alone", call, at-1, err, repo.ErrSchema)
			}
		}
		bad, err := reader.Verify(t.Context())
		if got := beneath(t, reader, ""); len(bad) > 0 || err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("%q, %v, %v", got, bad, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	ctx := t.Context()
	type state struct {
		tree.Node
		State string `repo:"state"`
	}
	type parent struct {
		tree.Node
		Parent bool `repo:"has_parent"`
	}
	type pointer struct{ *tree.Node }
	open := map[string]func(s *repo.Store, schema tree.Schema) error{
		"State":  func(s *repo.Store, schema tree.Schema) error { _, err := tree.Open[state](ctx, s, schema); return err },
		"Parent": func(s *repo.Store, schema tree.Schema) error { _, err := tree.Open[parent](ctx, s, schema); return err },
		"embed": func(s *repo.Store, schema tree.Schema) error {
			_, err := tree.Open[pointer](ctx, s, schema)
			return err
		},
	}
	for what, do := range open {
		if err := do(repo.NewStore(memory.New(nil), nil), tree.Schema{Collection: "c"}); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	unique := tree.Schema{Collection: "c", Also: []tree.Strategy{tree.Document}, Indexes: []repo.Index{{Partition: []string{"name"}, Unique: true}}}
	if _, err := tree.Open[category](ctx, repo.NewStore(memory.New(nil), nil), unique); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "unique") {
		t.Errorf("a unique index of documents: %v", err)
	}
	store := repo.NewStore(memory.New(nil), nil)
	for i, by := range [][]string{{"name"}, {"-name"}, nil, {"name"}} {
		_, err := tree.Open[category](ctx, store, tree.Schema{Collection: "c", Sorted: by})
		if (err == nil) != (i%3 == 0) || err != nil && !errors.Is(err, repo.ErrSchema) {
			t.Errorf("sorted by %q: %v", by, err)
		}
	}
}

func TestChildrenHaveOneName(t *testing.T) {
	type person struct {
		tree.Node
		Kids []string `repo:"kids" json:"Children"`
	}
	f, err := tree.Open[person](t.Context(), repo.NewStore(memory.New(nil), nil), tree.Schema{Collection: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Tree("a").WriteNested(t.Context(), &bytes.Buffer{}, ""); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "Kids") {
		t.Errorf("write: %v", err)
	}
	for _, err := range tree.Nested[person](strings.NewReader("[]")) {
		if !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("read: %v", err)
		}
	}
}

// Errors name the node that a call is about, and the one that is missing.
func TestErrorsNameNodes(t *testing.T) {
	each(t, "a b<a c<b", func(t *testing.T, tr *tree.Tree[category]) {
		ctx := t.Context()
		rec := func() *category { return &category{Node: tree.Node{ID: "new"}} }
		_, below := tr.Copy(ctx, "a", tree.Under("c"), func(id string) string { return id + "2" })
		_, beside := tr.Copy(ctx, "a", tree.Before("c"), func(id string) string { return id + "2" })
		_, none := tr.Copy(ctx, "a", tree.Under(""), nil)
		var deep error
		for _, err := range tr.Descendants(ctx, "a", -1) {
			deep = err
		}
		_, count := tr.Count(ctx, "no")
		for _, tt := range []struct {
			err, want error
			texts     string
		}{
			{tr.Insert(ctx, tree.Under("no"), rec()), repo.ErrNotFound, `new "no"`},
			{tr.Insert(ctx, tree.After("no"), rec()), repo.ErrNotFound, `new "no"`},
			{tr.Move(ctx, "c", tree.Under("no")), repo.ErrNotFound, `shop/c "no"`},
			{tr.Insert(ctx, tree.Under(""), &category{}), repo.ErrInvalid, "ID"},
			{below, tree.ErrBelowItself, "copy shop/a"}, {beside, tree.ErrBelowItself, "copy"}, {none, repo.ErrInvalid, "newID"},
			{deep, repo.ErrInvalid, "-1"}, {count, repo.ErrNotFound, "count no"},
		} {
			if !errors.Is(tt.err, tt.want) {
				t.Errorf("%v, want %v", tt.err, tt.want)
				continue
			}
			for _, text := range strings.Fields(tt.texts) {
				if !strings.Contains(tt.err.Error(), text) {
					t.Errorf("%v does not say %s", tt.err, text)
				}
			}
		}
		if is, err := tr.IsBelow(ctx, "b", ""); !is || err != nil {
			t.Errorf("b is below the roots: %v, %v", is, err)
		}
	})
	if _, err := repo.Collect(tree.Nested[category](strings.NewReader(`[{"id":"a"},{"id":7}]`))); err == nil || !strings.Contains(err.Error(), "root 2") {
		t.Errorf("%v", err)
	}
	if _, err := repo.Collect(tree.Nested[category](strings.NewReader(""))); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// What another program made a cycle of is found at once.
func TestCycleIsFound(t *testing.T) {
	for _, k := range kinds() {
		if k.Strategy != tree.Adjacency {
			continue
		}
		f, ctx := openOn(t, k.store(), k.schema()), t.Context()
		tr := f.Tree("shop")
		plant(t, tr, "a b<a c<b d<c")
		if _, err := f.Nodes().Patch(ctx, repo.Key{"shop", "a"}, repo.Set("parent", "c")); err != nil {
			t.Fatal(err)
		}
		_, above := tr.Ancestors(ctx, "d")
		_, below := tr.Count(ctx, "b")
		for _, err := range []error{above, below} {
			if !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "Verify") {
				t.Errorf("%s: %v", k, err)
			}
		}
		bad, err := tr.Verify(ctx)
		if len(bad) != 4 || err != nil || bad[0].Repairable || !strings.Contains(bad[0].String(), "below itself") {
			t.Errorf("%s: %v, %v", k, bad, err)
		}
	}
}

// Errors say what the caller of a tree can do.
func TestErrorsNameRemedies(t *testing.T) {
	ctx := t.Context()
	store := repo.NewStore(memory.New(nil), nil)
	if _, err := tree.Open[category](ctx, store, tree.Schema{Collection: "c", Strategy: tree.Path, Name: "name"}); err != nil {
		t.Fatal(err)
	}
	_, lacks := tree.Open[category](ctx, store, tree.Schema{Collection: "c", Name: "name"})
	_, nameless := tree.Open[category](ctx, store, tree.Schema{Collection: "c", Strategy: tree.Path})
	tr := open(t, tree.Document).Tree("shop")
	plant(t, tr, "a")
	again, err := tr.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		err, want error
		says      string
	}{
		{lacks, repo.ErrSchema, `["path"], which the schema lacks; name them in Also`},
		{nameless, repo.ErrSchema, `the field "name", which the schema lacks; give it as Name`},
		{tr.Insert(ctx, tree.Under(""), &again), repo.ErrInvalid, "Update changes the node"},
		{deepest(t, tree.Path), repo.ErrTooLarge, "Convert the tree"}, {deepest(t, tree.Ancestors), repo.ErrTooLarge, "Convert the tree"},
	} {
		if !errors.Is(tt.err, tt.want) || !strings.Contains(tt.err.Error(), tt.says) || strings.Contains(tt.err.Error(), "of the group") {
			t.Errorf("%v, want %v that says %s", tt.err, tt.want, tt.says)
		}
	}
}

// deepest inserts nodes below one another until one is refused.
func deepest(t *testing.T, s tree.Strategy) (err error) {
	tr, last := open(t, s).Tree("shop"), ""
	for i := 0; err == nil && i < 400; i++ {
		id := fmt.Sprint("n", i)
		err = tr.Insert(t.Context(), tree.Under(last), &category{Node: tree.Node{ID: id}})
		last = id
	}
	return err
}

// A function of an update that writes the same tree makes the update begin again, and the error says so in the end.
func TestUpdateThatWritesTheTree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, n := open(t, tree.Document).Tree("shop"), 0
		plant(t, tr, "a")
		_, err := tr.Update(t.Context(), "a", func(*category) error {
			n++
			plant(t, tr, fmt.Sprint("n", n))
			return nil
		})
		if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrContention) || !e.Retryable {
			t.Errorf("%v after %d calls, want %v", err, n, repo.ErrContention)
		}
	})
}

// A function that names copies is called once for each node.
func TestCopyNamesOnce(t *testing.T) {
	each(t, "a b<a c<b d<b", func(t *testing.T, tr *tree.Tree[category]) {
		n := 0
		made, err := tr.Copy(t.Context(), "a", tree.Under(""), func(string) string { n++; return fmt.Sprint("copy", n) })
		if made != 4 || n != 4 || err != nil {
			t.Errorf("%d copies, %d names, %v", made, n, err)
		}
		if got := drawn(t, tr, "", 0); got != "a(b(c d)) copy1(copy2(copy3 copy4))" {
			t.Error(got)
		}
	})
}
