package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

const checkAbout = `Says what of a schema a store cannot do, with the remedy, or how it would write
records of it: calls of the store one after the other and in number, and what stays if
a client stops in the middle. Of trees it says so of each call. Changes nothing in the
store. FILE has one schema in YAML, or is a workload file: it is checked as load does,
and what is said is of its collections by each of its models. Then come the queries that
a model answers by reading every record, or not at all, with what would help.

Without URL it says in a line each what memory, Pebble, and Redis, MongoDB and Cassandra
as they are usually set up cannot do of it, and what queries lack.

Exit codes: 0 all is well, or a model scans as it says; 1 the store of the URL cannot do
it, or of the stores none can, or a query is not answered; 2 the command, a file or the
data are wrong.`

func check(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("check", "[URL] FILE", checkAbout, "polystore check examples/blog/blog.yaml\npolystore check memory: examples/debian/debian.yaml", stderr)
	rest, err := parse(fs, args, "[URL] FILE", stdout)
	if err != nil {
		return err
	}
	url, file := "", rest[len(rest)-1]
	if len(rest) == 2 {
		url = rest[0]
	}
	layouts, err := loadtest.Layouts(file)
	if errors.Is(err, os.ErrNotExist) && url == "" && strings.Contains(file, ":") {
		err = fmt.Errorf("check takes [URL] FILE; it got %q alone", loadtest.Redact(file))
	}
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	text, stores, faults := "", usual(), []error(nil)
	if url != "" {
		if text, faults, err = checkOn(ctx, url, layouts); err != nil {
			return err
		}
		stores = nil
	}
	findings, err := loadtest.Check(ctx, file, backends.OpenDriver, stores)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	lines, more := told(findings, layouts, stores)
	if _, err := io.WriteString(stdout, text+lines); err != nil {
		return err
	}
	if faults = append(faults, more...); len(faults) > 0 {
		return exit{loadtest.Missed, errors.Join(faults...)}
	}
	return nil
}

// told returns the findings as text, and of them what is a fault.
func told(findings []loadtest.Finding, layouts []loadtest.Layout, stores []driver.Facts) (lines string, faults []error) {
	refuse := map[string]int{} // by model
	for _, f := range findings {
		lines += fmt.Sprintln(f)
		if f.Refused {
			faults = append(faults, fmt.Errorf("model %s has no answer to query %s", f.Model, f.Query))
		}
		if f.Store != "" {
			refuse[f.Model]++
		}
	}
	for _, l := range layouts {
		if n := len(stores); n > 0 && refuse[l.Model] == n {
			faults = append(faults, fmt.Errorf("no store can have model %s", l.Model))
		}
	}
	if len(findings) == 0 && len(stores) > 0 {
		lines = "every store can do all of it, and no query looks at every record\n"
	}
	return lines, faults
}

// checkOn says what the store of a URL does of layouts.
func checkOn(ctx context.Context, url string, layouts []loadtest.Layout) (all string, faults []error, err error) {
	store, err := backends.Open(ctx, existing(url), nil)
	if errors.Is(err, repo.ErrNotFound) {
		store, err = backends.Open(ctx, "pebble::memory:", nil) // a new directory would do the same
	}
	if err != nil {
		return "", nil, exit{loadtest.Usage, err}
	}
	all, faults = checkAll(store, layouts)
	return all, faults, store.Close()
}

// usual returns what stores can do, as far as that decides whether they can have a model: those of this process, and
// servers as they are usually set up.
func usual() []driver.Facts {
	ordered := []driver.Kind{driver.Bool, driver.Int, driver.Float, driver.String, driver.Time}
	has := driver.Ability{Has: true}
	return []driver.Facts{
		{Name: "memory", Scope: driver.ScopeStore, OneProcess: true, Remote: has, Native: has, NativeOrder: append([]driver.Kind{driver.Bytes}, ordered...)},
		{Name: "pebble", Scope: driver.ScopeStore, OneProcess: true, Native: driver.Ability{Reason: "Pebble keeps no index by itself"}},
		{Name: "redis", Scope: driver.ScopeStore, Uncertain: true, Native: driver.Ability{Reason: "Redis keeps no index by itself"}},
		{Name: "mongo", Scope: driver.ScopeStore, Uncertain: true, Native: has, PrefersNative: true, NativeOrder: ordered},
		{Name: "cassandra", Scope: driver.ScopePartition, Uncertain: true, Remote: has, Native: has, NativeLocal: ordered},
	}
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
