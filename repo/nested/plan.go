package nested

import (
	"fmt"

	"github.com/polystore/polystore/repo"
)

// A Plan says how a query is answered and what that costs.
type Plan struct {
	Collection string
	Index      string
	Strategy   Strategy
	Ranges     int       // of index rows: one for each condition, with Numbered for each number, too
	Range      repo.Plan // how one of them is read
	Depth      int       // round trips, one after the other, if the first piece of each range is enough; ranges are read 16 at a time
	Requests   int       // then, without those of rows and records
	PerRow     bool      // each index row that is read costs one more request: the index lies in other partitions than the records
	Why        string
}

// Explain says how a query is answered, without running it. Each record found costs one more request; the records
// of a batch are read in one round trip.
func (c *Collection[T]) Explain(q Query) (Plan, error) {
	tests, err := c.shape.testsOf(q)
	if err != nil {
		return Plan{}, c.failed("explain", err)
	}
	j := c.newJoin(tests, q.near, "")
	one, err := c.plan(repo.Where(termsField+"[]", j.lists[0].term).Order(ownerField).Limit(fewRows))
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Collection: c.schema.Records.Collection, Index: one.Index, Strategy: c.schema.Strategy, Ranges: len(j.lists), Range: one, PerRow: one.PerRecord}
	p.Depth = (p.Ranges+atOnce-1)/atOnce*one.Depth + 1
	p.Requests = p.Ranges * one.Requests
	p.Why = "a range for each condition, intersected by record and by the positions that the rows carry"
	if c.schema.Strategy == Numbered {
		p.Why = fmt.Sprintf("a range for each condition and each of %d numbers, intersected by record and number", c.schema.Numbers)
	}
	return p, nil
}

// String returns the plan as one line.
func (p Plan) String() string {
	each := "record"
	if p.PerRow {
		each = "index row and each record"
	}
	return fmt.Sprintf("%s by index %s, %s: %d ranges, depth %d, %d requests and one for each %s: %s",
		p.Collection, p.Index, p.Strategy, p.Ranges, p.Depth, p.Requests, each, p.Why)
}
