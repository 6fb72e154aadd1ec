package tree_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// These are the cases of django-treebeard that other tests lack. docs/reference/treebeard.md has the list.

// bearded are the nodes with which most cases of django-treebeard begin, and outlined is their outline.
const (
	bearded  = "1 2 3 4 21<2 22<2 23<2 24<2 231<23 41<4"
	outlined = "1 2(21 22 23(231) 24) 3 4(41)"
)

func outline[T any](t *testing.T, items iter.Seq2[tree.Item[T], error], id func(*T) string) string {
	t.Helper()
	text, depth := "", 1
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case item.Depth > depth:
			text += "("
		case text != "":
			text += strings.Repeat(")", depth-item.Depth) + " "
		}
		text, depth = text+id(&item.Node), item.Depth
	}
	return text + strings.Repeat(")", depth-1)
}

// drawn is the outline of what lies below a node.
func drawn(t *testing.T, tr *tree.Tree[category], id string, depth int) string {
	t.Helper()
	return outline(t, tr.Descendants(t.Context(), id, depth), func(n *category) string { return n.ID })
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func ids(t *testing.T, seq iter.Seq2[category, error]) string {
	t.Helper()
	list, err := repo.Collect(seq)
	return strings.Join(idsOf(t, list, err), " ")
}

// A tree without nodes is read as such, before the first node and after the last.
func TestReachEmptyTree(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		ctx := t.Context()
		for _, when := range []string{"new", "emptied", "emptied again"} {
			for name, seq := range map[string]iter.Seq2[category, error]{
				"children": tr.Children(ctx, ""), "reversed": tr.Reversed(ctx, ""), "leaves": tr.Leaves(ctx, ""), "of none": tr.Children(ctx, "no"),
			} {
				expect(t, when+", "+name, ids(t, seq), "")
			}
			for item, err := range tr.Annotated(ctx, "", 0) {
				t.Errorf("%s: %+v, %v", when, item, err)
			}
			expect(t, when, drawn(t, tr, "", 0), "")
			n, err := tr.Count(ctx, "")
			page, err2 := tr.ChildrenPage(ctx, "", 3, "")
			var lines, nested bytes.Buffer
			err3 := errors.Join(tr.WriteLines(ctx, &lines, ""), tr.WriteNested(ctx, &nested, ""))
			if n != 0 || len(page.Items) > 0 || page.Next != "" || lines.String() != "" || nested.String() != "[]\n" || err != nil || err2 != nil || err3 != nil {
				t.Errorf("%s: %d, %+v, %q, %q, %v, %v, %v", when, n, page, &lines, &nested, err, err2, err3)
			}
			plant(t, tr, bearded)
			expect(t, "planted "+when, drawn(t, tr, "", 0), outlined)
			for _, root := range []string{"2", "4", "1", "3"} {
				if err := tr.DeleteSubtree(ctx, root); err != nil {
					t.Fatal(err)
				}
			}
			expect(t, "a node below one that was deleted", errors.Is(tr.DeleteSubtree(ctx, "23"), repo.ErrNotFound), true)
		}
	})
}

// onePlace is a change at a position, and the outline of the tree then.
type onePlace struct {
	id   string
	pos  tree.Position
	want string
}

func inPlaces(t *testing.T, cases []onePlace, do func(ctx context.Context, tr *tree.Tree[category], id string, pos tree.Position) error) {
	for _, s := range all {
		f := open(t, s)
		for _, tt := range cases {
			name := fmt.Sprint(tt.id, " ", tt.pos)
			t.Run(string(s)+"/"+name, func(t *testing.T) {
				tr := f.Tree(name)
				plant(t, tr, bearded)
				if err := do(t.Context(), tr, tt.id, tt.pos); err != nil {
					t.Fatal(err)
				}
				expect(t, name, drawn(t, tr, "", 0), tt.want)
				if bad, err := tr.Verify(t.Context()); len(bad) > 0 || err != nil {
					t.Error(bad, err)
				}
			})
		}
	}
}

