package geo_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/geo"
)

// Distances are those of vectors in space, and some that are known.
func TestDistance(t *testing.T) {
	vector := func(p geo.Point) (x, y, z float64) {
		lat, lon := p.Lat*math.Pi/180, p.Lon*math.Pi/180
		return math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)
	}
	for seed := range uint64(600) {
		w := newWorld(seed)
		a, b := w.point(), w.point()
		ax, ay, az := vector(a)
		bx, by, bz := vector(b)
		cross := math.Hypot(math.Hypot(ay*bz-az*by, az*bx-ax*bz), ax*by-ay*bx)
		want := geo.EarthRadius * math.Atan2(cross, ax*bx+ay*by+az*bz)
		if got := a.Distance(b); math.Abs(got-want) > 0.2 || math.Abs(got-b.Distance(a)) > 0.2 || want < geo.Farthest-1000 && math.Abs(got-want) > 1e-5 {
			t.Errorf("%v to %v: %v, want %v", a, b, got, want)
		}
	}
	for _, tt := range []struct {
		a, b geo.Point
		want float64
	}{
		{geo.Point{Lat: 90}, geo.Point{Lat: -90, Lon: 77}, geo.Farthest},
		{geo.Point{Lat: 90, Lon: 5}, geo.Point{Lat: 90, Lon: -170}, 0},
		{geo.Point{Lon: 179.5}, geo.Point{Lon: -179.5}, geo.Farthest / 180},
		{geo.Point{Lon: -90}, geo.Point{Lon: 90}, geo.Farthest},
		{geo.Point{Lat: 89, Lon: 10}, geo.Point{Lat: 89, Lon: -170}, geo.Farthest / 90},
		{geo.Point{Lat: 36.12, Lon: -86.67}, geo.Point{Lat: 33.94, Lon: -118.4}, 2_886_448}, // Nashville to Los Angeles
	} {
		if got := tt.a.Distance(tt.b); math.Abs(got-tt.want) > 1 {
			t.Errorf("%v to %v: %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

// Seven decimals come back as they were; the texts are in the order of the codes, and neighbours have codes that differ
// little.
func TestTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		p := geo.Point{Lat: float64(rng.Int64N(1_800_000_001)-900_000_000) / 1e7, Lon: float64(rng.Int64N(3_600_000_000)-1_800_000_000) / 1e7}
		if got := stored(p.Lat, p.Lon); got != p && math.Abs(p.Lat) != 90 {
			t.Errorf("%v is stored as %v", p, got)
		}
		q := stored(rng.Float64()*180-90, rng.Float64()*360-180)
		a, _ := p.MarshalText()
		b, _ := q.MarshalText()
		if (string(a) < string(b)) != (geo.Code(p) < geo.Code(q)) {
			t.Errorf("%v has the text %s, and %v has %s", p, a, q, b)
		}
	}
	for _, tt := range []struct{ from, to geo.Point }{
		{geo.Point{Lat: 1.00000004, Lon: -1.00000006}, geo.Point{Lat: 1, Lon: -1.0000001}},
		{geo.Point{Lat: 10, Lon: 180}, geo.Point{Lat: 10, Lon: -180}},
		{geo.Point{Lat: 10, Lon: 179.99999999}, geo.Point{Lat: 10, Lon: -180}},
		{geo.Point{Lat: 90, Lon: 77}, geo.Point{Lat: 90}},
		{geo.Point{Lat: -90, Lon: -180}, geo.Point{Lat: -90}},
		{geo.Point{}, geo.Point{}},
	} {
		if got := stored(tt.from.Lat, tt.from.Lon); got != tt.to {
			t.Errorf("%v is stored as %v, want %v", tt.from, got, tt.to)
		}
	}
	for _, text := range []string{"", "0", "000000000000000g", "ffffffffffffffff", "+00000000000000", "C000000000000000", "0000000000000000", "00000000000000000"} {
		if err := new(geo.Point).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is a point", text)
		}
	}
}

func TestJSON(t *testing.T) {
	b, err := json.Marshal(shop{At: geo.Point{Lat: 1.5, Lon: -2}})
	if want := `{"Kind":"","ID":"","At":{"lat":1.5,"lon":-2}}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
	var s shop
	if err := json.Unmarshal(b, &s); err != nil || s.At != (geo.Point{Lat: 1.5, Lon: -2}) {
		t.Error(s, err)
	}
}

// bad are points that are none.
var bad = []geo.Point{
	{Lat: math.NaN()}, {Lon: math.NaN()}, {Lat: math.Inf(1)}, {Lon: math.Inf(-1)}, {Lat: 90.0001}, {Lat: -91}, {Lon: 180.0001}, {Lon: -181},
}

func TestBadPointsAreNotWritten(t *testing.T) {
	for shape := range shapes {
		r, _ := open(t, newStore(t, "memory", nil), shape, "shops")
		for _, p := range bad {
			isKind(t, r.Insert(t.Context(), &shop{"bakery", "x", p}), repo.ErrInvalid)
		}
	}
}
