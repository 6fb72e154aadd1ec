package geo

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/polystore/polystore/repo"
)

// A region is a set of points with an order: by rank, then by code.
type region interface {
	// rank returns the rank of a point that is in the region, or false.
	rank(s spot) (float64, bool)

	// least returns a lower bound of the ranks of the points of a cell, or false if none of them is in the region. It
	// may find points that are not there.
	least(c cell) (rank float64, ok bool)

	// greatest returns an upper bound of the ranks of the points of a cell that may have some.
	greatest(c cell) float64

	// bounds returns rectangles of the grid that have all points of the region.
	bounds() []rect
}

// A circle has ranks that are distances.
type circle struct {
	center Point
	radius float64
}

// slack is more than the error of a distance in metres, which is greatest on the other side of the earth.
const slack = 1

func (c circle) rank(s spot) (float64, bool) {
	d := c.center.Distance(s.point())
	return d, d <= c.radius
}

func (c circle) least(at cell) (rank float64, ok bool) {
	r, ok := at.rect()
	if !ok {
		return 0, false
	}
	rank = max(0, c.center.nearest(r)-slack)
	return rank, rank <= c.radius
}

func (c circle) greatest(at cell) float64 {
	r, _ := at.rect()
	opposite := Point{-c.center.Lat, c.center.Lon + 180}
	if opposite.Lon > 180 {
		opposite.Lon -= 360
	}
	return Farthest - opposite.nearest(r) + slack
}

func (c circle) bounds() []rect {
	at, angle := c.center.spot(), (c.radius+slack)/EarthRadius
	high, wide := int64(math.Ceil(angle*(180/math.Pi)*unit)), int64(round)
	if at.y-high > 0 && at.y+high < polar {
		wide = int64(math.Ceil(math.Asin(min(1, math.Sin(angle)/math.Cos(radians(c.center.Lat)))) * (180 / math.Pi) * unit))
	}
	return rect{at.x - wide, at.y - high, at.x + wide, at.y + high}.onEarth()
}

func newCircle(center Point, radius float64) (circle, error) {
	if err := center.check(); err != nil {
		return circle{}, fmt.Errorf("the center: %w", err)
	}
	if !(radius > 0 && radius <= Farthest) { // also NaN
		return circle{}, fmt.Errorf("a radius of %v m; use more than 0, and at most Farthest, which is %.0f: %w", radius, Farthest, repo.ErrInvalid)
	}
	return circle{center, radius}, nil
}

// poles are the spots that stand for the poles. They are in an area if the area reaches their latitude.
var poles = []spot{spot{0, 0}.normal(), spot{0, polar}.normal()}

// A box has no ranks. Its east is not west of its west.
type box rect

func (b box) rank(s spot) (float64, bool) {
	if s.y == 0 || s.y == polar {
		return 0, b.south <= s.y && s.y <= b.north
	}
	return 0, slices.ContainsFunc([]int64{s.x - round, s.x, s.x + round}, func(x int64) bool { return rect(b).has(spot{x, s.y}) })
}

func (b box) least(at cell) (rank float64, ok bool) {
	r, ok := at.rect()
	if !ok {
		return 0, false
	}
	for turns := int64(-1); turns <= 1; turns++ {
		if rect(b).meets(r.moved(turns)) {
			return 0, true
		}
	}
	return 0, hasPole(r, rect(b))
}

func (b box) greatest(cell) float64 { return 0 }

func (b box) bounds() []rect { return rect(b).onEarth() }

// hasPole reports whether a rectangle has a pole that an area within bounds has, too.
func hasPole(r, bounds rect) bool {
	return slices.ContainsFunc(poles, func(s spot) bool { return r.has(s) && bounds.south <= s.y && s.y <= bounds.north })
}

func newBox(southWest, northEast Point) (box, error) {
	for _, p := range []Point{southWest, northEast} {
		if err := p.check(); err != nil {
			return box{}, fmt.Errorf("a corner: %w", err)
		}
	}
	if southWest.Lat > northEast.Lat {
		return box{}, fmt.Errorf("the south of the box is north of its north: %w", repo.ErrInvalid)
	}
	sw, ne := southWest.spot(), northEast.spot()
	if southWest.Lon > northEast.Lon {
		ne.x += round
	}
	return box{sw.x, sw.y, ne.x, ne.y}, nil
}

// A polygon has no ranks. Its corners are a closed line; the last one is next to the first.
type polygon struct {
	corners []spot
	extent  rect
}