func TestReachInserts(t *testing.T) {
	inPlaces(t, []onePlace{
		{"x", tree.Under("231"), "1 2(21 22 23(231(x)) 24) 3 4(41)"},
		{"x", tree.Under("2"), "1 2(21 22 23(231) 24 x) 3 4(41)"},
		{"x", tree.Under("23"), "1 2(21 22 23(231 x) 24) 3 4(41)"},
		{"x", tree.Under(""), "1 2(21 22 23(231) 24) 3 4(41) x"},
		{"x", tree.FirstUnder(""), "x 1 2(21 22 23(231) 24) 3 4(41)"},
		{"x", tree.FirstUnder("2"), "1 2(x 21 22 23(231) 24) 3 4(41)"},
		{"x", tree.Before("2"), "1 x 2(21 22 23(231) 24) 3 4(41)"},
		{"x", tree.Before("23"), "1 2(21 22 x 23(231) 24) 3 4(41)"},
		{"x", tree.Before("1"), "x 1 2(21 22 23(231) 24) 3 4(41)"},
		{"x", tree.Before("231"), "1 2(21 22 23(x 231) 24) 3 4(41)"},
		{"x", tree.After("2"), "1 2(21 22 23(231) 24) x 3 4(41)"},
		{"x", tree.After("23"), "1 2(21 22 23(231) x 24) 3 4(41)"},
		{"x", tree.After("4"), "1 2(21 22 23(231) 24) 3 4(41) x"},
		{"x", tree.After("231"), "1 2(21 22 23(231 x) 24) 3 4(41)"},
	}, func(ctx context.Context, tr *tree.Tree[category], id string, pos tree.Position) error {
		rec := &category{Node: tree.Node{ID: id}, Name: "new"}
		if err := tr.Insert(ctx, pos, rec); err != nil {
			return err
		}
		if is, err := tr.Get(ctx, id); !reflect.DeepEqual(&is, rec) { // the record is as it is stored
			return fmt.Errorf("Insert left %+v, stored is %+v, %w", rec, is, err)
		}
		return nil
	})
}

func TestReachMoves(t *testing.T) {
	inPlaces(t, []onePlace{
		{"231", tree.Under(""), "1 2(21 22 23 24) 3 4(41) 231"},
		{"231", tree.FirstUnder(""), "231 1 2(21 22 23 24) 3 4(41)"},
		{"231", tree.Before("2"), "1 231 2(21 22 23 24) 3 4(41)"},
		{"231", tree.After("2"), "1 2(21 22 23 24) 231 3 4(41)"},
		{"231", tree.Under("2"), "1 2(21 22 23 24 231) 3 4(41)"},
		{"231", tree.FirstUnder("2"), "1 2(231 21 22 23 24) 3 4(41)"},
		{"231", tree.Before("22"), "1 2(21 231 22 23 24) 3 4(41)"},
		{"231", tree.After("22"), "1 2(21 22 231 23 24) 3 4(41)"},
		{"231", tree.Under("22"), "1 2(21 22(231) 23 24) 3 4(41)"},
		{"231", tree.FirstUnder("22"), "1 2(21 22(231) 23 24) 3 4(41)"},
		{"231", tree.Under("23"), outlined},
		{"231", tree.FirstUnder("23"), outlined},
		{"4", tree.FirstUnder(""), "4(41) 1 2(21 22 23(231) 24) 3"},
		{"4", tree.Under(""), outlined},
		{"4", tree.After("3"), outlined},
		{"4", tree.Before("2"), "1 4(41) 2(21 22 23(231) 24) 3"},
		{"4", tree.After("2"), "1 2(21 22 23(231) 24) 4(41) 3"},
		{"4", tree.Before("1"), "4(41) 1 2(21 22 23(231) 24) 3"},
		{"2", tree.After("4"), "1 3 4(41) 2(21 22 23(231) 24)"},
		{"4", tree.FirstUnder("2"), "1 2(4(41) 21 22 23(231) 24) 3"},
		{"4", tree.Under("2"), "1 2(21 22 23(231) 24 4(41)) 3"},
		{"4", tree.Before("23"), "1 2(21 22 4(41) 23(231) 24) 3"},
		{"4", tree.After("23"), "1 2(21 22 23(231) 4(41) 24) 3"},
		{"4", tree.Before("21"), "1 2(4(41) 21 22 23(231) 24) 3"},
		{"4", tree.After("24"), "1 2(21 22 23(231) 24 4(41)) 3"},
		{"4", tree.FirstUnder("23"), "1 2(21 22 23(4(41) 231) 24) 3"},
		{"4", tree.Under("23"), "1 2(21 22 23(231 4(41)) 24) 3"},
		{"24", tree.FirstUnder("2"), "1 2(24 21 22 23(231)) 3 4(41)"},
	}, func(ctx context.Context, tr *tree.Tree[category], id string, pos tree.Position) error {
		return tr.Move(ctx, id, pos)
	})
}

