package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	pebbledb "github.com/cockroachdb/pebble/v2"
	goredis "github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	mongodriver "go.mongodb.org/mongo-driver/v2/mongo"
	mongooptions "go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/testserver"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/geo"
	"github.com/polystore/polystore/repotest"
)

// A city is a record that is found by where it is.
type city struct {
	World string    `repo:"world"`
	At    geo.Point `repo:"at"`
	ID    string    `repo:"id"`
	Name  string    `repo:"name"`
}

// citiesOfTheWorld makes so many cities, most of them in crowds, as cities are.
func citiesOfTheWorld(n int) (list []city) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var crowd geo.Point
	for i := range n {
		if i%50 == 0 {
			crowd = geo.Point{Lat: rnd.Float64()*130 - 60, Lon: rnd.Float64()*360 - 180}
		}
		at := geo.Point{Lat: crowd.Lat + rnd.NormFloat64()*1.5, Lon: crowd.Lon + rnd.NormFloat64()*1.5}
		at.Lon = math.Mod(at.Lon+540, 360) - 180
		list = append(list, city{"earth", at, fmt.Sprintf("c%06d", i), fmt.Sprintf("city %d", i)})
	}
	return list
}

const (
	worldCities = 135_000
	nearest     = 10
	within      = 100_000 // metres
)

// A nearby finds the IDs and names of the cities that are nearest to a point.
type nearby func(ctx context.Context, center geo.Point) ([]string, error)

// measureNear finds cities near some of them, by the library and by hand, by turns, and says how much dearer the one is.
func measureNear(b *testing.B, list []city, store *repo.Store, byHand nearby) {
	cities, err := repo.Open[city](b.Context(), store, repo.Schema{Collection: "cities", Partition: []string{"world"}, Sort: []string{"at", "id"}})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := cities.InsertAll(b.Context(), each(list)); err != nil {
		b.Fatal(err)
	}
	places, err := geo.Of(cities, "at", func(c *city) geo.Point { return c.At })
	if err != nil {
		b.Fatal(err)
	}
	var ours, theirs []time.Duration
	b.ResetTimer()
	for i := range b.N {
		center := list[i*7919%len(list)].At
		began := time.Now()
		var found []string
		for c, err := range places.Find(b.Context(), geo.Near(center, within).Where("world", "earth").Limit(nearest)) {
			if err != nil {
				b.Fatal(err)
			}
			found = append(found, c.ID+c.Name)
		}
		between := time.Now()
		hand, err := byHand(b.Context(), center)
		ours, theirs = append(ours, between.Sub(began)), append(theirs, time.Since(between))
		if err != nil || !slices.Equal(found, hand) {
			b.Fatalf("near %s: %v; by hand %v, %v", center, found, hand, err)
		}
	}
	var library, hand time.Duration
	for i := range ours {
		library, hand = library+ours[i], hand+theirs[i]
	}
	b.ReportMetric(float64(library.Nanoseconds())/float64(b.N), "near-ns/op")
	b.ReportMetric(float64(hand.Nanoseconds())/float64(b.N), "byhand-ns/op")
	b.ReportMetric(float64(library)/float64(hand), "ratio")
	slices.Sort(ours)
	slices.Sort(theirs)
	b.ReportMetric(float64(ours[b.N/2])/float64(theirs[b.N/2]), "ratio-of-medians") // which other programs disturb least
}

// BenchmarkNearOnPebble is beside ranges of a Z-order curve by hand.
func BenchmarkNearOnPebble(b *testing.B) {
	list := citiesOfTheWorld(worldCities)
	store, err := backends.Open(b.Context(), "pebble:"+b.TempDir()+"?sync=false", nil)
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	db, err := pebbledb.Open(b.TempDir(), floorOptions())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for part := range slices.Chunk(list, 1000) { // one batch of all would lie in memory in its own way
		batch := db.NewBatch()
		for _, c := range part {
			value := binary.BigEndian.AppendUint64(nil, math.Float64bits(c.At.Lat))
			value = binary.BigEndian.AppendUint64(value, math.Float64bits(c.At.Lon))
			batch.Set(append(zOf(c.At), c.ID...), append(value, c.Name...), nil)
		}
		if err := batch.Commit(pebbledb.NoSync); err != nil {
			b.Fatal(err)
		}
	}
	measureNear(b, list, store, func(_ context.Context, center geo.Point) ([]string, error) { return nearInZOrder(db, center) })
}

// zOf returns where a point lies on a Z-order curve of 32 bits a side.
func zOf(p geo.Point) []byte {
	x, y := uint64((p.Lon+180)/360*math.MaxUint32), uint64((p.Lat+90)/180*math.MaxUint32)
	var z uint64
	for i := range 32 {
		z |= x>>i&1<<(2*i) | y>>i&1<<(2*i+1)
	}
	return binary.BigEndian.AppendUint64(nil, z)
}

