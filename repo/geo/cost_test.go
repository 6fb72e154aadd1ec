package geo_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/geo"
)

// A counter counts the requests for ranges, the ranges in them, and the records that they had.
type counter struct {
	mu                     sync.Mutex
	waves, ranges, records int
	most                   int // ranges at once
}

func (c *counter) options() *repo.Options {
	return &repo.Options{Tracer: repo.Tracer{Begin: func(ctx context.Context, _ repo.Event) (context.Context, func(repo.Event)) {
		return ctx, func(e repo.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			n := max(1, e.Batch)
			c.waves, c.ranges, c.records, c.most = c.waves+1, c.ranges+n, c.records+e.Records, max(c.most, n)
		}
	}}}
}

// town inserts shops in a square of 40 km, and a fifth of them in a crowd of 200 m.
func town(t testing.TB, store *repo.Store, collection string, n int) *geo.Places[shop] {
	t.Helper()
	r, places := open(t, store, "partition", collection)
	w := newWorld(5)
	var list []shop
	for i := range n {
		p := stored(48.85+w.between(-0.18, 0.18), 2.35+w.between(-0.27, 0.27))
		if i%5 == 0 {
			p = stored(48.7+w.between(-0.001, 0.001), 2.35+w.between(-0.001, 0.001))
		}
		list = append(list, shop{"bakery", fmt.Sprint(i), p})
	}
	insert(t, r, list)
	return places
}

var (
	center = geo.Point{Lat: 48.86, Lon: 2.34}
	crowd  = geo.Point{Lat: 48.7, Lon: 2.35}
	block  = geo.InBox(geo.Point{Lat: 48.8, Lon: 2.3}, geo.Point{Lat: 48.9, Lon: 2.4})
	band   = geo.InPolygon(geo.Point{Lat: 48.8, Lon: 2.2}, geo.Point{Lat: 48.81, Lon: 2.2}, geo.Point{Lat: 48.96, Lon: 2.5}, geo.Point{Lat: 48.95, Lon: 2.5})
)

// A query reads few ranges, and of their records those that it finds, unless a range is full. Other bounds are a quarter
// above what was counted when the test was written.
func TestCosts(t *testing.T) {
	var c counter
	s := newStore(t, "memory", c.options())
	places := map[int]*geo.Places[shop]{5000: town(t, s, "dense", 5000), 250: town(t, s, "sparse", 250)}
	for _, tt := range []struct {
		of              int
		query           geo.Query
		found           int
		ranges, records int
	}{
		{5000, geo.Near(center, 1000).Limit(10), 10, 8, 12},
		{5000, geo.Near(center, 10_000).Limit(10), 10, 22, 130},
		{5000, geo.Near(center, geo.Farthest).Limit(10), 10, 61, 530},
		{5000, geo.Near(center, 100), 0, 8, 0},
		{5000, geo.Near(center, 1000), 10, 8, 10},
		{5000, geo.Near(center, 5000), 195, 4, 195},
		{5000, geo.Near(center, geo.Farthest), 5000, 160, 16000},
		{5000, geo.Near(crowd, 50).Limit(10), 10, 22, 100},
		{5000, geo.Near(geo.Point{Lat: 48.7024, Lon: 2.35}, 150), 0, 5, 0}, // beside the crowd
		{5000, block, 198, 5, 198},
		{5000, block.Limit(10), 10, 10, 25},
		{5000, band, 52, 9, 52},
		{250, geo.Near(center, 1000).Limit(10), 0, 8, 0},
		{250, geo.Near(center, geo.Farthest).Limit(10), 10, 51, 440},
		{250, geo.Near(center, geo.Farthest), 250, 1, 250},
		{250, block, 2, 5, 2},
		{250, band, 3, 9, 3},
	} {
		c = counter{}
		got, err := repo.Collect(places[tt.of].Find(t.Context(), tt.query.Where("kind", "bakery")))
		if err != nil || len(got) != tt.found || c.ranges > tt.ranges || c.records > tt.records || c.most > 16 {
			t.Errorf("%s of %d: %d found, %v, %d ranges, %d records, %d at once; want %d found, at most %d and %d",
				tt.query, tt.of, len(got), err, c.ranges, c.records, c.most, tt.found, tt.ranges, tt.records)
		}
	}
}

// The last page costs no more than an early one.
func TestCostsOfPages(t *testing.T) {
	var c counter
	places := town(t, newStore(t, "memory", c.options()), "dense", 5000)
	for _, q := range []geo.Query{geo.Near(center, 5000), block} {
		q = q.Where("kind", "bakery").Limit(20)
		for cursor, n := "", 0; n == 0 || cursor != ""; n++ {
			c.ranges, c.records = 0, 0
			page, err := places.Page(t.Context(), q, cursor)
			if cursor = page.Next; err != nil || c.ranges > 150 || c.records > 3500 {
				t.Fatalf("%s: page %d: %d ranges, %d records, %v", q, n, c.ranges, c.records, err)
			}
		}
	}
}
