package loadtest

import "github.com/polystore/polystore/loadtest/internal/report"

// A Result is what came out of a run. It is written and read as JSON; times are
// in nanoseconds.
type Result = report.Result

// The parts of a Result.
type (
	Environment      = report.Environment
	StoreResult      = report.StoreResult
	DataResult       = report.DataResult
	QuerySetting     = report.QuerySetting
	ObjectiveSetting = report.ObjectiveSetting
	CandidateResult  = report.CandidateResult
	Typical          = report.Typical
	AbsentResult     = report.AbsentResult
	QueryResult      = report.QueryResult
	ObjectiveResult  = report.ObjectiveResult
	Percentiles      = report.Percentiles
	RoundResult      = report.RoundResult
	RoundQuery       = report.RoundQuery
	Mark             = report.Mark
	VerdictResult    = report.VerdictResult
	Ratio            = report.Ratio
)

// ReadResult reads the result file of a run. Its text is made again, of the rest of the file. A file
// that no run of this version wrote is refused.
func ReadResult(file string) (*Result, error) { return report.Read(file) }

// Exit codes of a run.
const (
	Met     = report.Met     // some model of each class does all that is asked
	Missed  = report.Missed  // none does in a class
	Usage   = report.Usage   // the command or a file is wrong, or a store failed
	Invalid = report.Invalid // what was measured cannot tell: late clock, too few calls or rounds, operations that do nothing
	Wrong   = report.Wrong   // models or stores gave different answers
)
