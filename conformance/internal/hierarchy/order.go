package hierarchy

import (
	"fmt"
	"math"
	"slices"
)

// mostStates is how many states are looked at for the order of the calls of a history.
const mostStates = 500_000

// A search looks for an order of calls that explains their answers, after J. M. Wing and C. Gong, Testing and
// Verifying Concurrent Objects (1993), and does not look twice where it has been, after G. Lowe. A call of several
// steps may have others between them. A read that the state explains is taken at once: it is in no one's way.
type search struct {
	calls []*call
	seen  map[string]bool
}

// explains reports whether some order of calls explains their answers, and whether all orders were looked at if none
// does.
func explains(calls []*call, first state) (found, all bool) {
	told := func(c *call) bool {
		return c.status != nothing && (c.status != unknown || !c.isRead() && c.do != "outline")
	}
	s := &search{seen: map[string]bool{}}
	for _, c := range calls {
		if told(c) && (c.do != "child" || c.status == done) {
			s.calls = append(s.calls, c)
		}
	}
	slices.SortStableFunc(s.calls, func(a, b *call) int { return int(a.began - b.began) })
	found = s.from(first, make([]part, len(s.calls)))
	return found, found || len(s.seen) < mostStates
}

// from looks for the rest of an order, when calls have come so far.
func (s *search) from(is state, at []part) bool {
	until, taken := s.until(at), true
	for taken {
		taken = false
		for i, c := range s.calls {
			if at[i] == over || c.began > until {
				continue
			}
			if after, ok := c.read(is, at[i]); ok {
				is, at[i], taken = after, over, true
			}
		}
		until = s.until(at)
	}
	if until == math.MaxInt64 {
		return true
	}
	key := fmt.Sprint(is, string(at))
	if s.seen[key] || len(s.seen) >= mostStates {
		return false
	}
	s.seen[key] = true
	for i, c := range s.calls {
		if at[i] == over || c.began > until || c.isRead() {
			continue
		}
		for _, one := range c.steps(is, at[i]) {
			next := slices.Clone(at)
			if next[i] = one.part; s.from(one.to, next) {
				return true
			}
		}
	}
	return false
}

// until returns when the first of the calls that are not over was: those that began later come after it. It is the
// end of time if none is left that must come.
func (s *search) until(at []part) int64 {
	first := int64(math.MaxInt64)
	for i, c := range s.calls {
		if at[i] != over {
			first = min(first, c.end())
		}
	}
	return first
}
