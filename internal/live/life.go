package live

import (
	"time"

	"github.com/polystore/polystore/repo"
)

// enter does what there is to do in a stage.
func (s *scene) enter(st stage) {
	for _, c := range s.sleepers {
		if c.to == st {
			s.goesOn(c)
		}
	}
	s.probe(st)
	for _, c := range s.sleepers {
		if c.from == st {
			s.begins(c)
		}
	}
	if s.newer != nil {
		s.asks(s.newer, st.String(), false)
	}
}

// states enters a stage that the catalog has just been told of, and the one in which all know it, unless that is the same.
func (s *scene) states(state string, st, more stage) {
	s.until(state)
	if st == declared {
		s.declares()
	}
	s.enter(st)
	time.Sleep(1400 * time.Millisecond)
	s.tell()
	if more != st {
		s.enter(more)
	}
	time.Sleep(700 * time.Millisecond)
	s.tell() // so that their view lasts for a while when the next state comes
}

// live takes the index through its states, and again.
func (s *scene) live() {
	var ids []string
	for _, c := range s.sleepers {
		if !c.makes() {
			ids = append(ids, c.ids()...)
		}
	}
	if !s.begin(ids) {
		return
	}
	s.enter(before)
	if !s.fills("the builder", len(ids)/2, []stage{declared, declaredMore, written, writtenMore, filling, ready, readyMore}) {
		return
	}
	dropped := s.drop("who drops", nil)
	s.states("leaving", leaving, leavingMore)
	s.states("gone", gone, goneMore)
	s.must("drop the index", <-dropped)
	s.enter(removed)
	s.fills("the next builder", len(ids)/2, []stage{declaredAgain, declaredAgain, writtenAgain, writtenAgain, fillingAgain, readyAgain, readyAgainMore})
}

// fills adds the index and fills it, and stops half-way for a while.
func (s *scene) fills(name string, half int, st []stage) bool {
	w := stopOf(toSend, half)
	if s.build(name, w, repo.WithBuild()) == nil {
		return false
	}
	s.states("declared", st[0], st[1])
	s.states("written", st[2], st[3])
	select {
	case <-w.asleep:
		s.enter(st[4])
	case <-time.After(10 * time.Second):
		s.fault("%s does not fill", name)
	}
	s.awake(w)
	s.states("ready", st[5], st[6])
	return true
}
