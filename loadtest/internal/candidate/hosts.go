package candidate

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"

	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// A reader reads records of a collection: whole, or without what is embedded in them.
type reader interface {
	Get(ctx context.Context, key repo.Key) (map[string]any, error)
	One(ctx context.Context, q repo.Query) (map[string]any, error)
	Find(ctx context.Context, q repo.Query) iter.Seq2[map[string]any, error]
	FindMany(ctx context.Context, queries []repo.Query) ([][]map[string]any, error)
	Page(ctx context.Context, q repo.Query, cursor string) (repo.Page[map[string]any], error)
}

// reader returns what reads the records of a collection without what is embedded in them.
func (c *Candidate) reader(of *workload.Collection) reader {
	if v := c.views[of.At]; v != nil {
		return v
	}
	return c.repos[of.At]
}

// nests are the collections of a candidate that are embedded, by collection.
type nests []*nest

// in returns the collections that are embedded in the records of another one.
func (list nests) in(host *workload.Collection) (guests []*workload.Collection) {
	for _, n := range list {
		if n != nil && n.in == host {
			guests = append(guests, n.of)
		}
	}
	return guests
}

// put writes a record. What is embedded in it stays.
func (c *Candidate) put(ctx context.Context, k *operation.Call) error {
	r, rec := c.repos[k.Q.Collection.At], expiring(maps.Clone(k.Record), k.Q.Collection)
	if c.views[k.Q.Collection.At] == nil {
		return r.Put(ctx, &rec)
	}
	err := repo.ErrNotFound
	if edits := rewriting(k); len(edits) > 0 {
		_, err = r.Patch(ctx, k.KeyIn(c.Model), edits...)
	}
	if errors.Is(err, repo.ErrNotFound) {
		err = r.Insert(ctx, &rec)
	}
	return err
}

// rewriting returns the edits by which a record in which others are embedded becomes what a call puts.
func rewriting(k *operation.Call) (edits []repo.Edit) {
	keys := slices.Concat(k.Q.Collection.Keys...)
	for _, f := range k.Q.Collection.Declared() {
		switch v := k.Record[f]; {
		case slices.Contains(keys, f): // it never changes
		case v != nil:
			edits = append(edits, repo.Set(f, v))
		default:
			edits = append(edits, repo.Unset(f))
		}
	}
	return edits
}
