package repo

import (
	"github.com/polystore/polystore/repo/internal/plan"
)

// A Plan says how a query is answered and what that costs.
type Plan struct {
	Collection string
	With       string // the collection with which this one lies, "" if with none
	Index      string // name of the index, "" when the records themselves are read
	Reverse    bool   // the run is read backwards
	Covered    bool   // the index rows have all that is wanted
	Buckets    int    // partitions that are read and merged; 1 without buckets
	Depth      int    // round trips, one after the other, if it finds no more than a first page has; Cost says it of more
	Requests   int    // commands or statements then, without those that PerRecord says
	PerRecord  bool   // each record found costs one more request
	Why        string
	Deletes    string // what deleted records and rows in the run cost, "" if nothing

	of plan.Explanation
}

// planOf returns an explanation as a caller has it.
func planOf(e plan.Explanation) Plan {
	return Plan{Collection: e.Collection, With: e.With, Index: e.Index, Reverse: e.Reverse, Covered: e.Covered, Buckets: e.Buckets,
		Depth: e.Depth, Requests: e.Requests, PerRecord: e.PerRecord, Why: e.Why, Deletes: e.Deletes, of: e}
}

// String returns the plan as one line.
func (p Plan) String() string { return p.of.Text() }

// Cost returns how many round trips, one after the other, and how many requests a query
// takes that finds n records, as [Event] counts them. Rows that are large, dead or not
// yet removed cost more, and so do buckets that have not the same share. Records that an
// index elsewhere names can cost less: they are taken to lie in partitions of their own.
// Of a query with a limit only that many are read.
func (p Plan) Cost(n int) (depth, requests int) { return p.of.Cost(n) }
