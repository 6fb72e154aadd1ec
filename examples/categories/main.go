// Command categories is the program of docs/trees.md: the categories of a shop, as a tree.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

func main() {
	url := "memory:"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	if err := run(context.Background(), url, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// A Category is a node.
type Category struct {
	tree.Node
	Name string `repo:"name" json:"name"`
}

var schema = tree.Schema{
	Collection: "categories",
	Strategy:   tree.Path,
	Also:       []tree.Strategy{tree.Adjacency},
	Name:       "name", // Find goes by it
}

func run(ctx context.Context, url string, out io.Writer) error {
	store, err := backends.Open(ctx, url, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	return chapter(ctx, store, out)
}

func chapter(ctx context.Context, store *repo.Store, out io.Writer) error {
	forest, err := tree.Open[Category](ctx, store, schema)
	if err != nil {
		return err
	}
	shop := forest.Tree("shop")
	for _, step := range []func(context.Context, *tree.Tree[Category], io.Writer) error{plant, breadcrumb, menu, move, refuse, remove, convert, export} {
		if err := step(ctx, shop, out); err != nil {
			return err
		}
	}
	return nil
}

func plant(ctx context.Context, shop *tree.Tree[Category], _ io.Writer) error {
	for _, c := range []struct{ id, name, under string }{
		{"home", "Home", ""}, {"kitchen", "Kitchen", "home"}, {"knives", "Knives", "kitchen"}, {"pans", "Pans", "kitchen"},
		{"garden", "Garden", "home"}, {"sports", "Sports", ""}, {"tents", "Tents", "sports"},
	} {
		err := shop.Insert(ctx, tree.Under(c.under), &Category{Node: tree.Node{ID: c.id}, Name: c.name})
		if err != nil {
			return err
		}
	}
	return nil
}

func breadcrumb(ctx context.Context, shop *tree.Tree[Category], out io.Writer) error {
	knives, err := shop.Find(ctx, "Home", "Kitchen", "Knives")
	if err != nil {
		return err
	}
	above, err := shop.Ancestors(ctx, knives.ID)
	if err != nil {
		return err
	}
	for _, c := range above {
		fmt.Fprint(out, c.Name, " > ")
	}
	fmt.Fprintln(out, knives.Name)
	return nil
}

func menu(ctx context.Context, shop *tree.Tree[Category], out io.Writer) error {
	for item, err := range shop.Descendants(ctx, "", 2) {
		if err != nil {
			return err
		}
		fmt.Fprintln(out, strings.Repeat("  ", item.Depth-1)+item.Node.Name)
	}
	return nil
}

func move(ctx context.Context, shop *tree.Tree[Category], out io.Writer) error {
	if err := shop.Move(ctx, "kitchen", tree.Before("sports")); err != nil {
		return err
	}
	roots, err := repo.Collect(shop.Children(ctx, ""))
	if err != nil {
		return err
	}
	for _, c := range roots {
		n, err := shop.Count(ctx, c.ID)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, c.Name, n)
	}
	return nil
}

func refuse(ctx context.Context, shop *tree.Tree[Category], out io.Writer) error {
	err := shop.Move(ctx, "kitchen", tree.Under("knives"))
	fmt.Fprintln(out, errors.Is(err, tree.ErrBelowItself))
	err = shop.Delete(ctx, "kitchen")
	fmt.Fprintln(out, errors.Is(err, tree.ErrHasChildren))
	return nil
}

func remove(ctx context.Context, shop *tree.Tree[Category], out io.Writer) error {
	if err := shop.DeleteSubtree(ctx, "sports"); err != nil {
		return err
	}
	_, err := shop.Get(ctx, "tents")
	fmt.Fprintln(out, errors.Is(err, repo.ErrNotFound))
	return nil
}

func convert(ctx context.Context, shop *tree.Tree[Category], out io.Writer) error {
	if err := shop.Convert(ctx, tree.Adjacency); err != nil {
		return err
	}
	strategy, err := shop.Strategy(ctx)
	fmt.Fprintln(out, strategy)
	return err
}

func export(ctx context.Context, shop *tree.Tree[Category], out io.Writer) error {
	return shop.WriteNested(ctx, out, "")
}
