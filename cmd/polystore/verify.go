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

const verifyAbout = `Compares every index of the collections in FILE with their records, both ways, and
changes nothing. FILE has one schema in YAML, or is a workload file. It ends with
1 when something disagrees; polystore rebuild mends it.`

func verify(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("verify", "URL FILE", verifyAbout, "polystore verify pebble:/data/blog posts.yaml", stderr)
	rest, err := parse(fs, args, 2, stdout)
	if err != nil {
		return err
	}
	clean := true
	err = eachCollection(ctx, rest[0], rest[1], func(s repo.Schema, r *repo.Repo[map[string]any]) error {
		reports, err := r.Verify(ctx)
		for _, rep := range reports {
			clean = clean && rep.Clean()
			fmt.Fprintf(stdout, "%s %s: %d records, %d rows, %d missing, %d stale\n", s.Collection, rep.Index, rep.Records, rep.Rows, rep.Missing, rep.Stale)
			for _, sample := range rep.Samples {
				fmt.Fprintf(stdout, "  %s\n", sample)
			}
		}
		return err
	})
	if err == nil && !clean {
		return exit{loadtest.Missed, nil}
	}
	return err
}

const rebuildAbout = `Makes the index INDEX of the collection in FILE anew from its records. FILE has one
schema in YAML. No other program may write to the store meanwhile.`

func rebuild(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("rebuild", "URL FILE INDEX", rebuildAbout, "polystore rebuild pebble:/data/blog posts.yaml by_category_created_desc", stderr)
	rest, err := parse(fs, args, 3, stdout)
	if err != nil {
		return err
	}
	return eachCollection(ctx, rest[0], rest[1], func(s repo.Schema, r *repo.Repo[map[string]any]) error {
		if err := r.Rebuild(ctx, rest[2]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(stdout, "%s %s: made anew\n", s.Collection, rest[2])
		return err
	})
}

// eachCollection opens the collections that a file describes, as they are in the
// store, and calls do for each.
func eachCollection(ctx context.Context, url, file string, do func(repo.Schema, *repo.Repo[map[string]any]) error) (err error) {
	schemas, err := loadtest.Schemas(file)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	store, err := backends.Open(ctx, url, nil)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, s := range schemas {
		r, err := repo.Open[map[string]any](ctx, store, s, repo.WithoutDefine())
		if err == nil {
			err = do(s, r)
		}
		if err != nil {
			return exit{loadtest.Usage, err}
		}
	}
	return nil
}
