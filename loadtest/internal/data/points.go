package data

import (
	"fmt"

	"github.com/polystore/polystore/loadtest/internal/value"
	"github.com/polystore/polystore/loadtest/internal/workload"
	"github.com/polystore/polystore/repo/geo"
)

// addPoints puts into a record the places of which the row has the latitude and the longitude. Part returns what the row
// has under a name, nil if that is nothing.
func (f *rowFile) addPoints(line int, source string, record map[string]any, part func(name string) (any, error)) (ok bool) {
	ok = true
	for _, p := range f.src.Points {
		text, err := pointOf(p, part)
		if err != nil {
			f.fault(line, 0, source, "%s: %v", p.Field, err)
			ok = false
		} else if text != "" {
			record[p.Field] = text
		}
	}
	return ok
}

// pointOf returns a place as it is stored, "" where the row has none.
func pointOf(p workload.PointOf, part func(name string) (any, error)) (string, error) {
	lat, err := part(p.Lat)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Lat, err)
	}
	lon, err := part(p.Lon)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Lon, err)
	}
	switch {
	case lat == nil && lon == nil:
		return "", nil
	case lat == nil || lon == nil:
		return "", fmt.Errorf("the row has one of %s and %s, and a place has both", value.Quote(p.Lat), value.Quote(p.Lon))
	}
	text, err := geo.Point{Lat: lat.(float64), Lon: lon.(float64)}.MarshalText()
	return string(text), err
}
