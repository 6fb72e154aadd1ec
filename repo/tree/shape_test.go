package tree_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

var all = []tree.Strategy{tree.Adjacency, tree.Path, tree.Ancestors, tree.NestedSets, tree.Document}

// A kind of trees is a strategy, whether they are spread, and whether the store follows references by itself, and does
// so wrongly, level by level.
type kind struct {
	tree.Strategy
	spread, follows, levels bool
}

func (k kind) String() string {
	switch {
	case k.spread:
		return string(k.Strategy) + ", spread"
	case k.follows:
		return string(k.Strategy) + ", followed"
	}
	return string(k.Strategy)
}

func (k kind) schema() tree.Schema {
	return tree.Schema{Collection: "categories", Strategy: k.Strategy, Spread: k.spread}
}

func (k kind) store() *memory.Store { return memory.New(&memory.Options{Native: k.follows}) }

// kinds are the strategies, those that can be spread again, and those on a store that follows references.
func kinds() (list []kind) {
	for _, s := range all {
		list = append(list, kind{Strategy: s})
	}
	return append(list, kind{Strategy: tree.Adjacency, spread: true}, kind{Strategy: tree.Ancestors, spread: true},
		kind{Strategy: tree.Adjacency, follows: true}, kind{Strategy: tree.Path, follows: true})
}

// each runs a test on a tree of each strategy, of nodes "id<parent".
func each(t *testing.T, nodes string, test func(t *testing.T, tr *tree.Tree[category])) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			schema := k.schema()
			schema.Name = "name"
			f := openOn(t, k.store(), schema)
			tr := f.Tree("shop")
			for _, one := range strings.Fields(nodes) {
				id, parent, _ := strings.Cut(one, "<")
				if err := tr.Insert(t.Context(), tree.Under(parent), &category{Node: tree.Node{ID: id}, Name: strings.ToUpper(id)}); err != nil {
					t.Fatal(err)
				}
			}
			test(t, tr)
			if bad, err := tr.Verify(t.Context()); err != nil || len(bad) > 0 {
				t.Errorf("%v, %v", bad, err)
			}
		})
	}
}

const jobs = "it data<it engineer<data scientist<data web<it front<web back<web sales"

