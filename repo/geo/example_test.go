package geo_test

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/geo"
)

func Example() {
	type Museum struct {
		ID      string    `repo:"id"`
		Country string    `repo:"country"`
		At      geo.Point `repo:"at"`
	}
	ctx := context.Background()
	store := repo.NewStore(memory.New(nil), nil)
	museums, err := repo.Open[Museum](ctx, store, repo.Schema{
		Collection: "museums",
		Partition:  []string{"id"},
		Indexes: []repo.Index{
			{Partition: []string{"country"}, Sort: []string{"at"}}, // within a country
			{Sort: []string{"at"}, Buckets: 4},                     // anywhere
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range []Museum{
		{"Louvre", "fr", geo.Point{Lat: 48.861147, Lon: 2.338028}},
		{"Orsay", "fr", geo.Point{Lat: 48.859962, Lon: 2.326561}},
		{"British Museum", "uk", geo.Point{Lat: 51.519459, Lon: -0.126931}},
		{"Te Papa", "nz", geo.Point{Lat: -41.290512, Lon: 174.782085}},
		{"Chatham Islands Museum", "nz", geo.Point{Lat: -43.953506, Lon: -176.559357}},
	} {
		if err := museums.Insert(ctx, &m); err != nil {
			fmt.Println(err)
			return
		}
	}
	places, err := geo.Of(museums, "at", func(m *Museum) geo.Point { return m.At })
	if err != nil {
		fmt.Println(err)
		return
	}

	paris := geo.Point{Lat: 48.8583701, Lon: 2.2944813}
	for m, err := range places.Find(ctx, geo.Near(paris, 500_000).Limit(3)) {
		fmt.Printf("%s %.1f km %v\n", m.ID, paris.Distance(m.At)/1000, err)
	}
	all, err := repo.Collect(places.Find(ctx, geo.Near(paris, geo.Farthest).Where("country", "nz")))
	fmt.Println(len(all), all[0].ID, err)
	pacific, err := repo.Collect(places.Find(ctx, geo.InBox(geo.Point{Lat: -50, Lon: 170}, geo.Point{Lat: -30, Lon: -170})))
	fmt.Println(len(pacific), err)
	// Output:
	// Orsay 2.4 km <nil>
	// Louvre 3.2 km <nil>
	// British Museum 342.4 km <nil>
	// 2 Te Papa <nil>
	// 2 <nil>
}
