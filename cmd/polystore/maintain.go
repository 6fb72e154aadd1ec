package main

import (
	"context"
	"fmt"
	"io"

	"github.com/polystore/polystore/repo"
)

const maintainAbout = `Removes what nobody can see any more: expired records with their index rows, old
tombstones, and rows that interrupted writers left behind. Run it now and then,
beside programs that read and write. What is some minutes old it may leave for the
next time. It reads the whole collection.`

func maintain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("maintain", "URL COLLECTION", maintainAbout, "polystore maintain redis://localhost:6379 sessions", stderr)
	rest, err := parse(fs, args, "URL COLLECTION", stdout)
	if err != nil {
		return err
	}
	return withCollection(ctx, rest[0], rest[1], func(r *repo.Repo[map[string]any]) error {
		done, err := r.Maintain(ctx)
		if err != nil {
			return fmt.Errorf("%w (removed: %s)", err, removed(done))
		}
		_, err = fmt.Fprintf(stdout, "%s: removed %s\n", rest[1], removed(done))
		return err
	})
}

func removed(done repo.Reclaimed) string {
	return fmt.Sprintf("%d expired records, %d tombstones, %d rows that no record had", done.Expired, done.Dead, done.Rows)
}
