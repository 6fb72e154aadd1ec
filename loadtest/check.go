package loadtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/candidate"
	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/format"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/limit"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/store"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/driver"
)

// A Finding is what is known of a model before anything is loaded: that a store cannot have it, or that no index
// answers one of the queries.
type Finding struct {
	Model   string // "" of a schema alone
	Store   string // that cannot have the model, "" where it is about a query
	Query   string
	Refused bool   // nothing answers the query, so that the workload is not run
	Text    string // what the query would do, and what would help; why the store cannot
}

// String returns the finding as one line.
func (f Finding) String() string {
	switch {
	case f.Store != "" && f.Model == "":
		return fmt.Sprintf("%s cannot have it: %s", f.Store, f.Text)
	case f.Store != "":
		return fmt.Sprintf("model %s: %s cannot have it: %s", f.Model, f.Store, f.Text)
	}
	return fmt.Sprintf("model %s, query %s: %s", f.Model, f.Query, f.Text)
}

// Check looks at a workload file, or at one schema alone, before anything is loaded: which of the stores cannot have a
// model, and which queries a model answers by reading every record, or not at all. The queries are planned in the
// memory store, which open returns for "memory:", for some of the first records of the data.
func Check(ctx context.Context, file string, open func(ctx context.Context, url string) (driver.Store, error), stores []driver.Facts) (list []Finding, err error) {
	if err := sound(ctx, open); err != nil {
		return nil, err
	}
	w, err := workload.Layouts(file)
	if err != nil {
		return nil, err
	}
	for _, mo := range w.Models {
		for _, facts := range stores {
			if why := candidate.New(w, &store.Store{Facts: facts}, mo, "").Missing(w); why != "" {
				list = append(list, Finding{Model: mo.Name, Store: facts.Name, Text: why})
			}
		}
	}
	if !slices.ContainsFunc(w.Queries, finds) && !slices.ContainsFunc(w.Models, (*workload.Model).HasCopies) {
		return list, nil
	}
	st, err := store.Open(ctx, "memory:", "memory:", open)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Repo.Close()) }()
	some, err := planQueries(ctx, w, st)
	return append(list, some...), err
}

// finds reports whether a query finds records by their fields, which an index may answer or not.
func finds(q *workload.Query) bool {
	return len(q.Children) > 0 || !q.Writes() && q.Collection.Tree == nil && q.Kind != "get" && q.Kind != "exists" && q.Kind != "journey"
}

// planQueries looks for an index for each query in each model.
func planQueries(ctx context.Context, w *workload.Workload, st *store.Store) (list []Finding, err error) {
	head := *w
	head.First, head.Records = true, limit.PlannedFrom
	tables, err := data.Survey(ctx, &head, nil)
	if err != nil {
		return nil, err
	}
	var candidates []*candidate.Candidate
	for i, mo := range w.Models {
		c := candidate.New(w, st, mo, "")
		if err := c.Open(ctx, w, fmt.Sprintf("m%d_", i)); err != nil {
			return nil, err
		}
		candidates = append(candidates, c)
	}
	for i, q := range w.Queries {
		if !finds(q) {
			continue
		}
		k, none := sampledCall(head, i, tables)
		for _, c := range candidates {
			f := Finding{Model: c.Model.Name, Query: q.Name, Text: none}
			if none != "" {
				list = append(list, f)
				continue
			}
			for _, own := range append([]operation.Call{k}, k.Children(k.Parent)...) {
				if f.Text, f.Refused = unindexed(c, &own); f.Text != "" {
					list = append(list, f)
				}
			}
		}
	}
	return list, nil
}

// sampledCall returns a call of the query at an index, or why there is none.
func sampledCall(w workload.Workload, at int, tables []*generate.Table) (k operation.Call, none string) {
	w.Queries = []*workload.Query{w.Queries[at]} // others may find nothing to draw
	s, err := operation.NewStream(&w, tables)
	if err != nil {
		return k, fmt.Sprintf("is not planned: none of the first %s has what it draws", format.Plural(limit.PlannedFrom, "record"))
	}
	return s.Only(0, 1, 0)[0], ""
}

// unindexed says what a model does for a call that no index answers, "" if one does.
func unindexed(c *candidate.Candidate, k *operation.Call) (text string, refused bool) {
	why, scans := c.Unindexed(k)
	switch {
	case why == "":
		return "", false
	case !scans:
		return "is refused: " + why, true
	}
	q, records := k.Q, "every record of "+k.Q.Collection.Schema.Collection
	if n := q.Collection.Data.Count; n > 0 {
		records += " (" + format.Count(n) + ")"
	}
	if q.Pages > 1 {
		records += fmt.Sprintf(", again for each of %d pages", q.Pages)
	}
	if len(q.Order) == 0 && (k.Limit > 0 || q.Kind == "one") && len(q.By) == 0 && q.At == "" {
		records = "records of " + q.Collection.Schema.Collection + " until it has what it wants, which may be " + records
	}
	return "looks at " + records + ": " + strings.TrimSuffix(why, ", or let the model scan (scan: true)"), false
}
