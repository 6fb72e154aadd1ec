package loadtest

import (
	"io"
	"path/filepath"

	"github.com/polystore/polystore/loadtest/internal/fault"
	"github.com/polystore/polystore/loadtest/internal/page"
	"github.com/polystore/polystore/loadtest/report"
)

// A Result is what came out of a run. It is written and read as JSON; times are
// in nanoseconds.
type Result = report.Result

type (
	// A Phase is a part of a run, and how long it took.
	Phase = report.Phase

	// A ShareResult says which part of a load a process sent, and which other results belong to it.
	ShareResult = report.ShareResult

	// An Environment is the machine and program of a run.
	Environment = report.Environment

	// A StoreResult describes a store.
	StoreResult = report.StoreResult

	// A DataResult describes the data of a collection.
	DataResult = report.DataResult

	// A SpreadResult says how a model spreads the records of a collection over partitions.
	SpreadResult = report.SpreadResult

	// A StepResult is what a candidate did at one rate, when its highest one was searched.
	StepResult = report.StepResult

	// A Server is one that a fault may kill and start again, or let stand still and go on. Start need not wait until it
	// answers.
	Server = fault.Server

	// An EnduredResult is what a candidate made of faults of its network or its server.
	EnduredResult = report.EnduredResult

	// A FaultResult is what a candidate made of one fault.
	FaultResult = report.FaultResult

	// A QuerySetting is what the workload says of a query.
	QuerySetting = report.QuerySetting

	// An ObjectiveSetting bounds a percentile of the response time.
	ObjectiveSetting = report.ObjectiveSetting

	// A CandidateResult is what was measured of one model on one store.
	CandidateResult = report.CandidateResult

	// A Typical is the median response of several queries together.
	Typical = report.Typical

	// An AbsentResult is a model that a store cannot have.
	AbsentResult = report.AbsentResult

	// A QueryResult is what was measured of one query on a candidate.
	QueryResult = report.QueryResult

	// An ObjectiveResult is what a candidate made of an objective.
	ObjectiveResult = report.ObjectiveResult

	// Percentiles are points of a distribution.
	Percentiles = report.Percentiles

	// A RoundResult is what one round gave.
	RoundResult = report.RoundResult

	// An IntervalResult is what a part of a round gave.
	IntervalResult = report.IntervalResult

	// A RoundQuery is what one round gave for one query.
	RoundQuery = report.RoundQuery

	// A Mark is a percentile of one query in one round.
	Mark = report.Mark

	// A VerdictResult is the ranking of one class of durability.
	VerdictResult = report.VerdictResult

	// A Ratio compares two candidates in one figure by their rounds: how many times
	// the first one's figure is the second's.
	Ratio = report.Ratio
)

// ReadResult reads the result file of a run. Its text is made again, of the rest of the file. A file
// that no run of this version wrote is refused.
func ReadResult(file string) (*Result, error) { return report.Read(file) }

// A Comparison is what became better or worse from one result to a later one of the same workload.
type Comparison = report.Comparison

// Compare compares a result with an earlier one, by the statistics of the verdict.
func Compare(before, after *Result) *Comparison { return report.Compare(before, after) }

// A Forecast says what models would cost with more records.
type Forecast = report.Forecast

// Plan forecasts what models cost with so many records of the largest collection, by results of one workload at two sizes
// or more.
func Plan(results []*Result, records int) (*Forecast, error) { return report.Plan(results, records) }

// Files are those that a result was written to.
type Files = report.Files

// PageName is the name of the page that Save writes beside a result file.
const PageName = "report.html"

// Save writes the result into a new folder NAME-SEED below dir, with its page beside it, and returns the
// result file. A folder that is there already keeps its name; the new one gets a number.
func Save(r *Result, dir string) (string, error) {
	file, err := r.Save(dir)
	if err != nil {
		return "", err
	}
	return file, SavePage(r, filepath.Join(filepath.Dir(file), PageName))
}

// SavePage writes the result as a page for a browser, which needs no other file and no network.
func SavePage(r *Result, file string) error {
	return report.WriteWhole(file, func(w io.Writer) error { return page.Write(w, r) })
}

// Exit codes of a run.
const (
	Met     = report.Met     // some model of each class does all that is asked
	Missed  = report.Missed  // none does in a class
	Usage   = report.Usage   // the command or a file is wrong, or a store failed
	Invalid = report.Invalid // what was measured cannot tell: late clock, too few calls or rounds, operations that do nothing
	Wrong   = report.Wrong   // models or stores gave different answers
)
