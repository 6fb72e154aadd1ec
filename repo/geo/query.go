package geo

import (
	"fmt"

	"github.com/polystore/polystore/repo"
)

// A Query says which records are wanted: make one with [Near], [InBox] or [InPolygon]. A Query is a value: its methods
// return changed copies, and many goroutines may use one Query.
type Query struct {
	region region
	where  repo.Query
	limit  int
	text   string
	err    error
}

func newQuery[R region](r R, err error, format string, args ...any) Query {
	return Query{region: r, where: repo.All(), text: fmt.Sprintf(format, args...), err: err}
}

// Near asks for the records at most radius metres from a point, the nearest first. Records at the same distance come
// in the order of their codes, and those at the same point in the order of their keys. The radius is above 0 and at
// most [Farthest]. A great radius with a limit costs little where there are many records.
func Near(center Point, radius float64) Query {
	c, err := newCircle(center, radius)
	return newQuery(c, err, "at most %v m from %v", radius, center)
}

// InBox asks for the records between two latitudes and two longitudes, these included, in the order of their codes. A
// box whose west is greater than its east crosses the date line. A box that reaches a pole has the pole.
func InBox(southWest, northEast Point) Query {
	b, err := newBox(southWest, northEast)
	return newQuery(b, err, "from %v to %v", southWest, northEast)
}

// InPolygon asks for the records in a polygon, its edges included, in the order of their codes. The corners come in
// either direction, and the last one is next to the first. An edge is a straight line of degrees, as in GeoJSON, and
// no great circle. It goes the shorter way around the earth, eastwards if both ways are the same. A polygon that
// crosses itself has the points from which a line to the outside crosses an odd number of edges.
//
// A polygon all the way around a pole has its corners counterclockwise, seen from above the pole: eastwards around the
// north pole, and westwards around the south pole. A polygon that reaches the latitude of a pole has the pole.
func InPolygon(corners ...Point) Query {
	p, err := newPolygon(corners)
	return newQuery(p, err, "in %v", corners)
}

// Where adds a condition on another field, which the index has before the place: see [repo.Query.Where].
func (q Query) Where(field string, value any) Query {
	q.where = q.where.Where(field, value)
	return q
}

// Limit bounds the number of records; 0 is no bound. Limit replaces the limit of an earlier call.
func (q Query) Limit(n int) Query {
	q.limit = n
	return q
}

// String returns the query for people.
func (q Query) String() string {
	return fmt.Sprintf("%s where %v", q.text, q.where)
}

func (q Query) check() error {
	switch {
	case q.region == nil:
		return fmt.Errorf("the query is empty: make one with Near, InBox or InPolygon: %w", repo.ErrInvalid)
	case q.limit < 0:
		return fmt.Errorf("the limit %d is negative: %w", q.limit, repo.ErrInvalid)
	}
	return q.err
}
