package live

import (
	"context"
	"fmt"
	"time"

	"github.com/polystore/polystore/repo"
)

// A fate is what becomes of the index while its filler sleeps.
type fate func(s *scene, sleeper *stop)

// people returns so many names.
func people(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("r%03d", i)
	}
	return ids
}

// fillerSleeps lets a filler of so many records stop when it comes to a place for the nth time.
func fillerSleeps(records int, at place, nth int, then fate) func(*scene) {
	return func(s *scene) {
		if !s.begin(people(records)) {
			return
		}
		w := stopOf(at, nth)
		if s.build("the first builder", w, repo.WithBuild()) == nil {
			return
		}
		s.declares()
		select {
		case <-w.asleep:
			then(s, w)
		case <-time.After(time.Minute):
			s.fault("the first builder does not sleep")
		}
	}
}

// notes lets a filler stop just before it reads in the catalog whether it still is the one, and what comes after.
func notes(then fate) func(*scene) {
	return func(s *scene) {
		if !s.begin(people(600)) {
			return
		}
		w := stopOf(toAsk, -1)
		if s.build("the first builder", w, repo.WithBuildRate(100)) == nil {
			return
		}
		s.declares()
		s.until("declared")
		s.until("written")
		time.Sleep(6 * time.Second) // it begins after half of that, and notes how far it is every five seconds
		w.after.Store(0)
		<-w.asleep
		then(s, w)
	}
}

// overtaken lets two programs build the index, of which the second finds it filled when it may begin. It builds another
// index then.
func overtaken(s *scene) {
	if !s.begin(people(10)) || s.build("the first builder", nil, repo.WithBuild()) == nil {
		return
	}
	s.declares()
	time.Sleep(2 * time.Second)
	if s.build("the second builder", nil, repo.WithBuild()) == nil {
		return
	}
	s.until("declared")
	s.until("written")
	s.until("ready")
	s.rests()
	other := repo.Index{Name: "y", Partition: []string{"kind"}, Sort: []string{"n"}}
	r, err := repo.Open[person](s.ctx, s.programs["the second builder"].store, schemaOf([]repo.Index{s.index, other}), repo.WithBuild())
	if !s.must("add another index", err) {
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	s.must("another index", r.Ready(ctx, other.Name))
}

// filled lets another program fill the index, and looks at it then.
func (s *scene) filled(name string) {
	r := s.build(name, nil, repo.WithBuild())
	if r != nil && s.must("the index of "+name, r.Ready(s.ctx, s.index.Name)) {
		s.tell()
		s.probe(readyMore)
	}
}

// takenOver has another program fill the index, and the first one goes on then.
func takenOver(s *scene, first *stop) {
	s.filled("the second builder")
	s.awake(first)
	s.rests()
}

// addedAgain has the index filled, dropped, and added again by others.
func addedAgain(s *scene, first *stop) {
	s.filled("the second builder")
	s.must("drop the index", <-s.drop("who drops", nil))
	s.filled("the third builder")
	s.awake(first)
	s.rests()
}

// halfAgain is addedAgain, but the third builder stops half-way, too, and for ever.
func halfAgain(s *scene, first *stop) {
	s.must("drop the index", <-s.drop("who drops", nil))
	w := stopOf(toSend, 10)
	if s.build("the second builder", w, repo.WithBuild()) == nil {
		return
	}
	<-w.asleep
	s.awake(first)
	s.until("ready")
	s.rests()
}

// takesBack lets a filler that has found two records with one value of a unique index stop before it takes the index
// back. Then others do so, and one of the records goes, and the index is added again.
func takesBack(s *scene) {
	if !s.begin(people(10)) {
		return
	}
	twin := s.person("twin", "a")
	twin.N = 1
	older := s.programs["older"].door
	s.must("insert", older.do(s.ctx, insert, []person{twin}))
	w := stopOf(toTell, 3) // behind two states and a note
	if s.build("the first builder", w, repo.WithBuild()) == nil {
		return
	}
	s.until("declared")
	s.until("written")
	<-w.asleep
	s.must("drop the index", <-s.drop("who drops", nil))
	s.must("delete", older.do(s.ctx, remove, []person{twin}))
	s.filled("the second builder")
	s.awake(w)
	s.rests()
}

// rests looks at the index, which is ready, some time later.
func (s *scene) rests() {
	time.Sleep(time.Second)
	s.tell()
	s.probe(readyMore)
	time.Sleep(20 * time.Second)
	s.tell()
	s.until("ready")
	s.probe(readyMore)
}

// dropStops lets a DropIndex stop when it comes to a place for the nth time, for ever or until the index was added again.
func dropStops(at place, nth int, dies bool) func(*scene) {
	return func(s *scene) {
		if !s.begin(people(10)) {
			return
		}
		s.filled("the builder")
		s.declares()
		w := newStop(at, nth)
		first := s.drop("who drops first", w)
		<-w.asleep
		s.probe(goneMore)
		if dies {
			w.dead.Store(true)
			s.awake(w)
			if err := <-first; err == nil {
				s.fault("a drop that stopped half-way has no error")
			}
		}
		s.must("drop the index", <-s.drop("who drops then", nil))
		s.probe(goneMore)
		s.filled("the next builder")
		if !dies {
			s.awake(w)
			if err := <-first; err != nil && !refusesWrite(err) {
				s.fault("a drop that others were faster with: %v", err)
			}
		}
		s.rests()
	}
}
