package geo_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/backends/pebble"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/geo"
)

type shop struct {
	Kind string    `repo:"kind"`
	ID   string    `repo:"id"`
	At   geo.Point `repo:"at"`
}

func at(s *shop) geo.Point { return s.At }

// shapes are the ways to declare the index, with the condition that queries have.
var shapes = map[string]struct {
	schema repo.Schema
	where  bool
}{
	"key":       {repo.Schema{Partition: []string{"kind"}, Sort: []string{"at", "id"}}, true},
	"partition": {repo.Schema{Partition: []string{"id"}, Indexes: []repo.Index{{Partition: []string{"kind"}, Sort: []string{"at"}}}}, true},
	"global":    {repo.Schema{Partition: []string{"id"}, Indexes: []repo.Index{{Sort: []string{"at"}, Buckets: 2, Covers: []string{"*"}}}}, false},
}

// stores are memory, Pebble, and memory that says of itself what other stores say.
var stores = []string{"memory", "pebble", "partition", "record"}

func newStore(t testing.TB, name string, opts *repo.Options) *repo.Store {
	t.Helper()
	partition, record := driver.ScopePartition, driver.ScopeRecord
	var s driver.Store
	var err error
	switch name {
	case "memory":
		s = memory.New(nil)
	case "pebble":
		s, err = pebble.Open(t.TempDir(), nil)
	case "partition": // as Cassandra and a cluster of Redis
		s = memory.New(&memory.Options{Scope: &partition, Uncertain: true})
	case "record": // as MongoDB, where the store keeps indexes
		s = memory.New(&memory.Options{Scope: &record, Uncertain: true, Native: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	store := repo.NewStore(s, opts)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func open(t testing.TB, store *repo.Store, shape, collection string) (*repo.Repo[shop], *geo.Places[shop]) {
	t.Helper()
	schema := shapes[shape].schema
	schema.Collection = collection
	r, err := repo.Open[shop](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	places, err := geo.Of(r, "at", at)
	if err != nil {
		t.Fatal(err)
	}
	return r, places
}

func insert(t testing.TB, r *repo.Repo[shop], list []shop) {
	t.Helper()
	if _, err := r.InsertAll(t.Context(), func(yield func(shop, error) bool) {
		for _, s := range list {
			if !yield(s, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// A world draws points, many of them where mistakes show.
type world struct {
	*rand.Rand
	kind int
}

func newWorld(seed uint64) world { return world{rand.New(rand.NewPCG(seed, 7)), int(seed % 6)} }

func (w world) between(a, b float64) float64 { return a + w.Float64()*(b-a) }

// stored returns a point as it is stored.
func stored(lat, lon float64) geo.Point {
	text, err := geo.Point{Lat: lat, Lon: lon}.MarshalText()
	if err != nil {
		panic(err)
	}
	var p geo.Point
	if err := p.UnmarshalText(text); err != nil {
		panic(err)
	}
	return p
}

func (w world) point() geo.Point {
	switch kind := w.kind; {
	case kind == 1: // at a pole
		return stored(90-math.Abs(w.NormFloat64()*3), w.between(-180, 180))
	case kind == 2:
		return stored(-90+math.Abs(w.NormFloat64()*3), w.between(-180, 180))
	case kind == 3: // at the date line
		lon := w.NormFloat64() * 2
		return stored(w.between(-60, 60), lon-math.Copysign(180, lon))
	case kind == 4: // few places
		return stored(float64(w.IntN(2)*2), float64(w.IntN(3)*90-180))
	case kind == 5: // in a town
		return stored(48.85+w.NormFloat64()*0.05, 2.35+w.NormFloat64()*0.05)
	case w.IntN(20) == 0: // corners
		return stored(float64(w.IntN(3)*90-90), float64(w.IntN(5)*90-180))
	}
	return stored(w.between(-90, 90), w.between(-180, 180))
}

func (w world) shops(n int) (list []shop) {
	for i := range n {
		list = append(list, shop{"bakery", fmt.Sprintf("s%03d", i), w.point()})
	}
	return list
}

// A question is a query with what it means.
type question struct {
	query geo.Query
	has   func(p geo.Point) bool
	rank  func(p geo.Point) float64
}

func (w world) question() question {
	switch w.IntN(3) {
	case 0:
		return w.near()
	case 1:
		return w.box()
	}
	return w.polygon()
}

func (w world) near() question {
	center, radius := w.point(), math.Exp(w.between(0, math.Log(geo.Farthest)))
	if w.IntN(4) == 0 {
		radius = geo.Farthest
	}
	far := func(p geo.Point) float64 { return center.Distance(p) }
	return question{geo.Near(center, radius), func(p geo.Point) bool { return far(p) <= radius }, far}
}

func level(geo.Point) float64 { return 0 }

func (w world) box() question {
	a, b := w.point(), w.point()
	sw, ne := geo.Point{Lat: min(a.Lat, b.Lat), Lon: a.Lon}, geo.Point{Lat: max(a.Lat, b.Lat), Lon: b.Lon}
	if w.IntN(5) == 0 {
		sw.Lon, ne.Lon = -180, 180
	}
	return question{geo.InBox(sw, ne), func(p geo.Point) bool {
		east := math.Mod(p.Lon-sw.Lon+720, 360) // of the west
		return sw.Lat <= p.Lat && p.Lat <= ne.Lat && (math.Abs(p.Lat) == 90 || ne.Lon-sw.Lon == 360 || east <= math.Mod(ne.Lon-sw.Lon+720, 360)+1e-9)
	}, level}
}

func (w world) polygon() question {
	var corners []geo.Point
	if around := w.IntN(3); around > 0 { // some place, perhaps a pole
		center, size, turn := w.point(), math.Exp(w.between(-3, 4)), []float64{1, -1}[w.IntN(2)]
		for i, n := 0, 3+w.IntN(6); i < n; i++ {
			angle, far := turn*2*math.Pi*(float64(i)+w.Float64())/float64(n), size*w.between(0.2, 1)
			lat, lon := center.Lat+far*math.Sin(angle), math.Mod(center.Lon+far*math.Cos(angle)+540, 360)-180
			corners = append(corners, geo.Point{Lat: max(-90, min(90, lat)), Lon: lon})
		}
		if around == 2 && math.Abs(center.Lat) > 80 {
			for i := range corners {
				corners[i] = geo.Point{Lat: math.Copysign(w.between(70, 89), center.Lat), Lon: math.Mod(turn*float64(i)*359/float64(len(corners))+540, 360) - 180}
			}
		}
	} else { // any, which may cross itself
		for range 3 + w.IntN(5) {
			corners = append(corners, w.point())
		}
	}
	return question{geo.InPolygon(corners...), func(p geo.Point) bool { return within(corners, p) }, level}
}

// within goes from a point along its meridian to the north pole. Unlike the package, it does not unroll the polygon.
func within(corners []geo.Point, p geo.Point) bool {
	odd, onEdge, winding := false, false, 0.0
	lowest, highest := 90.0, -90.0
	e7 := func(x float64) float64 { return math.Round(x*1e7) / 1e7 }
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		a, b = geo.Point{Lat: e7(a.Lat), Lon: e7(a.Lon)}, geo.Point{Lat: e7(b.Lat), Lon: e7(b.Lon)}
		step := math.Mod(b.Lon-a.Lon+540, 360) - 180
		if step == -180 {
			step = 180
		}
		winding += step
		lowest, highest = min(lowest, a.Lat), max(highest, a.Lat)
		from := math.Mod(a.Lon-p.Lon+540, 360) - 180
		to := from + step
		if min(from, to) <= 0 && 0 <= max(from, to) { // the edge meets the meridian
			low, high := min(a.Lat, b.Lat), max(a.Lat, b.Lat)
			if step != 0 {
				low = a.Lat - (b.Lat-a.Lat)*from/step
				high = low
			}
			onEdge = onEdge || low-1e-9 <= p.Lat && p.Lat <= high+1e-9
		}
		if (from > 0) != (to > 0) {
			odd = odd != (a.Lat+(b.Lat-a.Lat)*(-from/step) > p.Lat)
		}
	}
	if turns := math.Round(winding / 360); turns > 0 {
		odd, highest = odd != (math.Mod(turns, 2) == 1), 90
	} else if turns < 0 {
		lowest = -90
	}
	if math.Abs(p.Lat) == 90 {
		return lowest <= p.Lat && p.Lat <= highest
	}
	return odd || onEdge
}

// answer is what a question means, without an index.
func (q question) answer(list []shop) (found []shop) {
	for _, s := range list {
		if q.has(s.At) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, q.compare)
	return found
}

func (q question) compare(a, b shop) int {
	if c := q.rank(a.At) - q.rank(b.At); c != 0 {
		return int(math.Copysign(1, c))
	}
	if a, b := geo.Code(a.At), geo.Code(b.At); a != b {
		return map[bool]int{true: -1, false: 1}[a < b]
	}
	return strings.Compare(a.ID, b.ID)
}

func ids(list []shop) string {
	var out []string
	for _, s := range list {
		out = append(out, s.ID)
	}
	return strings.Join(out, " ")
}

// difference says where a query is not answered as it should be: all at once, its beginning, and in pages.
func difference(t testing.TB, p *geo.Places[shop], q geo.Query, want []shop, limit int) string {
	got, err := repo.Collect(p.Find(t.Context(), q))
	if err != nil || ids(got) != ids(want) {
		return fmt.Sprintf("%s: found %s, %v, want %s", q, ids(got), err, ids(want))
	}
	begin := want[:min(limit, len(want))]
	if got, err = repo.Collect(p.Find(t.Context(), q.Limit(limit))); err != nil || ids(got) != ids(begin) {
		return fmt.Sprintf("%s: the first %d are %s, %v, want %s", q, limit, ids(got), err, ids(begin))
	}
	got, limit = nil, max(limit, len(want)/8)
	for cursor := ""; ; {
		page, err := p.Page(t.Context(), q.Limit(limit), cursor)
		got = append(got, page.Items...)
		if err != nil || page.Items == nil || len(page.Items) != limit && page.Next != "" {
			return fmt.Sprintf("%s: a page of %d for %d, %v", q, len(page.Items), limit, err)
		}
		if cursor = page.Next; cursor == "" || len(got) > len(want) {
			break
		}
	}
	if ids(got) != ids(want) {
		return fmt.Sprintf("%s: pages of %d have %s, want %s", q, limit, ids(got), ids(want))
	}
	return ""
}

// Random questions are answered as without an index, in all shapes and on all stores.
func TestRandom(t *testing.T) {
	for store, seeds := range map[string]uint64{"memory": 12, "pebble": 6, "partition": 6, "record": 6} {
		for shape := range shapes {
			t.Run(store+"/"+shape, func(t *testing.T) {
				t.Parallel()
				s := newStore(t, store, nil)
				for seed := range seeds {
					w := newWorld(seed)
					list := w.shops(1 + w.IntN(200))
					r, places := open(t, s, shape, fmt.Sprint("shops_", seed))
					insert(t, r, append(list, shop{"bank", "x", w.point()})[:len(list)+map[bool]int{true: 1}[shapes[shape].where]])
					for range 12 {
						q := w.question()
						if shapes[shape].where {
							q.query = q.query.Where("kind", "bakery")
						}
						if bad := difference(t, places, q.query, q.answer(list), 1+w.IntN(40)); bad != "" {
							t.Fatalf("seed %d: %s", seed, bad)
						}
					}
				}
			})
		}
	}
}

// The comparison notices searches with mistakes.
func TestRandomNotices(t *testing.T) {
	for _, variant := range geo.Variants() {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, "memory", nil)
			for seed := range uint64(100) {
				w := newWorld(seed)
				list := w.shops(300)
				r, places := open(t, s, "global", fmt.Sprint("shops_", seed))
				insert(t, r, list)
				for range 12 {
					q := w.question()
					if bad := difference(t, places, q.query.Broken(variant), q.answer(list), 1+w.IntN(40)); bad != "" {
						t.Logf("noticed with seed %d", seed)
						return
					}
				}
			}
			t.Error("not noticed")
		})
	}
}

func isKind(t testing.TB, err, kind error) {
	t.Helper()
	if _, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, kind) {
		t.Errorf("got %v, want %v in a *repo.Error", err, kind)
	}
}
