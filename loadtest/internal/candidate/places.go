package candidate

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/polystore/polystore/loadtest/internal/generate"
	"github.com/polystore/polystore/loadtest/internal/operation"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/geo"
)

// near finds records by their distance from a place.
func near(ctx context.Context, r *repo.Repo[map[string]any], k *operation.Call, g *gatherer) error {
	places, err := geo.Of(r, k.Q.At, func(rec *map[string]any) geo.Point { return generate.PointOf((*rec)[k.Q.At]) })
	if err != nil {
		return err
	}
	q := geo.Near(generate.PointOf(k.Center), k.Q.Radius)
	for f, v := range k.Where {
		q = q.Where(f, v)
	}
	if k.Limit > 0 {
		q = q.Limit(k.Limit)
	}
	return g.all(places.Find(ctx, q))
}

// scanNear does so among records.
func scanNear(records iter.Seq2[map[string]any, error], k *operation.Call, g *gatherer) error {
	type hit struct {
		rec map[string]any
		far float64
	}
	var hits []hit
	center := generate.PointOf(k.Center)
	for rec, err := range records {
		if err != nil {
			return err
		}
		if rec[k.Q.At] == nil {
			continue
		}
		if far := center.Distance(generate.PointOf(rec[k.Q.At])); far <= k.Q.Radius {
			hits = append(hits, hit{rec, far})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(a.far, b.far) })
	if k.Limit > 0 {
		hits = hits[:min(k.Limit, len(hits))]
	}
	for _, h := range hits {
		g.one(h.rec)
	}
	return nil
}
