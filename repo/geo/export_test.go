package geo

// A broken region says something else of cells.
type broken struct {
	region
	change func(r region, c cell) (least, greatest float64, ok bool)
}

func (b broken) least(c cell) (float64, bool) {
	least, _, ok := b.change(b.region, c)
	return least, ok
}

func (b broken) greatest(c cell) float64 {
	_, greatest, _ := b.change(b.region, c)
	return greatest
}

// ranks returns what a region says of a cell.
func ranks(r region, c cell) (least, greatest float64, ok bool) {
	least, ok = r.least(c)
	return least, r.greatest(c), ok
}

// variants are mistakes that a search could have.
var variants = map[string]func(r region, c cell) (least, greatest float64, ok bool){
	"without the cells beside that of the center": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		if at, is := r.(circle); is {
			part, _ := c.rect()
			return least, greatest, ok && part.has(at.center.spot().normal())
		}
		return least, greatest, ok
	},
	"without the other side of the date line, of circles": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		if at, is := r.(circle); is {
			part, _ := c.rect()
			sw, ne := spot{part.west, part.south}.point(), spot{part.east, part.north}.point()
			return least, greatest, ok && max(sw.Lon-at.center.Lon, at.center.Lon-ne.Lon) <= 180
		}
		return least, greatest, ok
	},
	"without the other side of the date line, of boxes": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		if b, is := r.(box); is {
			part, there := c.rect()
			return least, greatest, there && rect(b).meets(part)
		}
		return least, greatest, ok
	},
	"without the other side of the date line, of polygons": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		if p, is := r.(polygon); is {
			part, _ := c.rect()
			return least, greatest, ok && part.meets(p.extent)
		}
		return least, greatest, ok
	},
	"with the edges of polygons alone": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		if p, is := r.(polygon); is {
			part, _ := c.rect()
			crossed := false
			for i, b := range p.corners {
				a := p.corners[(i+len(p.corners)-1)%len(p.corners)]
				for turns := int64(-2); turns <= 2; turns++ {
					crossed = crossed || part.moved(turns).isCrossed(a, b)
				}
			}
			return least, greatest, ok && crossed
		}
		return least, greatest, ok
	},
	"without the other side of a pole": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		if at, is := r.(circle); is {
			part, _ := c.rect()
			middle := spot{(part.west + part.east) / 2, part.south}.point()
			return least, greatest, ok && (c.level < 3 || turn(middle.Lon-at.center.Lon) < 120)
		}
		return least, greatest, ok
	},
	"with least distances that are too great": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		return least * 1.1, greatest, ok
	},
	"with greatest distances that are too small": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		return least, max(least, greatest*0.7), ok
	},
	"with the corners of rectangles alone": func(r region, c cell) (float64, float64, bool) {
		least, greatest, ok := ranks(r, c)
		part, there := c.rect()
		if at, is := r.(circle); is && there {
			least = Farthest
			for _, s := range []spot{{part.west, part.south}, {part.west, part.north}, {part.east, part.south}, {part.east, part.north}} {
				least = min(least, at.center.Distance(s.point()))
			}
			return least, greatest, least <= at.radius
		}
		return least, greatest, ok
	},
}

// Variants returns the names of mistakes that Broken makes.
func Variants() (names []string) {
	for name := range variants {
		names = append(names, name)
	}
	return names
}

// Broken returns the query with a mistake.
func (q Query) Broken(variant string) Query {
	q.region = broken{q.region, variants[variant]}
	return q
}

// Code returns the code of a point.
func Code(p Point) uint64 { return p.spot().normal().code() }
