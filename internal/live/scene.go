package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A stage is how far the index is, in the order in which they come.
type stage int

// The stages. Those with More come when every program has been told of the state, the others just after it was told in
// the catalog, while the programs that run go by the state before.
const (
	before stage = iota
	declared
	declaredMore
	written
	writtenMore
	filling // half of the records have their rows
	ready
	readyMore
	leaving
	leavingMore
	gone
	goneMore
	removed // and its table, too
	declaredAgain
	writtenAgain
	fillingAgain
	readyAgain
	readyAgainMore
	nStages
)

var stageText = [...]string{"before", "declared", "declared+", "written", "written+", "filling", "ready", "ready+", "leaving", "leaving+",
	"gone", "gone+", "removed", "declared2", "written2", "filling2", "ready2", "ready2+"}

func (s stage) String() string { return stageText[s] }

// inCatalog reports whether a program that declares the index can be started.
func (s stage) inCatalog() bool { return s >= declared && s <= leavingMore || s >= declaredAgain }

func (s stage) isReady() bool {
	return s == ready || s == readyMore || s == readyAgain || s == readyAgainMore
}

// A way is in which way the rows of the index lie.
type way struct {
	name  string
	scope driver.Scope
	index repo.Index
	fills place // where else than before the commit a filler comes by for each record; "" is nowhere
}

var ways = []way{
	{"with the records", driver.ScopeStore, repo.Index{Name: "x", Partition: []string{"kind"}, Sort: []string{"-n"}}, ""},
	{"covering", driver.ScopeStore, repo.Index{Name: "x", Partition: []string{"kind"}, Sort: []string{"-n"}, Covers: []string{"*"}}, ""},
	{"unique", driver.ScopeStore, repo.Index{Name: "x", Partition: []string{"n"}, Unique: true}, hasRead},
	{"in the partition", driver.ScopePartition, repo.Index{Name: "x", Partition: []string{"home"}, Sort: []string{"-n"}}, ""},
	{"elsewhere", driver.ScopePartition, repo.Index{Name: "x", Partition: []string{"kind"}, Sort: []string{"-n"}}, toPut},
	{"unique elsewhere", driver.ScopePartition, repo.Index{Name: "x", Partition: []string{"n"}, Unique: true}, toPut},
}

// A scene is one run.
type scene struct {
	way
	ctx      context.Context
	base     *base
	faults   []string
	n        int64               // the last number that a record was given
	recent   []string            // those that were written last
	programs map[string]*program // those that run all the time: older, oldest and, once there is an index, newer
	newer    *repo.Repo[person]
	all      *repo.Repo[person] // that of older, by which all records are read
	wakes    []*stop            // to be woken in the end
	sleepers []*sleeper
	slept    int             // how many of them did
	spoilt   map[string]bool // records of which the index may be wrong
}

func (s *scene) fault(format string, args ...any) {
	if len(s.faults) < 20 {
		s.faults = append(s.faults, fmt.Sprintf(format, args...))
	}
}

// must is a fault unless err is nil.
func (s *scene) must(what string, err error) bool {
	if err != nil {
		s.fault("%s: %v", what, err)
	}
	return err == nil
}

// person returns a record with a number of its own.
func (s *scene) person(id, kind string) person {
	s.n++
	s.recent = append(s.recent, id)
	s.recent = s.recent[max(0, len(s.recent)-lately):]
	return person{Home: home, ID: id, Kind: kind, N: s.n}
}

// begin starts the programs that run all the time, and makes the records.
func (s *scene) begin(ids []string) bool {
	older, all, err := openOf(s.ctx, s.base, nil, setPerson, nil)
	if !s.must("open the older program", err) {
		return false
	}
	oldest, _, err := openOf(s.ctx, s.base, nil, setStranger, nil)
	if !s.must("open the oldest program", err) {
		return false
	}
	s.programs, s.all, s.spoilt = map[string]*program{"older": older, "oldest": oldest}, all, map[string]bool{}
	var list []person
	for _, id := range append(slices.Clone(probes), ids...) {
		list = append(list, s.person(id, "a"))
	}
	for _, id := range still {
		list = append(list, s.person(id, "still"))
	}
	return s.must("make the records", older.door.do(s.ctx, putAll, list)) &&
		s.must("make one without a kind", oldest.door.do(s.ctx, insert, []person{s.person("unkind", "")})) // which all are told beforehand
}

// end wakes whoever sleeps, and closes the stores.
func (s *scene) end() {
	for _, w := range s.wakes {
		w.dead.Store(true)
		s.awake(w)
	}
	for _, p := range s.programs {
		s.must("close", p.store.Close())
	}
}

func (s *scene) awake(w *stop) {
	select {
	case <-w.wake:
	default:
		close(w.wake)
	}
}

// build starts a program that adds the index and fills it. It stops where it is told to.
func (s *scene) build(name string, w *stop, how repo.OpenOption) *repo.Repo[person] {
	if w != nil {
		s.wakes = append(s.wakes, w)
	}
	p, r, err := openOf(s.ctx, s.base, w, setPerson, []repo.Index{s.index}, how)
	if !s.must("open "+name, err) {
		return nil
	}
	s.programs[name] = p
	return r
}

// declares starts the newer program, whose schema has the index.
func (s *scene) declares() {
	p, r, err := openOf(s.ctx, s.base, nil, setPerson, []repo.Index{s.index})
	if s.must("open the newer program", err) {
		s.programs["newer"], s.newer = p, r
	}
}

// drop removes the index, as a program of its own, and says when that has ended.
func (s *scene) drop(name string, w *stop) <-chan error {
	if w != nil {
		s.wakes = append(s.wakes, w)
	}
	store, done := repo.NewStore(&process{base: s.base, stop: w}, nil), make(chan error, 1)
	s.programs[name] = &program{store: store}
	go func() { done <- repo.DropIndex(s.ctx, store, collection, s.index.Name) }()
	return done
}

// state returns the state of the index in the catalog, "" if there is none.
func (s *scene) state() string {
	states, err := repo.IndexStates(s.ctx, s.programs["older"].store, collection)
	s.must("read the states", err)
	if len(states) == 0 {
		return ""
	}
	if why := states[0].Refused; why != "" {
		s.fault("the index was taken back: %s", why)
	}
	return states[0].State
}

// order is the states that an index comes through.
var order = []string{"declared", "written", "ready", "leaving", "gone"}

// until waits until an index that is in the state before comes into a state.
func (s *scene) until(state string) {
	time.Sleep(time.Millisecond) // by then each program has done what it does without waiting
	at := slices.Index(order, state)
	for range 6000 {
		switch now := slices.Index(order, s.state()); {
		case now == at:
			return
		case now > at && at > 0 || now < at-1 && at < 4:
			s.fault("state %s was left out: the index is %q", state, s.state())
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.fault("the index is %q after a minute, and not %q", s.state(), state)
}

// tell lets the programs that run all the time read the catalog now.
func (s *scene) tell() {
	for range 2 {
		for _, name := range []string{"older", "oldest", "newer"} {
			if p := s.programs[name]; p != nil {
				p.door.ping(s.ctx)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// refusesRead reports whether an error says that a read cannot be answered now.
func refusesRead(err error) bool {
	e, ok := errors.AsType[*repo.Error](err)
	return ok && (e.Retryable || errors.Is(err, repo.ErrNoIndex))
}
