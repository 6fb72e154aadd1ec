package repo

import (
	"github.com/polystore/polystore/repo/internal/plan"
)

// A Plan says how a query is answered and what that costs.
type Plan struct {
	Collection string
	With       string // the collection that Schema.With names, or ""
	Index      string // name of the index, "" when the records themselves are read
	Reverse    bool   // the run is read backwards
	Covered    bool   // the index rows have all wanted fields
	Buckets    int    // partitions that are read and merged; 1 without buckets
	Depth      int    // round trips, one after the other, if all found records fit the first page; else see Cost
	Requests   int    // commands or statements then, without those of PerRecord
	PerRecord  bool   // each record found costs one more request
	Why        string
	Deletes    string // what deleted records and rows in the run cost, or ""

	of plan.Explanation
}

// planOf returns an explanation as a caller has it.
func planOf(e plan.Explanation) Plan {
	return Plan{Collection: e.Collection, With: e.With, Index: e.Index, Reverse: e.Reverse, Covered: e.Covered, Buckets: e.Buckets,
		Depth: e.Depth, Requests: e.Requests, PerRecord: e.PerRecord, Why: e.Why, Deletes: e.Deletes, of: e}
}

// String returns the plan as one line.
func (p Plan) String() string { return p.of.Text() }

// Cost returns how many round trips, one after the other, and how many requests a query that finds
// n records takes, as [Event] counts them. Large rows, dead rows, rows not yet removed and uneven
// buckets cost more. Records that an index in other partitions names may cost less: Cost assumes
// that each lies in a partition of its own. A query with a limit reads no more than its limit.
func (p Plan) Cost(n int) (depth, requests int) { return p.of.Cost(n) }
