package main

import (
	"context"
	"encoding/json"
	"io"

	"github.com/polystore/polystore/loadtest"
)

const planAbout = `Forecasts what the models of a workload cost with more records, by results of polystore
load at two sizes or more: bytes, processor time, rows and requests of each query, and
from how many records on an objective is missed. --records N is for the collection with
the most records. Three sizes tell how far a forecast was off.

Exit codes: 0 it is printed, 2 the command or a file is wrong, or the results are not of
one workload, machine and pace, or of sizes that are too alike.`

func plan(_ context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("plan", "RESULT RESULT...", planAbout, "polystore load --records 1000 blog.yaml\npolystore load --records 4000 blog.yaml\npolystore load --records 16000 blog.yaml\npolystore plan --records 1000000 runs/blog-7*/result.json", stderr)
	records := fs.Int("records", 0, "forecast for so many `records`")
	asJSON := fs.Bool("json", false, "print the forecast as JSON")
	rest, err := parse(fs, args, "RESULT RESULT...", stdout)
	if err != nil {
		return err
	}
	if *records < 1 {
		return usageError("plan: say for how many records: --records 1000000")
	}
	var results []*loadtest.Result
	for _, file := range rest {
		r, err := loadtest.ReadResult(file)
		if err != nil {
			return exit{loadtest.Usage, err}
		}
		results = append(results, r)
	}
	f, err := loadtest.Plan(results, *records)
	if err != nil {
		return usageError("plan: %w", err)
	}
	if *asJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		return e.Encode(f)
	}
	return f.WriteText(stdout)
}
