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

// An Explorer goes from state to state in one scenario.
type Explorer struct {
	model Model
	judge *Judge
	start State
}

func newExplorer(sc *Scenario, mutant Mutant) *Explorer {
	p, start := sc.begin(mutant)
	settle(&start)
	return &Explorer{Model{protocol: p, timeouts: sc.timeouts}, newJudge(p), start}
}

// successors returns the states that one step leads to, inspected and settled, in an
// order that depends on s alone. The slice is used again by the next call.
func (x *Explorer) successors(s *State) []State {
	out := x.model.step(s)
	for k := range out {
		x.judge.inspect(&out[k])
		settle(&out[k])
	}
	return out
}

// explore visits all states that can be reached, breadth first, until one has a
// fault or there are more than most. It does the same every time.
func explore(sc *Scenario, mutant Mutant, most int) Result {
	begun := time.Now()
	x := newExplorer(sc, mutant)
	seen := newHashes()
	seen.add(raw(&x.start))
	from := []origin{{}} // of each state, in the order found; only one level of the states is kept
	level, res := []State{x.start}, Result{}
	for first := 0; len(level) > 0 && len(from) <= most; res.depth++ {
		var next []State
		for k := range level {
			s := &level[k]
			f := s.fault
			if f == faultNone {
				f = x.judge.tidies(s)
			}
			if f != faultNone {
				res.fault, res.run = faultText[f], x.story(path(from, first+k))
				res.states, res.took = len(from), time.Since(begun)
				return res
			}
			following := x.successors(s)
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
func (x *Explorer) story(edges []uint16) []Event {
	x.model.tracing = true
	defer func() { x.model.tracing = false }()
	s := x.start
	var run []Event
	for _, e := range edges {
		s = x.successors(&s)[e]
		run = append(run, x.model.events[e])
	}
	return run
}
