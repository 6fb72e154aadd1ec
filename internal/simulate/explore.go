package simulate

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A Simulator makes runs. Wrap, if set, is put between the clients and the store, to
// see that what it spoils is found.
type Simulator struct {
	T    *testing.T
	Wrap func(driver.Store) driver.Store
	Pace func() // is called before every call of the store, if set: it may let other goroutines go first

	Runs    int
	Choices int // that were made in them
	Steps   int
	Seen    map[string]int // how often what happened to calls, and what clients were told
}

// A script makes given choices, and then what is likely.
type script struct {
	choices []int
	picks   []int // that were made
	widths  []int // among how many
}

func (s *script) pick(events []event) int {
	choice := 0
	if n := len(s.picks); n < len(s.choices) {
		choice = s.choices[n]
	}
	if choice >= len(events) {
		choice = 0
	}
	s.picks, s.widths = append(s.picks, choice), append(s.widths, len(events))
	return choice
}

// A dice makes choices at random; one in odds of them lets something go wrong.
type dice struct {
	random *rand.Rand
	odds   int
	picks  []int
}

func (d *dice) pick(events []event) int {
	likely := slices.IndexFunc(events, func(e event) bool { return e.fate.isFault() || e.fate == leap })
	choice := 0
	switch {
	case likely == 0 || likely > 0 && d.random.IntN(d.odds) == 0:
		choice = likely + d.random.IntN(len(events)-likely)
	case likely > 0:
		choice = d.random.IntN(likely)
	default:
		choice = d.random.IntN(len(events))
	}
	d.picks = append(d.picks, choice)
	return choice
}

// run makes one run of a scenario.
func (x *Simulator) run(s Scenario, choose chooser, tell bool) *world {
	w := newWorld(&s, tell)
	w.wrap, w.pace = x.Wrap, x.Pace
	synctest.Test(x.T, func(*testing.T) { w.play(choose) })
	x.Runs++
	x.Steps += w.story.step
	if x.Seen != nil {
		w.count(x.Seen)
	}
	return w
}

// count adds what happened in the run to seen.
func (w *world) count(seen map[string]int) {
	for f, n := range w.scheduler.fates {
		seen["fate: "+fate(f).String()] += n
	}
	for _, e := range w.history.entries {
		kinds := []error{repo.ErrExists, repo.ErrNotFound, repo.ErrConflict, repo.ErrUnknownOutcome, repo.ErrUnavailable}
		i := slices.IndexFunc(kinds, func(kind error) bool { return errors.Is(e.answer.err, kind) })
		switch {
		case e.crashed:
			seen["told: nothing"]++
		case i >= 0:
			seen["told: "+kinds[i].Error()]++
		case e.op.Do == resolve:
			seen["verdict: "+e.answer.verdict.String()]++
		case e.op.Do.writes():
			seen["told: done"]++
		case len(e.answer.found) > 0:
			seen["told: found"]++
		}
	}
}

// Follow makes the run of some choices, and returns what it breaks.
func (x *Simulator) Follow(s Scenario, choices []int) *Failure {
	w := x.run(s, &script{choices: choices}, true)
	return w.broken(choices)
}

func (w *world) broken(choices []int) *Failure {
	f := w.story.failure
	if f != nil {
		f.Scenario, f.Choices, f.Story = *w.scenario, choices, w.story.tale()
	}
	return f
}

// Exhaust makes the runs of all choices, depth first, limit at most. Complete says
// that there are no more.
func (x *Simulator) Exhaust(s Scenario, limit int) (complete bool, failure *Failure) {
	next := []int{}
	for range limit {
		script := &script{choices: next}
		w := x.run(s, script, false)
		x.Choices += len(script.picks)
		if w.story.failure != nil {
			return false, x.shrink(s, script.picks, w.story.failure)
		}
		if next = following(script); next == nil {
			return true, nil
		}
	}
	return false, nil
}

// following returns the choices that come next, nil after the last.
func following(s *script) []int {
	for i := len(s.picks) - 1; i >= 0; i-- {
		if s.picks[i]+1 < s.widths[i] {
			return append(slices.Clone(s.picks[:i]), s.picks[i]+1)
		}
	}
	return nil
}

// Random makes one run of a seed, and returns what it breaks.
func (x *Simulator) Random(seed uint64) *Failure {
	random := rand.New(rand.NewPCG(seed, 1))
	s := RandomScenario(random)
	return x.Roll(s, random)
}

// Roll makes one run of a scenario with choices at random.
func (x *Simulator) Roll(s Scenario, random *rand.Rand) *Failure {
	d := &dice{random: random, odds: 2 + random.IntN(10)}
	w := x.run(s, d, false)
	x.Choices += len(d.picks)
	if w.story.failure == nil {
		return nil
	}
	return x.shrink(s, d.picks, w.story.failure)
}

// shrink leaves out what a failure does not need, and tells it.
func (x *Simulator) shrink(s Scenario, picks []int, found *Failure) *Failure {
	fails := func(choices []int) bool {
		f := x.run(s, &script{choices: choices}, false).story.failure
		return f != nil && f.Promise == found.Promise
	}
	best := slices.Clone(picks)
	for again := true; again; {
		again = false
		for i := len(best) - 1; i >= 0; i-- {
			if best[i] == 0 {
				continue
			}
			less := slices.Clone(best)
			less[i] = 0
			cut := slices.Delete(slices.Clone(best), i, i+1)
			switch {
			case fails(less):
				best, again = less, true
			case fails(cut):
				best, again = cut, true
			}
		}
	}
	for len(best) > 0 && best[len(best)-1] == 0 {
		best = best[:len(best)-1]
	}
	f := x.Follow(s, best)
	if f == nil {
		found.Scenario, found.Choices = s, picks
		found.Story = "the run does not come out the same again\n"
		return found
	}
	return f
}

// Tell makes the run of some choices, and returns its story.
func (x *Simulator) Tell(s Scenario, choices []int) string {
	w := x.run(s, &script{choices: choices}, true)
	return w.story.tale()
}
