package candidate

import (
	"context"
	"iter"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/link"
)

// complete gives the records of an answer, behind those that have it, what they are joined with: by the copies that the
// model keeps, else by a request for all that they refer to.
func (c *Candidate) complete(ctx context.Context, k *operation.Call, g *gatherer) error {
	list := g.Records[g.whole:]
	g.whole = len(g.Records)
	for i := range k.Q.Joins {
		j := &k.Q.Joins[i]
		if c.Model.CopiesOf(k.Q.Collection.At, j) != nil {
			continue
		}
		if err := join(ctx, list, j, c.joined[j]); err != nil {
			return err
		}
	}
	for _, rec := range list {
		c.copied.show(rec, k.Q.Collection.At, k.Q.Joins)
	}
	return nil
}

// joined are what joins read by: no more of a record than what is taken of it.
type joined map[*workload.Join]*repo.View[map[string]any]

func openJoins(w *workload.Workload, repos []*repo.Repo[map[string]any]) (all joined, err error) {
	all = joined{}
	for _, q := range w.Queries {
		for i := range q.Joins {
			j := &q.Joins[i]
			if all[j], err = repo.FieldsOf(repos[j.From.At], j.Take...); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// join fetches what records refer to.
func join(ctx context.Context, list []map[string]any, j *workload.Join, others link.Getter[map[string]any]) error {
	from, err := link.Join(ctx, list, func(rec map[string]any) []repo.Key { return referred(rec, j) }, others)
	if err != nil {
		return err
	}
	for i, rec := range list {
		if len(from[i]) == 0 || from[i][0] == nil {
			continue
		}
		for _, f := range j.Take {
			if v := (*from[i][0])[f]; !value.IsEmpty(v) {
				rec[j.Shown(f)] = v
			}
		}
	}
	return nil
}

// show gives the copies of a record the names that they have in answers, if they are asked for. Others it leaves out.
func (c *copied) show(rec map[string]any, at int, joins []workload.Join) {
	for i := range joins {
		if j := &joins[i]; c.model.CopiesOf(at, j) != nil {
			for _, f := range j.Take {
				if v := rec[j.Kept(f)]; !value.IsEmpty(v) {
					rec[j.Shown(f)] = v
				}
			}
		}
	}
	for i := range c.model.Copies[at] {
		j := &c.model.Copies[at][i]
		for _, f := range j.Take {
			delete(rec, j.Kept(f))
		}
	}
}

// showing yields records with the copies that joins ask for, and without others.
func (c *copied) showing(at int, joins []workload.Join, records iter.Seq2[map[string]any, error]) iter.Seq2[map[string]any, error] {
	return func(yield func(map[string]any, error) bool) {
		for rec, err := range records {
			if err == nil {
				c.show(rec, at, joins)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}
