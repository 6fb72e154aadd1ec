package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

const checkAbout = `Says what of a schema a store cannot do, with the remedy, or how it would write
records of it: calls of the store one after the other and in number, and what stays if
a client stops in the middle. Of trees it says so of each call that writes. Changes
nothing in the store. FILE has one schema in YAML, or is a workload file, whose
collections are checked.`

func check(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	fs := newFlags("check", "URL FILE", checkAbout, "polystore check memory: examples/debian/debian.yaml", stderr)
	rest, err := parse(fs, args, "URL FILE", stdout)
	if err != nil {
		return err
	}
	schemas, trees, err := loadtest.Schemas(rest[1])
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	store, err := backends.Open(ctx, existing(rest[0]), nil)
	if errors.Is(err, repo.ErrNotFound) {
		store, err = backends.Open(ctx, "pebble::memory:", nil) // a new directory would do the same
	}
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var faults []error
	all := ""
	tell := func(text string, err error) {
		if all += text; err != nil {
			faults = append(faults, err)
		}
	}
	for _, s := range schemas {
		tell(checkRecords(store, s))
	}
	for _, s := range trees {
		tell(checkTrees(store, s))
	}
	if _, err := io.WriteString(stdout, all); err != nil {
		return err
	}
	if len(faults) > 0 {
		return exit{loadtest.Missed, errors.Join(faults...)}
	}
	return nil
}

func checkRecords(store *repo.Store, s repo.Schema) (text string, err error) {
	plans, err := repo.PlanWrites[map[string]any](store.Facts(), s)
	if err != nil {
		return "", err
	}
	text = fmt.Sprintf("%s: %s can do all of it\n", s.Collection, store.Facts().Name)
	for _, p := range plans {
		text += fmt.Sprintln(p)
	}
	return text, nil
}

// example is of how many nodes check says what calls of trees cost.
var example = tree.Size{Depth: 3, Children: 20, Below: 420, Levels: 2}

func checkTrees(store *repo.Store, s tree.Schema) (text string, err error) {
	if err := tree.Check[tree.Inspected](store.Facts(), s); err != nil {
		return "", err
	}
	costs, err := tree.Explain[tree.Inspected](store, s, example)
	if err != nil {
		return "", err
	}
	text = fmt.Sprintf("%s: %s can do all of it, as trees of %s; what follows is of a node with %d ancestors, %d children, and %d nodes below it\n",
		s.Collection, store.Facts().Name, cmp.Or(s.Strategy, tree.Adjacency), example.Depth, example.Children, example.Below)
	for _, c := range costs {
		if c.Rows > 0 {
			text += fmt.Sprintf("%s: %s\n", s.Collection, c)
		}
	}
	return text, nil
}
