package main

import "time"

// A Result is what exploring a scenario found.
type Result struct {
	states, depth int
	took          time.Duration
	fault         string  // "" is none
	run           []Event // the shortest that leads to the fault
	whole         bool    // no state is left out
}

// An origin is how a state was reached first.
type origin struct {
	parent int32
	edge   uint16
}

// explore visits all states that can be reached, breadth first, until one has a
// fault or there are more than most. It does the same every time.
func explore(sc *Scenario, mutant Mutant, most int) Result {
	begun := time.Now()
	m, start := sc.model(mutant)
	settle(&start)
	seen := newHashes()
	seen.add(raw(&start))
	from := []origin{{}} // of each state, in the order found; only one level of the states is kept
	level, res := []State{start}, Result{}
	for first := 0; len(level) > 0 && len(from) <= most; res.depth++ {
		var next []State
		for k := range level {
			s := &level[k]
			f := s.fault
			if f == faultNone {
				f = m.tidies(s)
			}
			if f != faultNone {
				res.fault, res.run = faultText[f], m.story(start, path(from, first+k))
				res.states, res.took = len(from), time.Since(begun)
				return res
			}
			following := m.successors(s)
			for e := range following {
				if seen.add(raw(&following[e])) {
					from = append(from, origin{int32(first + k), uint16(e)})
					next = append(next, following[e])
				}
			}
		}
		first += len(level)
		level = next
	}
	res.states, res.took, res.whole = len(from), time.Since(begun), len(level) == 0
	return res
}

// path returns the edges that lead to state at.
func path(from []origin, at int) []uint16 {
	var edges []uint16
	for ; at != 0; at = int(from[at].parent) {
		edges = append(edges, from[at].edge)
	}
	for i, j := 0, len(edges)-1; i < j; i, j = i+1, j-1 {
		edges[i], edges[j] = edges[j], edges[i]
	}
	return edges
}

// story follows edges from the start, and returns what happened.
func (m *Model) story(s State, edges []uint16) []Event {
	m.tracing = true
	defer func() { m.tracing = false }()
	var run []Event
	for _, e := range edges {
		s = m.successors(&s)[e]
		run = append(run, m.events[e])
	}
	return run
}
