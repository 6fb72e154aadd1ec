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

const maintainAbout = `Removes what nobody can see any more: expired records with their index rows, old
tombstones, and rows that interrupted writers left behind. Run it now and then,
beside programs that read and write. What is some minutes old it may leave for the
next time. It reads the collection, or all that there are, as fast as it can or as
--rate says. Interrupted, it goes on the next time where it was.`

func maintain(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	const want = "URL [COLLECTION]"
	fs := newFlags("maintain", want, maintainAbout, "polystore maintain redis://localhost:6379 --rate 2000", stderr)
	rate := fs.Int("rate", 0, "records and rows that it reads in a second, at most; 0 is any number")
	rest, err := parse(fs, args, want, stdout)
	if err != nil {
		return err
	}
	if *rate < 0 {
		return usageError("maintain: --rate is %d; want 0 or more", *rate)
	}
	store, err := backends.Open(ctx, existing(rest[0]), nil)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	turns := 0
	opts := repo.MaintainOptions{Rate: *rate, Collections: rest[1:], Done: func(collection string, done repo.Reclaimed, err error) {
		turns++
		what := ""
		if err != nil {
			what = ", and not all was done"
		}
		fmt.Fprintf(stdout, "%s: removed %s%s\n", collection, reclaimed(done), what)
	}}
	if *rate == 0 {
		opts.Rate = -1
	}
	if len(opts.Collections) == 0 {
		opts.Collections = nil
	}
	if err := store.Maintain(ctx, &opts); err != nil {
		return exit{loadtest.Usage, err}
	}
	if turns == 0 {
		fmt.Fprintln(stdout, "the store has no collection")
	}
	return nil
}

func reclaimed(done repo.Reclaimed) string {
	text := fmt.Sprintf("%d expired records, %d tombstones, %d rows that no record had", done.Expired, done.Dead, done.Rows)
	if done.Mended > 0 {
		text += fmt.Sprintf("; added rows that %d records lacked", done.Mended)
	}
	return text
}
