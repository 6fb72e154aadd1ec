package geo

import (
	"math"
	"slices"
)

// A cell is a square of the grid: the spots whose codes have the same first 2*level bits. Level 0 is all of the grid,
// level 32 one spot.
type cell struct {
	code  uint64 // the first
	level uint8
}

const lastLevel = 32

func (c cell) last() uint64 { return c.code | (1<<(64-2*c.level) - 1) }

// parts returns the four cells of a cell, in the order of their codes.
func (c cell) parts() (list [4]cell) {
	for i := range list {
		list[i] = cell{c.code | uint64(i)<<(62-2*c.level), c.level + 1}
	}
	return list
}

// A rect is a rectangle of the grid, its edges included.
type rect struct{ west, south, east, north int64 }

// rect returns the part of a cell that is on the earth, or false.
func (c cell) rect() (rect, bool) {
	s, side := spotOf(c.code), int64(1)<<(lastLevel-c.level)
	r := rect{s.x, s.y, min(s.x+side, round) - 1, min(s.y+side-1, polar)}
	return r, r.west <= r.east && r.south <= r.north
}

func (r rect) has(s spot) bool {
	return r.west <= s.x && s.x <= r.east && r.south <= s.y && s.y <= r.north
}

// moved returns the rectangle some turns around the earth further east.
func (r rect) moved(turns int64) rect {
	return rect{r.west + turns*round, r.south, r.east + turns*round, r.north}
}

func (r rect) meets(other rect) bool {
	return r.west <= other.east && other.west <= r.east && r.south <= other.north && other.south <= r.north
}

// nearest returns the distance of a point to the nearest one of a rectangle, by numbers that are not exact.
func (p Point) nearest(r rect) float64 {
	sw, ne := spot{r.west, r.south}.point(), spot{r.east, r.north}.point()
	lon := 0.0
	if p.Lon < sw.Lon || p.Lon > ne.Lon {
		lon = min(turn(p.Lon-sw.Lon), turn(p.Lon-ne.Lon)) // at any latitude, the nearer meridian has the nearer point
	}
	least := min(haversine(p.Lat, sw.Lat, lon), haversine(p.Lat, ne.Lat, lon))
	// The meridian at this difference is nearest at the latitude of the foot of the perpendicular.
	foot := math.Atan2(math.Sin(radians(p.Lat)), math.Cos(radians(p.Lat))*math.Cos(radians(lon))) * (180 / math.Pi)
	if sw.Lat < foot && foot < ne.Lat {
		least = min(least, haversine(p.Lat, foot, lon))
	}
	return least
}

// turn returns the angle of two longitudes that differ, from 0 to 180.
func turn(lon float64) float64 {
	lon = math.Mod(math.Abs(lon), 360)
	return min(lon, 360-lon)
}

// mostCells is how many cells a region has at first.
const mostCells = 16

// cover returns at most 16 cells that have all spots of a region, the smallest ones that do.
func cover(r region) []cell {
	cells := []cell{{}}
	for cells[0].level < lastLevel {
		var next []cell
		for _, c := range cells {
			for _, part := range c.parts() {
				if _, _, ok := r.ranks(part); ok {
					next = append(next, part)
				}
			}
		}
		if len(next) > mostCells || len(next) == 0 {
			break
		}
		cells = next
	}
	return cells
}

// merged puts cells together where all parts of a cell are there, which are one range. The cells are in order.
func merged(cells []cell) []cell {
	for i := 0; i+4 <= len(cells); i++ {
		if cells[i].level == 0 {
			break
		}
		level := cells[i].level - 1
		whole := cell{cells[i].code &^ (1<<(64-2*level) - 1), level}
		if parts := whole.parts(); slices.Equal(cells[i:i+4], parts[:]) {
			return merged(slices.Replace(slices.Clone(cells), i, i+4, whole))
		}
	}
	return cells
}