func TestAnnotated(t *testing.T) {
	each(t, jobs, func(t *testing.T, tr *tree.Tree[category]) {
		got := ""
		for item, err := range tr.Annotated(t.Context(), "", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if item.First {
				got += "("
			}
			got += item.Node.ID
			if item.HasChildren {
				got += ":"
			}
			got += strings.Repeat(")", item.Ends) + " "
		}
		if want := "(it: (data: (engineer scientist) web: (front back)) sales) "; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestReads(t *testing.T) {
	each(t, jobs, func(t *testing.T, tr *tree.Tree[category]) {
		ctx := t.Context()
		depth, err := tr.Depth(ctx, "front")
		below, err2 := tr.IsBelow(ctx, "front", "it")
		above, err3 := tr.IsBelow(ctx, "it", "front")
		count, err4 := tr.Count(ctx, "it")
		for what, tt := range map[string]struct{ got, want string }{
			"ancestors":        {names(tr.Ancestors(ctx, "front")), "it web <nil>"},
			"ancestors of one": {names(tr.Ancestors(ctx, "it")), "<nil>"},
			"parent":           {name(tr.Parent(ctx, "front")), "web <nil>"},
			"parent of a root": {name(tr.Parent(ctx, "it")), " not found"},
			"next":             {name(tr.Next(ctx, "front")), "back <nil>"},
			"next of the last": {name(tr.Next(ctx, "back")), " not found"},
			"previous":         {name(tr.Previous(ctx, "web")), "data <nil>"},
			"first":            {name(tr.Previous(ctx, "it")), " not found"},
			"siblings":         {names(repo.Collect(tr.Siblings(ctx, "web"))), "data <nil>"},
			"roots":            {names(repo.Collect(tr.Children(ctx, ""))), "it sales <nil>"},
			"reversed":         {names(repo.Collect(tr.Reversed(ctx, "data"))), "scientist engineer <nil>"},
			"leaves":           {names(repo.Collect(tr.Leaves(ctx, "it"))), "engineer scientist front back <nil>"},
			"common":           {name(tr.CommonAncestor(ctx, "front", "engineer")), "it <nil>"},
			"common of a line": {name(tr.CommonAncestor(ctx, "front", "web")), "web <nil>"},
			"common of roots":  {name(tr.CommonAncestor(ctx, "front", "sales")), " not found"},
			"find":             {name(tr.Find(ctx, "IT", "WEB", "BACK")), "back <nil>"},
			"find nothing":     {name(tr.Find(ctx, "IT", "BACK")), " not found"},
			"depth":            {fmt.Sprint(depth, err), "2 <nil>"},
			"below":            {fmt.Sprint(below, err2, above, err3), "true <nil> false <nil>"},
			"count":            {fmt.Sprint(count, err4), "6 <nil>"},
			"unknown":          {name(tr.Get(ctx, "nobody")), " not found"},
		} {
			if tt.got != tt.want {
				t.Errorf("%s: %s, want %s", what, tt.got, tt.want)
			}
		}
	})
}

// names says what a list is, and name what a node is.
func names(list []category, err error) string {
	text := ""
	for i := range list {
		text += list[i].ID + " "
	}
	return fmt.Sprint(text, err)
}

func name(n category, err error) string {
	if errors.Is(err, repo.ErrNotFound) {
		err = repo.ErrNotFound
	}
	return fmt.Sprint(n.ID, " ", err)
}

func TestReadsOfAPart(t *testing.T) {
	each(t, jobs, func(t *testing.T, tr *tree.Tree[category]) {
		ctx, two := t.Context(), 0
		for item, err := range tr.Descendants(ctx, "", 2) {
			if err != nil || item.Depth > 2 {
				t.Error(item, err)
			}
			two++
		}
		if two != 4 {
			t.Errorf("%d nodes down to a depth of 2, want 4", two)
		}
		page, err := tr.ChildrenPage(ctx, "data", 1, "")
		if err != nil || len(page.Items) != 1 || page.Items[0].ID != "engineer" || page.Next == "" {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

func TestLiftAndCopy(t *testing.T) {
	each(t, jobs, func(t *testing.T, tr *tree.Tree[category]) {
		ctx := t.Context()
		if err := tr.Lift(ctx, "data"); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(list(t, tr, ""), "/"), " it/  engineer/  scientist/  web/   front/   back/ sales"; got != want {
			t.Errorf("lifted: %s, want %s", got, want)
		}
		if n, err := tr.Copy(ctx, "web", tree.Under("sales"), func(id string) string { return id + "2" }); n != 3 || err != nil {
			t.Fatal(n, err)
		}
		if got, want := strings.Join(list(t, tr, "sales"), "/"), " web2/  front2/  back2"; got != want {
			t.Errorf("copied: %s, want %s", got, want)
		}
	})
}

// What another program wrote is noticed and, but for parents that are not there, mended.
func TestRepair(t *testing.T) {
	store := repo.NewStore(memory.New(nil), nil)
	f, err := tree.Open[category](t.Context(), store, tree.Schema{Collection: "categories", Strategy: tree.Path})
	if err != nil {
		t.Fatal(err)
	}
	tr, ctx := f.Tree("shop"), t.Context()
	for _, one := range strings.Fields("a b<a c<b d<c e x") {
		id, parent, _ := strings.Cut(one, "<")
		if err := tr.Insert(ctx, tree.Under(parent), &category{Node: tree.Node{ID: id}}); err != nil {
			t.Fatal(err)
		}
	}
	for id, change := range map[string]func(*category){
		"b": func(n *category) { n.Path = "nonsense" },
		"c": func(n *category) { n.Path = "" },
		"x": func(n *category) { n.Parent = "nobody" },
		"e": func(n *category) { n.Parent = "e" },
	} {
		if _, err := f.Nodes().Update(ctx, repo.Key{"shop", id}, func(n *category) error { change(n); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(list []tree.Problem) (ids []string) {
		for _, p := range list {
			ids = append(ids, p.ID)
		}
		slices.Sort(ids)
		return ids
	}
	if bad, err := tr.Verify(ctx); err != nil || !slices.Equal(ids(bad), []string{"b", "c", "e", "x"}) {
		t.Errorf("%v, %v", bad, err)
	}
	if left, err := tr.Repair(ctx); err != nil || !slices.Equal(ids(left), []string{"e", "x"}) {
		t.Errorf("%v, %v", left, err)
	}
	if got, want := strings.Join(list(t, tr, "a"), "/"), " b/  c/   d"; got != want {
		t.Errorf("repaired: %s, want %s", got, want)
	}
}
