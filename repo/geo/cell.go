package geo

import (
	"cmp"
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

// onEarth returns the parts of a rectangle as they are stored: once around the earth, with the spots of the poles.
func (r rect) onEarth() []rect {
	r.south, r.north = max(r.south, 0), min(r.north, polar)
	var list []rect
	for _, s := range poles {
		if r.south <= s.y && s.y <= r.north {
			list = append(list, rect{s.x, s.y, s.x, s.y})
		}
	}
	if r.east-r.west >= round {
		return append(list, rect{0, r.south, round - 1, r.north})
	}
	width := r.east - r.west
	r.west = (r.west%round + round) % round
	if r.east = r.west + width; r.east >= round {
		list = append(list, rect{0, r.south, r.east - round, r.north})
		r.east = round - 1
	}
	return append(list, r)
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

// cover returns at most 16 cells that have all spots of a region: the smallest ones that have all of its bounds or, where
// the region fills these badly, those of a further level.
func cover(r region) []cell {
	cells := covering(r.bounds())
	cells = slices.DeleteFunc(cells, func(c cell) bool { _, ok := r.least(c); return !ok })
	for len(cells) > 0 && len(cells) <= mostCells/2 && cells[0].level < lastLevel {
		var next []cell
		for _, c := range cells {
			for _, part := range c.parts() {
				if _, ok := r.least(part); ok {
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

// covering returns at most 16 cells that have all spots of the earth in some rectangles, in their order, all of the
// deepest level at which they are so few.
func covering(rects []rect) []cell {
	for level := uint8(lastLevel); ; level-- {
		shift, n := lastLevel-level, 0.0
		for _, r := range rects {
			n += float64(r.east>>shift-r.west>>shift+1) * float64(r.north>>shift-r.south>>shift+1)
		}
		if n > mostCells && level > 0 {
			continue
		}
		var cells []cell
		for _, r := range rects {
			for x := r.west >> shift; x <= r.east>>shift; x++ {
				for y := r.south >> shift; y <= r.north>>shift; y++ {
					cells = append(cells, cell{spot{x << shift, y << shift}.code(), level})
				}
			}
		}
		slices.SortFunc(cells, func(a, b cell) int { return cmp.Compare(a.code, b.code) })
		return slices.Compact(cells)
	}
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
