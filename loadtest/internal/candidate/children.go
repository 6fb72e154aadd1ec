package candidate

import (
	"cmp"
	"context"
	"sync"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/repo"
)

// get reads a record, and its children if the query has some: those that are embedded with it, and the others beside it.
func (c *Candidate) get(ctx context.Context, k *operation.Call, g *gatherer) error {
	in := c.reader(k.Q.Collection)
	calls := k.Children(k.Parent)
	lists, errs := make([][]map[string]any, len(calls)), make([]error, len(calls))
	var beside sync.WaitGroup
	for i := range calls {
		if c.nests.embedded(k, &calls[i]) {
			in = c.repos[k.Q.Collection.At]
			continue
		}
		beside.Go(func() { lists[i], errs[i] = c.found(ctx, &calls[i], c.below[k.At][i]) })
	}
	rec, err := in.Get(ctx, k.KeyIn(c.Model))
	beside.Wait()
	if err = cmp.Or(err, cmp.Or(errs...)); err != nil {
		return err
	}
	for i := range calls {
		if c.nests.embedded(k, &calls[i]) {
			lists[i] = c.nests.inside(rec, &calls[i])
		}
	}
	g.family(rec, lists)
	return nil
}

// families finds records with their children. Of each collection the children of all records are asked for at once.
func (c *Candidate) families(ctx context.Context, k *operation.Call, g *gatherer) error {
	at := k.Q.Collection.At
	in := c.reader(k.Q.Collection)
	for _, q := range k.Q.Children {
		if c.nests.embedded(k, &operation.Call{Q: q}) {
			in = c.repos[at]
		}
	}
	found := in.Find(ctx, k.Find)
	if c.whole[k.At] {
		found = c.repos[at].Scan(ctx, k.Find)
	}
	parents, err := repo.Collect(found)
	if err != nil {
		return err
	}
	lists := make([][][]map[string]any, len(parents))
	for i := range k.Q.Children {
		calls := make([]operation.Call, len(parents))
		for j, rec := range parents {
			calls[j] = k.Children(rec)[i]
		}
		of, err := c.childrenOf(ctx, k, i, parents, calls)
		if err != nil {
			return err
		}
		for j := range parents {
			lists[j] = append(lists[j], of[j])
		}
	}
	for j, rec := range parents {
		g.family(rec, lists[j])
	}
	return nil
}

// childrenOf returns the children of some parents by the calls that find them: the i-th of the query's Children.
func (c *Candidate) childrenOf(ctx context.Context, k *operation.Call, i int, parents []map[string]any, calls []operation.Call) (lists [][]map[string]any, err error) {
	of := k.Q.Children[i].Collection
	if c.nests[of.At] == nil && !c.below[k.At][i] {
		queries := make([]repo.Query, len(calls))
		for j := range calls {
			queries[j] = calls[j].Find
		}
		return c.reader(of).FindMany(ctx, queries)
	}
	for j := range calls {
		var list []map[string]any
		if c.nests.embedded(k, &calls[j]) {
			list = c.nests.inside(parents[j], &calls[j])
		} else if list, err = c.found(ctx, &calls[j], c.below[k.At][i]); err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// found returns what a call finds, by reading every record if it scans.
func (c *Candidate) found(ctx context.Context, k *operation.Call, scans bool) ([]map[string]any, error) {
	of := k.Q.Collection
	g := gatherer{keep: true, hide: c.nests.in(of)}
	if n := c.nests[of.At]; n != nil {
		err := n.search(ctx, k, &g)
		return g.Records, err
	}
	found := c.reader(of).Find(ctx, k.Find)
	if scans {
		found = c.repos[of.At].Scan(ctx, k.Find)
	}
	err := g.all(found)
	return g.Records, err
}

// embedded reports whether the children that a call finds are in the record that their parent is.
func (list nests) embedded(parent, k *operation.Call) bool {
	n := list[k.Q.Collection.At]
	return n != nil && n.in == parent.Q.Collection && n.holds(k)
}

// inside returns what a call finds in a host that was read whole.
func (list nests) inside(host map[string]any, k *operation.Call) []map[string]any {
	n := list[k.Q.Collection.At]
	return cut(n.pick(n.records(host), k), k.Limit)
}

// family takes a record and its children.
func (g *gatherer) family(rec map[string]any, lists [][]map[string]any) {
	if g.one(rec); g.keep {
		g.Children = append(g.Children, lists...)
	}
}
