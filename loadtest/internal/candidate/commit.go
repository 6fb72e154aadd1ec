package candidate

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// commit does the writes of a group together or not at all.
func (c *Candidate) commit(ctx context.Context, r *repo.Repo[map[string]any], k *operation.Call) error {
	var opts []repo.GroupOption
	if c.scatters(k.Q.Collection) {
		opts = append(opts, repo.AcrossPartitions())
	}
	g := c.Store.Repo.Group(opts...)
	in := r.In(g)
	for i := range k.Parts {
		switch part := &k.Parts[i]; part.Q.Kind {
		case "put":
			if c.views[k.Q.Collection.At] != nil {
				in.Patch(part.KeyIn(c.Model), rewriting(part)...)
				continue
			}
			rec := expiring(maps.Clone(part.Record), part.Q.Collection)
			in.Put(&rec)
		case "delete":
			in.Delete(part.KeyIn(c.Model), repo.IfExists())
		default:
			in.Patch(part.KeyIn(c.Model), part.Edits...)
		}
	}
	follow := c.copied.changed(g, k)
	if err := g.Commit(ctx); err != nil {
		return err
	}
	return follow(ctx)
}

// scatters reports whether records of one partition, as a collection is declared, may lie in several ones in the model.
func (c *Candidate) scatters(of *workload.Collection) bool {
	return slices.ContainsFunc(c.Model.Schemas[of.At].Partition, func(f string) bool { return !slices.Contains(of.Schema.Partition, f) })
}

// tearsApart says which group the store cannot commit in this model, "" if there is none.
func (c *Candidate) tearsApart(w *workload.Workload) string {
	for _, q := range w.Queries {
		if q.Kind == "group" && c.scatters(q.Collection) && c.Store.Facts.Scope < driver.ScopeStore {
			return fmt.Sprintf("query %s changes records of several partitions in one commit, which %s cannot do", q.Name, c.Store.Facts.Name)
		}
	}
	return ""
}