// A position that is none, or lies in what is moved, is refused, and the tree is as it was.
func TestReachRefusals(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		plant(t, tr, bearded)
		for _, tt := range []struct {
			id   string
			pos  tree.Position
			want error
		}{
			{"231", tree.Position{}, repo.ErrInvalid},
			{"231", tree.Before("231"), repo.ErrInvalid}, {"4", tree.Before("4"), repo.ErrInvalid}, {"4", tree.After("4"), repo.ErrInvalid},
			{"22", tree.FirstUnder("22"), tree.ErrBelowItself}, {"22", tree.Under("22"), tree.ErrBelowItself},
			{"231", tree.FirstUnder("231"), tree.ErrBelowItself}, {"23", tree.Under("23"), tree.ErrBelowItself},
			{"2", tree.FirstUnder("23"), tree.ErrBelowItself}, {"2", tree.Before("231"), tree.ErrBelowItself}, {"2", tree.After("24"), tree.ErrBelowItself},
		} {
			if err := tr.Move(t.Context(), tt.id, tt.pos); !errors.Is(err, tt.want) {
				t.Errorf("move %s %s: %v, want %v", tt.id, tt.pos, err, tt.want)
			}
		}
		for id, want := range map[string]error{"x": repo.ErrInvalid, "": repo.ErrInvalid} {
			if err := tr.Insert(t.Context(), tree.Position{}, &category{Node: tree.Node{ID: id}}); !errors.Is(err, want) {
				t.Errorf("insert %q at no position: %v, want %v", id, err, want)
			}
		}
		expect(t, "after moves that were refused", drawn(t, tr, "", 0), outlined)
	})
}

// What each node has about it: of its parent, siblings and children the first and the last, too.
func TestReachRelatives(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		plant(t, tr, bearded)
		ctx := t.Context()
		one := func(n category, err error) string {
			if err != nil && !errors.Is(err, repo.ErrNotFound) {
				t.Error(err)
			}
			return n.ID
		}
		for id, want := range map[string]string{
			"1":   "up [] of  next 2 before  siblings [2 3 4] from 4 children [] from []: 0, leaves []",
			"2":   "up [] of  next 3 before 1 siblings [1 3 4] from 4 children [21 22 23 24] from [24 23 22 21]: 5, leaves [21 22 231 24]",
			"21":  "up [2] of 2 next 22 before  siblings [22 23 24] from 24 children [] from []: 0, leaves []",
			"22":  "up [2] of 2 next 23 before 21 siblings [21 23 24] from 24 children [] from []: 0, leaves []",
			"23":  "up [2] of 2 next 24 before 22 siblings [21 22 24] from 24 children [231] from [231]: 1, leaves [231]",
			"231": "up [2 23] of 23 next  before  siblings [] from 231 children [] from []: 0, leaves []",
			"24":  "up [2] of 2 next  before 23 siblings [21 22 23] from 24 children [] from []: 0, leaves []",
			"4":   "up [] of  next  before 3 siblings [1 2 3] from 4 children [41] from [41]: 1, leaves [41]",
		} {
			above, err := tr.Ancestors(ctx, id)
			up := idsOf(t, above, err)
			n, err := tr.Count(ctx, id)
			depth, err2 := tr.Depth(ctx, id)
			parent := one(tr.Parent(ctx, id))
			last, _, _ := strings.Cut(ids(t, tr.Reversed(ctx, parent)), " ")
			got := fmt.Sprintf("up %s of %s next %s before %s siblings [%s] from %s children [%s] from [%s]: %d, leaves [%s]", up, parent,
				one(tr.Next(ctx, id)), one(tr.Previous(ctx, id)), ids(t, tr.Siblings(ctx, id)), last,
				ids(t, tr.Children(ctx, id)), ids(t, tr.Reversed(ctx, id)), n, ids(t, tr.Leaves(ctx, id)))
			if got != want || depth != len(up) || err != nil || err2 != nil {
				t.Errorf("%s: %s\nwant %s (depth %d, %v, %v)", id, got, want, depth, err, err2)
			}
		}
		if n, err := tr.Count(ctx, ""); n != 10 || err != nil {
			t.Error(n, err)
		}
		expect(t, "leaves", ids(t, tr.Leaves(ctx, "")), "1 21 22 231 24 3 41")
	})
}

