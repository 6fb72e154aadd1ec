package everystore

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/geo"
)

type place struct {
	ID int64     `repo:"id"`
	At geo.Point `repo:"at"`
}

// What is near a point, and in a box over the date line, is what a look at all places finds.
func TestGeo(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	var list []place
	for i := range 300 {
		list = append(list, place{int64(i), geo.Point{Lat: d.Float64()*20 - 10, Lon: 180 - d.Float64()*10}})
		if i%2 == 1 {
			list[i].At.Lon = d.Float64()*10 - 180
		}
	}
	for _, buckets := range []int{1, 2} { // with one the ranges are read together, where the store can
		run(t, func(t *testing.T, store *repo.Store) { nearOnStore(t, store, list, buckets) })
	}
}

func nearOnStore(t *testing.T, store *repo.Store, list []place, buckets int) {
	list = slices.Clone(list)
	r, err := repo.Open[place](t.Context(), store, repo.Schema{Collection: "places", Partition: []string{"id"},
		Indexes: []repo.Index{{Sort: []string{"at"}, Buckets: buckets}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if err := r.Insert(t.Context(), &list[i]); err != nil { // which rounds the point
			t.Fatal(err)
		}
	}
	places, err := geo.Of(r, "at", func(p *place) geo.Point { return p.At })
	if err != nil {
		t.Fatal(err)
	}
	center := geo.Point{Lat: 1, Lon: 179.5}
	near := slices.SortedFunc(slices.Values(list), func(a, b place) int {
		return cmp.Compare(center.Distance(a.At), center.Distance(b.At))
	})
	sameIDs(t, "near", places, geo.Near(center, 2_000_000).Limit(25), near[:25])
	box := slices.DeleteFunc(slices.Clone(list), func(p place) bool {
		return p.At.Lat < -5 || p.At.Lat > 5 || p.At.Lon > 0 && p.At.Lon < 178 || p.At.Lon < 0 && p.At.Lon > -175
	})
	sameIDs(t, "in the box", places, geo.InBox(geo.Point{Lat: -5, Lon: 178}, geo.Point{Lat: 5, Lon: -175}), box)
}

func sameIDs(t *testing.T, what string, places *geo.Places[place], q geo.Query, want []place) {
	t.Helper()
	got, err := repo.Collect(places.Find(t.Context(), q))
	ids := func(list []place) (ids []int64) {
		for _, p := range list {
			ids = append(ids, p.ID)
		}
		slices.Sort(ids)
		return ids
	}
	if err != nil || !slices.Equal(ids(got), ids(want)) || len(want) < 20 {
		t.Errorf("%s are %v, %v; want %v", what, ids(got), err, ids(want))
	}
}
