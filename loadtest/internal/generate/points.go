package generate

import "github.com/polystore/polystore/repo/geo"

// Points draws places between two latitudes and two longitudes, as they are stored.
type Points struct{ South, North, West, East float64 }

// Value returns a place as text.
func (g Points) Value(m *Making) any {
	p := geo.Point{Lat: g.South + m.Rand.Float64()*(g.North-g.South), Lon: g.West + m.Rand.Float64()*(g.East-g.West)}
	text, err := p.MarshalText()
	if err != nil {
		return nil // the bounds are those of the earth
	}
	return string(text)
}

// PointOf returns the place that a text stands for.
func PointOf(text any) (p geo.Point) {
	s, _ := text.(string)
	if p.UnmarshalText([]byte(s)) != nil {
		return geo.Point{} // it is none, and nothing made it so
	}
	return p
}
