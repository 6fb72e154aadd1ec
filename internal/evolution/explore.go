package main

import "slices"

// A Model is a scenario with a mutant.
type Model struct {
	*Scenario
	mutant Mutant
	out    []following
}

// A following is a state that comes after another, by a step of somebody.
type following struct {
	state State
	who   int
	what  string
}

func (m *Model) add(s *State, who int, what string, do func(*State)) {
	n := *s
	do(&n)
	n.judge(m)
	m.out = append(m.out, following{n, who, what})
}

func (m *Model) step(s *State) []following {
	m.out = m.out[:0]
	for i := range s.programs {
		m.programSteps(s, i)
	}
	m.changerSteps(s)
	m.sleeperSteps(s)
	return m.out
}

// A Result is what exploring found.
type Result struct {
	states int
	fault  string // "" is none
	run    []string
	whole  bool // no state is left out
	ended  bool // the changer came to its end in some run
}

type origin struct {
	parent int
	line   string
}

// explore visits all states, breadth first, until one has a fault or there are more than most.
func explore(sc *Scenario, mutant Mutant, most int) Result {
	m := &Model{Scenario: sc, mutant: mutant}
	start := sc.begin()
	seen, states, from := map[State]bool{start: true}, []State{start}, []origin{{}}
	var res Result
	for at := 0; at < len(states) && len(states) <= most; at++ {
		s := states[at]
		states[at] = State{} // it is needed no more
		if s.fault != "" {
			res.fault, res.run = s.fault, path(from, at)
			break
		}
		res.ended = res.ended || int(s.changer.at) >= len(sc.changes)
		for _, f := range m.step(&s) {
			if !seen[f.state] {
				seen[f.state] = true
				states = append(states, f.state)
				from = append(from, origin{at, sc.who(f.who) + " " + f.what})
			}
		}
		res.whole = at == len(states)-1
	}
	res.states = len(states)
	return res
}

// path returns what led to a state.
func path(from []origin, at int) (lines []string) {
	for ; at != 0; at = from[at].parent {
		lines = append(lines, from[at].line)
	}
	slices.Reverse(lines)
	return lines
}