func newPolygon(points []Point) (polygon, error) {
	if len(points) < 3 {
		return polygon{}, fmt.Errorf("a polygon with %d corners; at least three are needed: %w", len(points), repo.ErrInvalid)
	}
	var p polygon
	for i, point := range append(slices.Clone(points), points[0]) {
		if err := point.check(); err != nil {
			return polygon{}, fmt.Errorf("corner %d: %w", i+1, err)
		}
		s := point.spot()
		if i > 0 {
			from := p.corners[i-1].x
			step := (s.x - from) % round // the shorter way
			if step > round/2 {
				step -= round
			} else if step <= -round/2 {
				step += round
			}
			s.x = from + step
		}
		p.corners = append(p.corners, s)
	}
	first, last := p.corners[0], p.corners[len(points)]
	switch {
	case last.x > first.x: // eastwards around the north pole
		p.corners = append(p.corners, spot{last.x, polar}, spot{first.x, polar})
	case last.x < first.x:
		p.corners = append(p.corners, spot{last.x, 0}, spot{first.x, 0})
	}
	p.extent = rect{math.MaxInt64, math.MaxInt64, math.MinInt64, math.MinInt64}
	for _, s := range p.corners {
		p.extent = rect{min(p.extent.west, s.x), min(p.extent.south, s.y), max(p.extent.east, s.x), max(p.extent.north, s.y)}
	}
	return p, nil
}

// turns returns how often a rectangle is moved around the earth to meet the bounds of the polygon.
func (p polygon) turns(r rect) (list []int64) {
	first, last := (p.extent.west-r.east)/round-1, (p.extent.east-r.west)/round+1
	for n := first; n <= last; n++ {
		if r.moved(n).meets(p.extent) {
			list = append(list, n)
		}
	}
	return list
}

func (p polygon) rank(s spot) (float64, bool) {
	if s.y == 0 || s.y == polar {
		return 0, p.extent.south <= s.y && s.y <= p.extent.north
	}
	odd := false
	for _, n := range p.turns(rect{s.x, s.y, s.x, s.y}) {
		inside, onEdge := p.inside(spot{s.x + n*round, s.y})
		if onEdge {
			return 0, true
		}
		odd = odd != inside
	}
	return 0, odd
}

// inside reports whether a line eastwards from s crosses an odd number of edges, and whether s is on an edge.
func (p polygon) inside(s spot) (odd, onEdge bool) {
	a := p.corners[len(p.corners)-1]
	for _, b := range p.corners {
		left := side(a, b, s)
		if left == 0 && min(a.x, b.x) <= s.x && s.x <= max(a.x, b.x) && min(a.y, b.y) <= s.y && s.y <= max(a.y, b.y) {
			return false, true
		}
		if (a.y > s.y) != (b.y > s.y) && (left > 0) == (b.y > a.y) {
			odd = !odd
		}
		a = b
	}
	return odd, false
}

// side is positive if s is left of the line from a to b, 0 on the line, and negative right of it.
func side(a, b, s spot) int {
	u, v, w, x := b.x-a.x, s.y-a.y, b.y-a.y, s.x-a.x
	if f := float64(u)*float64(v) - float64(w)*float64(x); math.Abs(f) > 1e6 { // more than its error
		return int(math.Copysign(1, f))
	}
	product := func(m, n int64) *big.Int { return new(big.Int).Mul(big.NewInt(m), big.NewInt(n)) }
	return product(u, v).Cmp(product(w, x))
}

func (p polygon) greatest(cell) float64 { return 0 }

func (p polygon) bounds() []rect { return p.extent.onEarth() }

func (p polygon) least(at cell) (rank float64, ok bool) {
	r, ok := at.rect()
	if !ok {
		return 0, false
	}
	for _, n := range p.turns(r) {
		a := p.corners[len(p.corners)-1]
		for _, b := range p.corners {
			if r.moved(n).isCrossed(a, b) {
				return 0, true
			}
			a = b
		}
	}
	// No edge is in the cell, so all of it is inside or outside.
	if r.south > 0 && r.north < polar {
		_, ok = p.rank(spot{r.west, r.south})
	} else {
		_, ok = p.rank(spot{r.west, (r.south + r.north) / 2})
	}
	return 0, ok || hasPole(r, p.extent)
}

// isCrossed reports whether a part of the line from a to b is in a rectangle, or nearly so.
func (r rect) isCrossed(a, b spot) bool {
	from, to := 0.0, 1.0
	clip := func(a, b, low, high float64) bool {
		if a == b {
			return low <= a && a <= high
		}
		s, t := (low-a)/(b-a), (high-a)/(b-a)
		from, to = max(from, min(s, t)), min(to, max(s, t))
		return from <= to
	}
	return clip(float64(a.x), float64(b.x), float64(r.west-1), float64(r.east+1)) &&
		clip(float64(a.y), float64(b.y), float64(r.south-1), float64(r.north+1))
}