// A walk ends at its depth, from the roots and from a node, and annotates what is part of it.
func TestReachDepths(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		plant(t, tr, bearded)
		for _, tt := range []struct {
			id    string
			depth int
			want  string
			notes string // ( where a list begins, : after a node with children, ) where a list ends
		}{
			{"", 0, outlined, "(1 2: (21 22 23: (231) 24) 3 4: (41))"},
			{"", 1, "1 2 3 4", "(1 2 3 4)"},
			{"", 2, "1 2(21 22 23 24) 3 4(41)", "(1 2: (21 22 23 24) 3 4: (41))"},
			{"", 9, outlined, "(1 2: (21 22 23: (231) 24) 3 4: (41))"},
			{"2", 0, "21 22 23(231) 24", "(21 22 23: (231) 24)"},
			{"2", 1, "21 22 23 24", "(21 22 23 24)"},
			{"2", 2, "21 22 23(231) 24", "(21 22 23: (231) 24)"},
			{"23", 1, "231", "(231)"}, {"4", 1, "41", "(41)"}, {"231", 1, "", ""}, {"1", 0, "", ""},
		} {
			what := fmt.Sprintf("below %q to %d", tt.id, tt.depth)
			expect(t, what, drawn(t, tr, tt.id, tt.depth), tt.want)
			var notes []string
			for item, err := range tr.Annotated(t.Context(), tt.id, tt.depth) {
				if err != nil {
					t.Fatal(err)
				}
				text := item.Node.ID
				if item.First {
					text = "(" + text
				}
				if item.HasChildren {
					text += ":"
				}
				notes = append(notes, text+strings.Repeat(")", item.Ends))
			}
			expect(t, what, strings.Join(notes, " "), tt.notes)
		}
	})
}

// Nodes are loaded beside others, moved below one of them, written from there and loaded again, by every strategy.
func TestReachLoadAndWriteAPart(t *testing.T) {
	inEach(t, func(t *testing.T, tr *tree.Tree[category]) {
		ctx := t.Context()
		plant(t, tr, bearded)
		text := `[{"id":"a"},{"id":"b","Name":"B","children":[{"id":"c","children":[{"id":"d"}]},{"id":"e"}]}]`
		if n, err := tr.Load(ctx, tree.Nested[category](strings.NewReader(text))); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		expect(t, "loaded", drawn(t, tr, "", 0), outlined+" a b(c(d) e)")
		if err := errors.Join(tr.Move(ctx, "a", tree.Under("231")), tr.Move(ctx, "b", tree.Under("231"))); err != nil {
			t.Fatal(err)
		}
		expect(t, "moved", drawn(t, tr, "", 0), "1 2(21 22 23(231(a b(c(d) e))) 24) 3 4(41)")
		var nested, lines, leaf bytes.Buffer
		if err := errors.Join(tr.WriteNested(ctx, &nested, "b"), tr.WriteLines(ctx, &lines, "b"), tr.WriteNested(ctx, &leaf, "d")); err != nil {
			t.Fatal(err)
		}
		expect(t, "a leaf", leaf.String(), "[\n"+`{"id":"d","Name":""}]`+"\n")
		want := `[{"id":"b","Name":"B","children":[{"id":"c","Name":"","children":[{"id":"d","Name":""}]},{"id":"e","Name":""}]}]`
		expect(t, "nested", strings.ReplaceAll(nested.String(), "\n", ""), want)
		want = `{"id":"b","Name":"B"}{"id":"c","parent":"b","Name":""}{"id":"d","parent":"c","Name":""}{"id":"e","parent":"b","Name":""}`
		expect(t, "lines", strings.ReplaceAll(lines.String(), "\n", ""), want)
		if err := tr.DeleteSubtree(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		if n, err := tr.Load(ctx, tree.Nested[category](&nested)); n != 4 || err != nil {
			t.Error(n, err)
		}
		expect(t, "loaded again", drawn(t, tr, "b", 0), "c(d) e")
	})
}
