package series

import (
	"fmt"
	"math"

	"github.com/polystore/polystore/repo"
)

var errTwin = fmt.Errorf("the series has a point at one of the times already, and its points are Unique: %w", repo.ErrExists)

// haveTwins reports whether two of some points have one time, or one of them and one of the others.
func haveTwins[P Point](points, others []P) bool {
	times := make(map[int64]bool, len(points))
	for _, p := range points {
		ms := p.Time().UnixMilli()
		if times[ms] {
			return true
		}
		times[ms] = true
	}
	for _, p := range others {
		if times[p.Time().UnixMilli()] {
			return true
		}
	}
	return false
}

// earliest returns the time of the first of some points, in milliseconds.
func earliest[P Point](points []P) int64 {
	ms := int64(math.MaxInt64)
	for _, p := range points {
		ms = min(ms, p.Time().UnixMilli())
	}
	return ms
}

// latest returns the time of the last of some points, in milliseconds.
func latest[P Point](points []P) int64 {
	ms := int64(math.MinInt64)
	for _, p := range points {
		ms = max(ms, p.Time().UnixMilli())
	}
	return ms
}
