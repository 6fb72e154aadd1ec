package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/polystore/polystore/loadtest"
)

const reportAbout = `Prints what a run of polystore load printed, from the result file that it wrote:
DIR/NAME-SEED/result.json, below runs unless --out said otherwise. The text is made
again of the file's numbers. Beside the first screen there are all of the text, a page
for a browser, Markdown, a table for a spreadsheet, and the JSON itself; all have the
same verdict. A file that was changed, or that another version wrote in another
format, is refused.

Exit codes: 0 it is printed, whatever the run ended with; 2 the command or the file
is wrong.`

func printReport(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("report", "FILE", reportAbout, "polystore report runs/debian-1/result.json\npolystore report --html debian.html runs/debian-1/result.json", stderr)
	all := fs.Bool("all", false, "print all of the text, and not the first screen alone")
	asJSON := fs.Bool("json", false, "print the whole result as JSON")
	markdown := fs.Bool("markdown", false, "print the result as Markdown")
	csv := fs.Bool("csv", false, "print a row for each candidate and query, as CSV")
	page := fs.String("html", "", "write a page for a browser into `FILE`, which needs no other file and no network; nothing is printed")
	rest, err := parse(fs, args, "FILE", stdout)
	if err != nil {
		return err
	}
	forms := 0
	for _, asked := range []bool{*all, *asJSON, *markdown, *csv, *page != ""} {
		if asked {
			forms++
		}
	}
	if forms > 1 {
		return usageError("report: --all, --json, --markdown, --csv and --html are forms of one report; say one at a time")
	}
	r, err := loadtest.ReadResult(rest[0])
	if err != nil {
		return exit{loadtest.Usage, err}
	}
	switch {
	case *asJSON:
		return r.WriteJSON(stdout)
	case *markdown:
		return r.WriteMarkdown(stdout)
	case *csv:
		return r.WriteCSV(stdout)
	case *page != "":
		return loadtest.SavePage(r, *page)
	}
	return r.WriteText(stdout, filesOf(rest[0]), *all)
}

// filesOf returns a result file and, if it is there, the page that the run wrote beside it.
func filesOf(file string) loadtest.Files {
	page := filepath.Join(filepath.Dir(file), loadtest.PageName)
	if _, err := os.Stat(page); err != nil {
		page = ""
	}
	return loadtest.Files{Result: file, Page: page}
}
