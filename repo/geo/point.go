package geo

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// Distances are along great circles of a sphere, in metres.
const (
	// EarthRadius is the mean radius R1 = (2a + b) / 3 of the ellipsoid WGS 84: H. Moritz, Geodetic Reference System
	// 1980, Journal of Geodesy 74 (2000). On the ellipsoid itself distances differ by up to 0.6 %.
	EarthRadius = 6_371_008.8

	// Farthest is the distance between two points on opposite sides of the earth.
	Farthest = math.Pi * EarthRadius
)

// A Point is a place on the earth, in degrees: Lat from -90 to 90, Lon from -180 to 180. A field of this type is
// stored as a text that keeps neighbours together: 16 hexadecimal digits of the Z-order (Morton) code of both
// coordinates. So an index of the field finds what is near.
//
// A stored Point has 7 decimals, which are 1.1 cm at most. Longitude 180 is stored as -180, and the longitude of a
// pole as 0. A Point out of range, or with NaN, is ErrInvalid when it is written. For records without a place use a
// *Point: nil is absent.
type Point struct {
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

// The grid: coordinates in units of 1e-7 degrees, from the south pole northwards and from -180 eastwards.
const (
	unit  = 1e7
	polar = 90 * 2 * unit // the greatest y, and half of all x
	round = 360 * unit    // the number of x
)

// A spot is a point of the grid. Those of areas may lie further east or west than once around.
type spot struct{ x, y int64 }

func (p Point) String() string {
	return strconv.FormatFloat(p.Lat, 'f', -1, 64) + "," + strconv.FormatFloat(p.Lon, 'f', -1, 64)
}

// check reports coordinates that are none.
func (p Point) check() error {
	switch {
	case !(p.Lat >= -90 && p.Lat <= 90): // also NaN
		return driver.Errorf("latitude %s is not between -90 and 90: %w", driver.Private(fmt.Sprint(p.Lat)), repo.ErrInvalid)
	case !(p.Lon >= -180 && p.Lon <= 180):
		return driver.Errorf("longitude %s is not between -180 and 180: %w", driver.Private(fmt.Sprint(p.Lon)), repo.ErrInvalid)
	}
	return nil
}

// spot returns the spot of a point that was checked.
func (p Point) spot() spot {
	return spot{int64(math.Round(p.Lon*unit)) + round/2, int64(math.Round(p.Lat*unit)) + polar/2}
}

// normal returns the one spot that stands for a place.
func (s spot) normal() spot {
	switch {
	case s.y == 0 || s.y == polar:
		s.x = round / 2
	case s.x == round:
		s.x = 0
	}
	return s
}

func (s spot) point() Point {
	return Point{float64(s.y-polar/2) / unit, float64(s.x-round/2) / unit}
}

// code interleaves the bits of x and y, those of y first.
func (s spot) code() uint64 { return spread(uint64(s.x)) | spread(uint64(s.y))<<1 }

func spotOf(code uint64) spot { return spot{int64(gather(code)), int64(gather(code >> 1))} }

// spread moves bit i of the lower half to bit 2i.
func spread(v uint64) uint64 {
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	v = (v | v<<2) & 0x3333333333333333
	return (v | v<<1) & 0x5555555555555555
}

// gather moves bit 2i to bit i, and drops the others.
func gather(v uint64) uint64 {
	v &= 0x5555555555555555
	v = (v | v>>1) & 0x3333333333333333
	v = (v | v>>2) & 0x0f0f0f0f0f0f0f0f
	v = (v | v>>4) & 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	return (v | v>>16) & 0x00000000ffffffff
}

// textOf returns the text of a code, in the order of the codes.
func textOf(code uint64) string { return string(appendText(nil, code)) }

func appendText(text []byte, code uint64) []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8), code)
	return hex.AppendEncode(text, b)
}

// codeOf returns the code of a text, or false if it is none.
func codeOf(text []byte) (code uint64, ok bool) {
	var b [8]byte
	if len(text) != 2*len(b) || bytes.ContainsFunc(text, unicode.IsUpper) {
		return 0, false
	}
	_, err := hex.Decode(b[:], text)
	return binary.BigEndian.Uint64(b[:]), err == nil
}

// MarshalText returns the text under which a Point is stored.
func (p Point) MarshalText() ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return appendText(nil, p.spot().normal().code()), nil
}

// UnmarshalText reads the text under which a Point is stored. Any other text is ErrInvalid.
func (p *Point) UnmarshalText(text []byte) error {
	code, ok := codeOf(text)
	s := spotOf(code)
	if !ok || s.x > round || s.y > polar || s != s.normal() {
		return fmt.Errorf("the text is no point: %w", repo.ErrInvalid)
	}
	*p = s.point()
	return nil
}

type plain Point

// MarshalJSON returns {"lat": …, "lon": …}.
func (p Point) MarshalJSON() ([]byte, error) { return json.Marshal(plain(p)) }

// UnmarshalJSON reads {"lat": …, "lon": …}.
func (p *Point) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, (*plain)(p)) }

// Distance returns the distance to another point in metres, by the haversine formula.
func (p Point) Distance(other Point) float64 {
	return haversine(p.Lat, other.Lat, other.Lon-p.Lon)
}

// haversine returns the distance between two latitudes whose longitudes differ, all in degrees.
func haversine(lat1, lat2, lon float64) float64 {
	a, b := math.Sin(radians(lat2-lat1)/2), math.Sin(radians(lon)/2)
	h := a*a + math.Cos(radians(lat1))*math.Cos(radians(lat2))*b*b
	return 2 * EarthRadius * math.Asin(math.Sqrt(min(1, h)))
}

func radians(degrees float64) float64 { return degrees * (math.Pi / 180) }
