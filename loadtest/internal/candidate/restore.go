package candidate

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/polystore/polystore/loadtest/internal/data"
	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo"
)

// Restore makes the records those that were loaded, also in their copies: what came is removed, and what changed or is gone
// is inserted again, parents before what is embedded in them. Trees are not restored. Series that are not as they were
// loaded are removed, and appended again.
func (c *Candidate) Restore(ctx context.Context, w *workload.Workload, tables []*generate.Table) error {
	for _, col := range w.Collections {
		if c.forests[col.At] != nil {
			return errors.New("trees that were written to are not put back")
		}
		if err := c.restore(ctx, w, col, tables); err != nil {
			return err
		}
	}
	return c.copied.follow(ctx)
}

func (c *Candidate) restore(ctx context.Context, w *workload.Workload, col *workload.Collection, tables []*generate.Table) error {
	fields := col.Keys[c.Model.KeyAt[col.At]]
	missing := map[string]uint64{}
	loaded := c.copied.filled(col, tables, data.Records(ctx, w, col, tables, func(data.Row) {}))
	for rec, err := range loaded {
		if err != nil {
			return err
		}
		missing[value.Identity(rec, fields)] = value.Sum(rec, nil)
	}
	var wrong []repo.Key
	for rec, err := range c.Stored(ctx, col.At) {
		if err != nil {
			return err
		}
		id := value.Identity(rec, fields)
		if sum, ok := missing[id]; ok && sum == value.Sum(rec, nil) {
			delete(missing, id)
			continue
		}
		var key repo.Key
		for _, f := range fields {
			key = append(key, rec[f])
		}
		wrong = append(wrong, key)
	}
	if s := c.shelves[col.At]; s != nil {
		return s.restore(ctx, w, tables, wrong, missing)
	}
	n, r := c.nests[col.At], c.repos[col.At]
	err := error(nil)
	if n != nil {
		err = n.change(ctx, wrong, nil)
	} else {
		_, err = r.DeleteAll(ctx, nothingFails(slices.Values(wrong)))
	}
	if err != nil {
		return err
	}
	lost := func(yield func(map[string]any, error) bool) {
		for rec, err := range loaded {
			if _, ok := missing[value.Identity(rec, fields)]; err == nil && !ok {
				continue
			}
			if err == nil {
				rec = expiring(rec, col)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
	if n != nil {
		return n.add(ctx, lost, func(int) {})
	}
	_, err = r.InsertAll(ctx, lost)
	return err
}

func nothingFails[T any](list iter.Seq[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for x := range list {
			if !yield(x, nil) {
				return
			}
		}
	}
}
