package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/loadtest"
	"github.com/polystore/polystore/repo"
)

const verifyAbout = `Compares every index of a collection with its records, both ways, and changes
nothing. It ends with 1 when something disagrees; polystore rebuild mends it.
The store remembers the schema, so the name of the collection is enough.`

func verify(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("verify", "URL COLLECTION", verifyAbout, "polystore verify pebble:/data/blog posts", stderr)
	rest, err := parse(fs, args, "URL COLLECTION", stdout)
	if err != nil {
		return err
	}
	clean := true
	var text strings.Builder
	err = withCollection(ctx, rest[0], rest[1], func(r *repo.Repo[map[string]any]) error {
		reports, err := r.Verify(ctx)
		for _, rep := range reports {
			clean = clean && rep.Clean()
			fmt.Fprintf(&text, "%s %s: %d records, %d rows, %d missing, %d stale\n", rest[1], rep.Index, rep.Records, rep.Rows, rep.Missing, rep.Stale)
			if rep.Garbage > 0 {
				fmt.Fprintf(&text, "  %d rows more that no record has and no reader returns: in use by writers just now, or left by one that was interrupted; polystore maintain removes those\n", rep.Garbage)
			}
			for _, sample := range rep.Samples {
				fmt.Fprintf(&text, "  %s\n", sample)
			}
		}
		if err == nil && len(reports) == 0 {
			fmt.Fprintf(&text, "%s has no index\n", rest[1])
		}
		return err
	})
	if _, werr := io.WriteString(stdout, text.String()); werr != nil {
		return errors.Join(err, werr)
	}
	if err == nil && !clean {
		return exit{loadtest.Missed, nil}
	}
	return err
}

const rebuildAbout = `Makes an index of a collection anew from its records. No other program may write
to the store meanwhile.`

func rebuild(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("rebuild", "URL COLLECTION INDEX", rebuildAbout, "polystore rebuild pebble:/data/blog posts by_category_created_desc", stderr)
	rest, err := parse(fs, args, "URL COLLECTION INDEX", stdout)
	if err != nil {
		return err
	}
	return withCollection(ctx, rest[0], rest[1], func(r *repo.Repo[map[string]any]) error {
		if err := r.Rebuild(ctx, rest[2]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(stdout, "%s %s: made anew\n", rest[1], rest[2])
		return err
	})
}

// existing returns a URL by which no store is made that is not there.
func existing(url string) string {
	switch {
	case !strings.HasPrefix(url, "pebble:") || url == "pebble::memory:":
		return url
	case strings.Contains(url, "?"):
		return url + "&create=false"
	}
	return url + "?create=false"
}

// withCollection opens a collection as the store remembers it and calls do.
func withCollection(ctx context.Context, url, name string, do func(*repo.Repo[map[string]any]) error) (err error) {
	store, err := backends.Open(ctx, existing(url), nil)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	schema, err := repo.SchemaOf(ctx, store, name)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	r, err := repo.Open[map[string]any](ctx, store, schema, repo.WithoutDefine())
	if err == nil {
		err = do(r)
	}
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	return nil
}
