package candidate

import (
	"context"
	"iter"
	"maps"
	"time"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// A gatherer takes the records of an answer.
type gatherer struct {
	operation.Answer
	keep  bool
	hide  []*workload.Collection // that are embedded in the records
	whole int                    // records that have what they are joined with
}

func (g *gatherer) all(seq iter.Seq2[map[string]any, error]) error {
	for rec, err := range seq {
		if err != nil {
			return err
		}
		g.one(rec)
	}
	return nil
}

func (g *gatherer) one(rec map[string]any) {
	g.N++
	for _, c := range g.hide {
		delete(rec, c.List())
	}
	if g.keep {
		g.Records = append(g.Records, rec)
	}
}

// Do sends an operation to a candidate. Keep asks for the records found.
func (c *Candidate) Do(ctx context.Context, k *operation.Call, keep bool) (operation.Answer, error) {
	if k.Q.Kind == "journey" {
		g := gatherer{keep: keep}
		err := c.journey(ctx, k, &g)
		return g.Answer, err
	}
	if !c.Seen.Wants(k) {
		return c.do(ctx, k, keep)
	}
	began := time.Now()
	a, err := c.do(ctx, k, keep || k.Checked)
	c.Seen.Note(k, a, operation.OutcomeOf(ctx, err), began)
	return a, err
}

// do sends an operation that is no journey.
func (c *Candidate) do(ctx context.Context, k *operation.Call, keep bool) (operation.Answer, error) {
	g := gatherer{keep: keep || len(k.Q.Joins) > 0, hide: c.nests.in(k.Q.Collection)}
	err := c.ask(ctx, k, &g)
	if err == nil {
		err = c.complete(ctx, k, &g)
	}
	if !keep {
		g.Records = nil
	}
	return g.Answer, err
}

// ask sends an operation to where the model keeps the collection.
func (c *Candidate) ask(ctx context.Context, k *operation.Call, g *gatherer) error {
	at := k.Q.Collection.At
	if kept := c.kept(at); kept != nil {
		return kept.do(ctx, k, g)
	}
	if done, err := c.copied.write(ctx, k); done {
		return err
	}
	return c.askRecords(ctx, c.repos[at], k, g)
}

// askRecords sends an operation to a collection of records.
func (c *Candidate) askRecords(ctx context.Context, r *repo.Repo[map[string]any], k *operation.Call, g *gatherer) (err error) {
	switch k.Q.Kind {
	case "insert":
		rec := expiring(maps.Clone(k.Record), k.Q.Collection) // the library adds the version
		return r.Insert(ctx, &rec)
	case "put":
		return c.put(ctx, k)
	case "modify":
		_, err = r.Update(ctx, k.KeyIn(c.Model), func(rec *map[string]any) error {
			k.Change(*rec)
			return nil
		})
	case "group":
		return c.commit(ctx, r, k)
	case "renew":
		_, err = r.Patch(ctx, k.KeyIn(c.Model), repo.ExpireAt(time.Now().Add(k.Q.Collection.TTL)))
	case "update", "move":
		_, err = r.Patch(ctx, k.KeyIn(c.Model), k.Edits...)
	case "delete":
		return r.Delete(ctx, k.KeyIn(c.Model), repo.IfExists()) // else nobody would know that it did nothing
	case "get":
		return c.get(ctx, k, g)
	case "exists":
		var there bool
		if there, err = r.Exists(ctx, k.KeyIn(c.Model)); there {
			g.N = 1
		}
	default:
		return c.search(ctx, r, k, g)
	}
	return err
}

// expiring gives a record the end of its life.
func expiring(rec map[string]any, c *workload.Collection) map[string]any {
	if c.TTL > 0 {
		rec[value.Expires] = time.Now().Add(c.TTL)
	}
	return rec
}

// search does the queries that find records by their fields.
func (c *Candidate) search(ctx context.Context, r *repo.Repo[map[string]any], k *operation.Call, g *gatherer) error {
	if len(k.Q.Children) > 0 {
		return c.families(ctx, k, g)
	}
	if c.whole[k.At] {
		return scan(ctx, r, k, g)
	}
	in := c.reader(k.Q.Collection)
	switch k.Q.Kind {
	case "find":
		return g.all(in.Find(ctx, k.Find))
	case "one":
		rec, err := in.One(ctx, k.Find)
		if err == nil {
			g.one(rec)
		}
		return err
	case "count":
		n, err := r.Count(ctx, k.Find)
		g.N = n
		return err
	case "near":
		return near(ctx, r, k, g)
	case "groups", "distinct", "firsts":
		return group(ctx, r, k, g)
	}
	cursor := ""
	for range k.Q.Pages {
		page, err := in.Page(ctx, k.Find, cursor)
		if err != nil {
			return err
		}
		for _, rec := range page.Items {
			g.one(rec)
		}
		if err := c.complete(ctx, k, g); err != nil {
			return err
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	return nil
}

// scan answers a query by reading every record. A page behind the first one is
// found by skipping those before, for want of an order to go on in.
func scan(ctx context.Context, r *repo.Repo[map[string]any], k *operation.Call, g *gatherer) error {
	switch k.Q.Kind {
	case "one":
		if err := g.all(r.Scan(ctx, k.Find.Limit(2))); err != nil {
			return err
		}
		if g.N == 0 {
			return repo.ErrNotFound
		}
	case "page":
		for i := range k.Q.Pages {
			g.N, g.Records = 0, nil
			if err := g.all(r.Scan(ctx, k.Find.Limit(k.Q.Limit*(i+1)))); err != nil {
				return err
			}
			if g.N < k.Q.Limit*(i+1) {
				break
			}
		}
	case "near":
		return scanNear(r.Scan(ctx, k.Find.Limit(0)), k, g)
	case "groups", "distinct", "firsts":
		return scanGroups(r.Scan(ctx, k.Find.Limit(0)), k, g)
	default:
		return g.all(r.Scan(ctx, k.Find))
	}
	return nil
}
