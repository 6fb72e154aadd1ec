package candidate

import (
	"errors"
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/failure"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// Plan finds out which queries the model answers by an index, and reports those
// that it cannot answer unless it means to scan.
func (c *Candidate) Plan(w *workload.Workload, sample func(at int) operation.Call) failure.Faults {
	var faults failure.Faults
	c.Scans, c.whole, c.below = make([]bool, len(w.Queries)), make([]bool, len(w.Queries)), make([][]bool, len(w.Queries))
	for i, q := range w.Queries {
		k := sample(i)
		plan := func(own *operation.Call, what string) bool {
			why, scans := c.Unindexed(own)
			if c.Scans[i] = c.Scans[i] || scans; why != "" && !scans {
				faults = append(faults, failure.Fault{File: w.File, Line: q.Place.Line, Column: q.Place.Column,
					Text: fmt.Sprintf("query %s in model %s: %s%v", q.Name, c.Model.Name, what, why)})
			}
			return scans
		}
		c.whole[i] = plan(&k, "")
		for _, own := range k.Children(k.Parent) {
			c.below[i] = append(c.below[i], plan(&own, own.Q.Collection.Schema.Collection+" of it: "))
		}
	}
	return faults
}

// Unindexed says why no index answers a call, "" if one does, and whether the model reads every record then. It says
// nothing of the children of what the call finds.
func (c *Candidate) Unindexed(k *operation.Call) (why string, scans bool) {
	if k.Key != nil || k.Record != nil || k.Parts != nil || c.shelves[k.Q.Collection.At] != nil {
		return "", false
	}
	err := c.explain(k.Q, k)
	if err == nil {
		return "", false
	}
	return reason(err), c.Model.Scan && errors.Is(err, repo.ErrNoIndex)
}
