package main

import (
	"context"
	"io"

	"github.com/polystore/polystore/loadtest"
)

const reportAbout = `Prints what a run of polystore load printed, from the result file that it wrote:
DIR/NAME-SEED/result.json, below runs unless --out said otherwise. The text is made
again of the file's numbers. A file that was changed, or that another version wrote
in another format, is refused.

Exit codes: 0 it is printed, whatever the run ended with; 2 the command or the file
is wrong.`

func printReport(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("report", "FILE", reportAbout, "polystore report runs/debian-1/result.json", stderr)
	asJSON := fs.Bool("json", false, "print the whole result as JSON")
	rest, err := parse(fs, args, "FILE", stdout)
	if err != nil {
		return err
	}
	r, err := loadtest.ReadResult(rest[0])
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	if *asJSON {
		return r.WriteJSON(stdout)
	}
	return r.WriteText(stdout, rest[0])
}
