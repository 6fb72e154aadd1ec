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
a client stops in the middle. Of trees it says so of each call. Changes nothing in the
store. FILE has one schema in YAML, or is a workload file: it is checked as load does,
and what is said is of its collections by each of its models.`

func check(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	fs := newFlags("check", "URL FILE", checkAbout, "polystore check memory: examples/debian/debian.yaml", stderr)
	rest, err := parse(fs, args, "URL FILE", stdout)
	if err != nil {
		return err
	}
	layouts, err := loadtest.Layouts(rest[1])
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
	all, faults := checkAll(store, layouts)
	if _, err := io.WriteString(stdout, all); err != nil {
		return err
	}
	if len(faults) > 0 {
		return exit{loadtest.Missed, errors.Join(faults...)}
	}
	return nil
}

// checkAll says what a store does of each layout, whose name comes first if there are others, but of no schema twice.
func checkAll(store *repo.Store, layouts []loadtest.Layout) (all string, faults []error) {
	told := map[string]bool{}
	for _, l := range layouts {
		var some []func() (string, error)
		for _, s := range l.Schemas {
			if is := fmt.Sprintf("%+v", s); !told[is] {
				told[is], some = true, append(some, func() (string, error) { return checkRecords(store, s) })
			}
		}
		for _, s := range l.Trees {
			if is := fmt.Sprintf("%+v", s); !told[is] {
				told[is], some = true, append(some, func() (string, error) { return checkTrees(store, s) })
			}
		}
		for i, one := range some {
			text, err := one()
			if err != nil && len(layouts) > 1 {
				err = fmt.Errorf("model %s: %w", l.Model, err)
			}
			if err != nil {
				faults = append(faults, err)
			}
			if i == 0 && len(layouts) > 1 {
				all += fmt.Sprintf("model %s:\n", l.Model)
			}
			all += text
		}
	}
	return all, faults
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
		text += fmt.Sprintf("%s: %s\n", s.Collection, c)
	}
	return text, nil
}