// nearInZOrder reads the cells of the curve around a point, at the level whose cells are as wide as the radius, and
// keeps the nearest.
func nearInZOrder(db *pebbledb.DB, center geo.Point) ([]string, error) {
	const metres = 111_195 // of a degree of latitude
	high := float64(within) / metres * 1.0001
	wide := high / math.Cos((math.Abs(center.Lat)+high)*math.Pi/180)
	level := 0
	for 360/math.Exp2(float64(level+1)) >= wide && 180/math.Exp2(float64(level+1)) >= high {
		level++
	}
	type near struct {
		distance float64
		text     string
	}
	var found []near
	cellWide, cellHigh := 360/math.Exp2(float64(level)), 180/math.Exp2(float64(level))
	seen := map[string]bool{}
	for dy := -1.0; dy <= 1; dy++ {
		for dx := -1.0; dx <= 1; dx++ {
			at := geo.Point{Lat: center.Lat + dy*cellHigh, Lon: math.Mod(center.Lon+dx*cellWide+540, 360) - 180}
			if at.Lat < -90 || at.Lat > 90 {
				continue
			}
			first := binary.BigEndian.Uint64(zOf(at)) &^ (1<<(64-2*level) - 1)
			low := binary.BigEndian.AppendUint64(nil, first)
			up := binary.BigEndian.AppendUint64(nil, first|(1<<(64-2*level)-1))
			if seen[string(low)] {
				continue
			}
			seen[string(low)] = true
			it, err := db.NewIter(&pebbledb.IterOptions{LowerBound: low, UpperBound: append(up, 0xff)})
			if err != nil {
				return nil, err
			}
			for ok := it.First(); ok; ok = it.Next() {
				v := it.Value()
				p := geo.Point{Lat: math.Float64frombits(binary.BigEndian.Uint64(v)), Lon: math.Float64frombits(binary.BigEndian.Uint64(v[8:]))}
				if d := center.Distance(p); d <= within {
					found = append(found, near{d, string(it.Key()[8:]) + string(v[16:])})
				}
			}
			if err := it.Close(); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Compare(a.distance, b.distance) })
	var list []string
	for _, n := range found[:min(nearest, len(found))] {
		list = append(list, n.text)
	}
	return list, nil
}

// BenchmarkNearOnRedis is beside GEOSEARCH, and a hash for each city.
func BenchmarkNearOnRedis(b *testing.B) {
	list := citiesOfTheWorld(worldCities)
	url := testserver.Shared(b, testserver.Redis).URL
	store := repo.NewStore(repotest.Isolated(b, url, backends.OpenDriver, nil), nil)
	opts, err := goredis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	client := goredis.NewClient(opts)
	defer client.Close()
	key := "near:" + fmt.Sprint(time.Now().UnixNano()) + ":"
	for part := range slices.Chunk(list, 1000) {
		pipe := client.Pipeline()
		for _, c := range part {
			pipe.GeoAdd(b.Context(), key+"geo", &goredis.GeoLocation{Name: c.ID, Longitude: c.At.Lon, Latitude: c.At.Lat})
			pipe.HSet(b.Context(), key+c.ID, "name", c.Name, "lat", c.At.Lat, "lon", c.At.Lon)
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	measureNear(b, list, store, func(ctx context.Context, center geo.Point) ([]string, error) {
		ids, err := client.GeoSearch(ctx, key+"geo", &goredis.GeoSearchQuery{Longitude: center.Lon, Latitude: center.Lat, Radius: within, RadiusUnit: "m", Sort: "ASC", Count: nearest}).Result()
		if err != nil {
			return nil, err
		}
		pipe := client.Pipeline()
		for _, id := range ids {
			pipe.HGetAll(ctx, key+id)
		}
		records, err := pipe.Exec(ctx)
		for i, r := range records {
			ids[i] += strings.Clone(r.(*goredis.MapStringStringCmd).Val()["name"])
		}
		return ids, err
	})
}

// BenchmarkNearOnMongo is beside $geoNear on an index 2dsphere.
func BenchmarkNearOnMongo(b *testing.B) {
	list := citiesOfTheWorld(worldCities)
	url := testserver.Shared(b, testserver.Mongo).URL
	store := repo.NewStore(repotest.Isolated(b, url, backends.OpenDriver, nil), nil)
	client, err := mongodriver.Connect(mongooptions.Client().ApplyURI(url))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Disconnect(context.Background())
	db := client.Database(fmt.Sprint("near", time.Now().UnixNano()))
	defer db.Drop(context.Background())
	cities := db.Collection("cities")
	if _, err := cities.Indexes().CreateOne(b.Context(), mongodriver.IndexModel{Keys: bson.D{{Key: "at", Value: "2dsphere"}}}); err != nil {
		b.Fatal(err)
	}
	for part := range slices.Chunk(list, 1000) {
		var docs []any
		for _, c := range part {
			docs = append(docs, bson.D{{Key: "_id", Value: c.ID}, {Key: "at", Value: geoJSON(c.At)}, {Key: "name", Value: c.Name}})
		}
		if _, err := cities.InsertMany(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
	}
	measureNear(b, list, store, func(ctx context.Context, center geo.Point) (ids []string, err error) {
		const radius = 6_378_100 / geo.EarthRadius // of the server's earth
		cursor, err := cities.Aggregate(ctx, mongodriver.Pipeline{
			{{Key: "$geoNear", Value: bson.D{{Key: "near", Value: geoJSON(center)}, {Key: "distanceField", Value: "distance"},
				{Key: "maxDistance", Value: within * radius}, {Key: "spherical", Value: true}}}},
			{{Key: "$limit", Value: nearest}},
		})
		if err != nil {
			return nil, err
		}
		var found []struct {
			ID   string `bson:"_id"`
			Name string `bson:"name"`
		}
		err = cursor.All(ctx, &found)
		for _, f := range found {
			ids = append(ids, f.ID+f.Name)
		}
		return ids, err
	})
}

func geoJSON(p geo.Point) bson.D {
	return bson.D{{Key: "type", Value: "Point"}, {Key: "coordinates", Value: bson.A{p.Lon, p.Lat}}}
}
