package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo/tree"
)

const treeAbout = `Prints a tree of a collection of package tree, verifies it, and changes nothing.
It ends with 1 when something is wrong. Without TREE it lists the trees. The store remembers the
schema, so the name of the collection is enough.`

func printTree(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	const want = "URL COLLECTION [TREE]"
	fs := newFlags("tree", want, treeAbout, "polystore tree pebble:/data/shop categories books --depth 2 --show name", stderr)
	depth := fs.Int("depth", 0, "levels that are printed; 0 is all")
	show := fs.String("show", "", "a field that is printed beside the ID of each node")
	rest, err := parse(fs, args, want, stdout)
	if err != nil {
		return err
	}
	if *depth < 0 {
		return usageError("tree: --depth is %d; want 0 or more", *depth)
	}
	store, err := backends.Open(ctx, existing(rest[0]), nil)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	forest, err := tree.Inspect(ctx, store, rest[1])
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	if len(rest) == 2 {
		return listTrees(ctx, forest, stdout)
	}
	return drawTree(ctx, forest.Tree(rest[2]), *depth, *show, stdout)
}

// label returns a node as it is printed.
func label(n *tree.Inspected, show string) string {
	text := printable(n.ID)
	if v, ok := n.Fields[show]; ok {
		text += "  " + printable(fmt.Sprint(v))
	}
	return text
}

// printable quotes a text that would break a line, or that nobody would see.
func printable(text string) string {
	if quoted := fmt.Sprintf("%q", text); text == "" || quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

func listTrees(ctx context.Context, forest *tree.Forest[tree.Inspected], stdout io.Writer) error {
	n := 0
	for name, err := range forest.Trees(ctx) {
		if err != nil {
			return exit{loadtest.Usage, err}
		}
		strategy, err := forest.Tree(name).Strategy(ctx)
		if err != nil {
			return exit{loadtest.Usage, err}
		}
		n++
		if _, err := fmt.Fprintf(stdout, "%s  %s\n", printable(name), strategy); err != nil {
			return err
		}
	}
	if n == 0 {
		_, err := fmt.Fprintln(stdout, "there is no tree")
		return err
	}
	return nil
}

// drawTree prints a tree, how many nodes it has, and what is wrong with them.
func drawTree(ctx context.Context, tr *tree.Tree[tree.Inspected], depth int, show string, stdout io.Writer) error {
	if there, err := tr.Exists(ctx); err != nil {
		return exit{loadtest.Usage, err}
	} else if !there {
		return usageError("tree: there is no tree %q; without a name the command lists those that there are", tr.Name())
	}
	problems, err := tr.Verify(ctx)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	strategy, err := tr.Strategy(ctx)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	n, shown := 0, show == ""
	for item, err := range tr.Descendants(ctx, "", depth) {
		if err != nil {
			return exit{loadtest.Usage, err}
		}
		n++
		shown = shown || item.Node.Fields[show] != nil
		if _, err := fmt.Fprintf(stdout, "%s%s\n", strings.Repeat("  ", item.Depth-1), label(&item.Node, show)); err != nil {
			return err
		}
	}
	what := "nodes"
	if depth > 0 {
		what = fmt.Sprintf("nodes in the first %d levels", depth)
	}
	if _, err := fmt.Fprintf(stdout, "%s: %s, %d %s, %d problems\n", printable(tr.Name()), strategy, n, what, len(problems)); err != nil {
		return err
	}
	if n > 0 && !shown {
		return usageError("tree: no node that was printed has a field %q", show)
	}
	return tellProblems(problems, stdout)
}

// tellProblems says what is wrong with nodes, and what mends it.
func tellProblems(problems []tree.Problem, stdout io.Writer) error {
	for _, p := range problems {
		remedy := "move or delete it"
		if p.Repairable {
			remedy = "Repair mends it"
		}
		if _, err := fmt.Fprintf(stdout, "  %s: %s; %s\n", printable(p.ID), p.What, remedy); err != nil {
			return err
		}
	}
	if len(problems) > 0 {
		return exit{loadtest.Missed, nil}
	}
	return nil
}
