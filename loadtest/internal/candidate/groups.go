package candidate

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// explain says why no index answers a call, nil if one does.
func (c *Candidate) explain(q *workload.Query, k *operation.Call) error {
	if n := c.nests[q.Collection.At]; n != nil {
		return n.explain(k)
	}
	r := c.repos[q.Collection.At]
	var err error
	if len(q.By) > 0 {
		if _, err = r.GroupBy(q.By...).Sum(q.Sum...).Explain(k.Find); err != nil && c.Model.Scan && slices.ContainsFunc(q.By, isElement) {
			return fmt.Errorf("groups of elements need an index, also where the model scans: %s", strings.TrimSuffix(reason(err), ": "+repo.ErrNoIndex.Error()))
		}
		return err
	}
	find := k.Find
	if q.At != "" {
		find = find.Order(q.At).AtLeast(q.At, k.Center).AtMost(q.At, k.Center) // one of the ranges that are read
	}
	_, err = r.Explain(find)
	return err
}

func isElement(field string) bool { return strings.HasSuffix(field, "[]") }

// group does the queries that tell of groups.
func group(ctx context.Context, r *repo.Repo[map[string]any], k *operation.Call, g *gatherer) error {
	groups := r.GroupBy(k.Q.By...).Sum(k.Q.Sum...)
	switch k.Q.Kind {
	case "distinct":
		n, err := groups.Count(ctx, k.Find)
		g.N = n
		return err
	case "firsts":
		return g.all(groups.First(ctx, k.Find))
	}
	for one, err := range groups.Find(ctx, k.Find) {
		if err != nil {
			return err
		}
		rec := map[string]any{operation.Members: int64(one.Count)}
		for i, f := range k.Q.By {
			rec[f] = one.Key[i]
		}
		for i, f := range k.Q.Sum {
			rec[operation.Total+f] = one.Sums[i]
		}
		g.one(rec)
	}
	return nil
}

// scanGroups tells of the groups of records that a call finds, in its order. They come as their first records do.
func scanGroups(records iter.Seq2[map[string]any, error], k *operation.Call, g *gatherer) error {
	groups := map[string]map[string]any{}
	var order []map[string]any
	for rec, err := range records {
		if err != nil {
			return err
		}
		if slices.ContainsFunc(k.Q.By, func(f string) bool { return rec[f] == nil }) {
			continue // it is in no group
		}
		id := value.Identity(rec, k.Q.By)
		of := groups[id]
		if of == nil {
			if of = groupOf(rec, k.Q); k.Q.Kind == "firsts" {
				of = rec
			}
			groups[id], order = of, append(order, of)
		}
		if k.Q.Kind == "groups" {
			addTo(of, rec, k.Q)
		}
	}
	if k.Limit > 0 {
		order = order[:min(k.Limit, len(order))]
	}
	for _, of := range order {
		if g.one(of); k.Q.Kind == "distinct" {
			g.Records = nil
		}
	}
	return nil
}

// groupOf returns the group of a record, which has no record yet.
func groupOf(rec map[string]any, q *workload.Query) map[string]any {
	of := map[string]any{operation.Members: int64(0)}
	for _, f := range q.By {
		of[f] = rec[f]
	}
	for _, f := range q.Sum {
		of[operation.Total+f] = int64(0)
	}
	return of
}

// addTo adds a record to its group.
func addTo(of, rec map[string]any, q *workload.Query) {
	of[operation.Members] = of[operation.Members].(int64) + 1
	for _, f := range q.Sum {
		v, _ := rec[f].(int64) // what is absent adds nothing
		of[operation.Total+f] = of[operation.Total+f].(int64) + v
	}
}
