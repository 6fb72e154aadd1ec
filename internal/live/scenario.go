package live

import (
	"fmt"
	"testing"
	"testing/synctest"
)

// A Scenario is who stops where.
type Scenario struct {
	Name string
	way  way
	play func(*scene)
}

// Scenarios returns all of them.
func Scenarios() []Scenario {
	var list []Scenario
	for i, w := range ways {
		list = append(list,
			Scenario{Name: "life, " + w.name, way: w, play: life(i)},
			Scenario{Name: "late, " + w.name, way: w, play: late(i)},
			Scenario{Name: "expired records, " + w.name, way: w, play: besideExpired})
		for _, at := range []place{toSend, w.fills} {
			if at == "" {
				continue
			}
			list = append(list,
				Scenario{Name: fmt.Sprintf("filler taken over at %s, %s", at, w.name), way: w, play: fillerSleeps(40, at, 20, takenOver)},
				Scenario{Name: fmt.Sprintf("filler of before at %s, %s", at, w.name), way: w, play: fillerSleeps(40, at, 20, addedAgain)})
		}
		list = append(list, Scenario{Name: "two fillers, " + w.name, way: w, play: fillerSleeps(600, toSend, 500, halfAgain)})
		if i%3 == 0 {
			list = append(list, Scenario{Name: "two fillers at a note, " + w.name, way: w, play: notes(halfAgain)})
		}
	}
	for _, at := range []struct {
		place
		nth int
	}{{toTell, 0}, {toTell, 1}, {toDrop, 0}, {toTell, 2}} {
		for i, w := range ways {
			list = append(list, Scenario{Name: fmt.Sprintf("drop stops at %s %d, %s", at.place, at.nth, w.name), way: w, play: dropStops(at.place, at.nth, true)})
			if at != (struct {
				place
				nth int
			}{toTell, 0}) && i%2 == 0 { // which begins again, and drops what it finds
				list = append(list, Scenario{Name: fmt.Sprintf("drop sleeps at %s %d, %s", at.place, at.nth, w.name), way: w, play: dropStops(at.place, at.nth, false)})
			}
		}
	}
	return append(list,
		Scenario{Name: "another index of the name", way: ways[0], play: anotherOfTheName},
		Scenario{Name: "the index is taken back late", way: ways[2], play: takesBack},
		Scenario{Name: "filler overtaken before it begins", way: ways[0], play: overtaken})
}

// life has a share of the sleepers that depend on what they read.
func life(share int) func(*scene) {
	return func(s *scene) {
		s.sleepers = sleepersOf(false, share)
		s.live()
	}
}

// late has those of whose writes the index may lack rows. It must lack some, or nothing would be left out. Then Maintain
// adds them.
func late(share int) func(*scene) {
	return func(s *scene) {
		s.sleepers = sleepersOf(true, share)
		s.live()
		if s.newer == nil {
			return
		}
		if rep := s.verify(s.newer, "in the end"); rep.Missing == 0 && len(s.faults) == 0 {
			s.fault("in the end: no late write is missed, which shows that none was late")
		}
		s.mends()
	}
}

// Play makes the run, and returns how many calls slept in it, and what is wrong.
func (x Scenario) Play(t *testing.T) (slept int, faults []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &scene{way: x.way, ctx: t.Context(), base: newBase(x.way.scope)}
		x.play(s)
		s.end()
		slept, faults = s.slept, s.faults
	})
	return slept, faults
}
