package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
)

const checkAbout = `Says what of a schema a store cannot do, with the remedy, or how it would write
records of it: calls of the store one after the other and in number, and what stays if
a client stops in the middle. Changes nothing in the store. FILE has one schema in
YAML, or is a workload file, whose collections are checked.`

func check(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	fs := newFlags("check", "URL FILE", checkAbout, "polystore check memory: examples/debian/debian.yaml", stderr)
	rest, err := parse(fs, args, "URL FILE", stdout)
	if err != nil {
		return err
	}
	schemas, err := loadtest.Schemas(rest[1])
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
	for _, s := range schemas {
		plans, err := repo.PlanWrites[map[string]any](store.Facts(), s)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		text := fmt.Sprintf("%s: %s can do all of it\n", s.Collection, store.Facts().Name)
		for _, p := range plans {
			text += fmt.Sprintln(p)
		}
		if _, err := io.WriteString(stdout, text); err != nil {
			return err
		}
	}
	if len(faults) > 0 {
		return exit{loadtest.Missed, errors.Join(faults...)}
	}
	return nil
}
