package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/polystore/polystore/loadtest"
)

const mergeAbout = `Makes one result of those of all shares of a run, which polystore load --share wrote, and
judges it as a run of one process is judged. Counts are sums; percentiles are those of
the merged histograms. Results of other runs, of another workload, seed, pace or data,
and a share that is missing or there twice, are refused.

DIR/NAME-SEED has the result, result.json, and a page for a browser, report.html.

Exit codes are those of polystore load: 2 if the results do not belong together.`

func merge(_ context.Context, args []string, stdout, stderr io.Writer) error {
	f := loadFlags{}
	fs := newFlags("merge", "RESULT...", mergeAbout, "polystore merge runs/blog-7-share-*/result.json", stderr)
	fs.StringVar(&f.out, "out", "runs", "`DIR` for the result")
	fs.BoolVar(&f.json, "json", false, "print the whole result as JSON")
	fs.BoolVar(&f.all, "all", false, "print all of the text, and not the first screen alone")
	rest, err := parse(fs, args, "RESULT...", stdout)
	if err != nil {
		return err
	}
	if err := writable(f.out); err != nil {
		return exit{loadtest.Usage, err}
	}
	r, err := loadtest.Merge(rest)
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	words := []string{"polystore", "merge"}
	for _, file := range rest {
		words = append(words, quoted(file))
	}
	r.Again = strings.Join(words, " ")
	err = f.write(r, stdout, stderr)
	if err != nil && !errors.As(err, new(exit)) {
		return exit{loadtest.Usage, err}
	}
	return err
}
