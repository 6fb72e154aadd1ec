//go:build unix

package versions_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/internal/raw"
	"github.com/polystore/polystore/repo"
)

const (
	before  = 200                    // records that were there before
	usually = 150 * time.Millisecond // between two writes of a writer
	seldom  = 500 * time.Millisecond // the same in one cycle, where a write costs the server much
	stands  = 4 * time.Second        // how long a stopped program stands still, which is longer than the lease
	deaf    = 17 * time.Second       // how long a stopped filler does, after which others go on with its work
	rowsOld = 10 * time.Minute       // after which Maintain removes rows that no record has
)

// A roll is programs of several versions at work.
type roll struct {
	t          *testing.T
	url        string
	collection string
	store      *repo.Store
	source     func() (*raw.Source, error)
	kill       func() // kills the server and starts it again; nil if it may not be
	slow       bool   // see seldom
	apart      bool   // indexes lie in other partitions than their records, and commits do not
	keeps      bool   // the store can keep an index

	begun   time.Time
	cycle   int
	live    map[string]*process // that write
	settled *process            // which inserts nothing, and so may sleep while an index comes: see docs/design.md
	indexes []string            // that are ready
	garbage int

	controlled [][]string // the indexes with which the comparison was shown to notice wrong rows
}

func (r *roll) start(name string, v version) *process {
	r.t.Helper()
	name = fmt.Sprint(name, r.cycle)
	p := start(r.t, &order{URL: r.url, Collection: r.collection, Name: name, Version: v, Keeps: r.keeps, Settled: name == "settled0", Pause: r.pause()})
	r.live[name] = p
	return p
}

func (r *roll) pause() time.Duration {
	if r.slow && *lasts == 0 {
		return seldom
	}
	return usually
}

// ends lets a program end, or kills it.
func (r *roll) ends(p *process, kills bool) {
	r.t.Helper()
	delete(r.live, p.name)
	if kills {
		p.kill()
	} else {
		p.end()
	}
}

func (r *roll) isOver() bool { return time.Since(r.begun) >= *lasts }

// play lets programs write while indexes come and go: one is added, changed, which is that others are added and it is
// dropped, and taken back.
func (r *roll) play() {
	r.load()
	r.begun, r.live = time.Now(), map[string]*process{}
	old := r.start("older", older)
	r.settled = r.start("settled", older)
	for ; ; r.cycle++ {
		p := r.start("newer", newer)
		filler := r.fillerSuffers()
		r.ready("added", newer)
		if filler != nil {
			filler.end()
		}
		q := r.start("newest", newest)
		r.sleeps(r.dies)
		r.ready("changed", newest)
		r.ends(p, r.cycle%2 == 1)
		r.drops(newer)
		p = r.start("again", newer)
		r.sleeps(nil)
		r.ready("taken back", newer)
		r.ends(q, r.cycle%2 == 0)
		r.drops(newest)
		r.ends(p, false)
		if r.isOver() {
			break
		}
		r.drops(newer)
	}
	r.ends(old, false)
	r.ends(r.settled, false)
	r.ready("in the end", newer)
	r.lastly()
}

// load makes the collection as it was before.
func (r *roll) load() {
	c, err := repo.Open[login](r.t.Context(), r.store, schemaOf(r.collection, older, false))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range before {
		if err := c.Insert(r.t.Context(), &login{fmt.Sprint("o", i), fmt.Sprint("u", i%users), 0}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// fillerSuffers lets a filler be stopped for longer than the lease, or for so long that others go on, or be killed. A
// program of before stands still meanwhile. It returns the filler, if it lives.
func (r *roll) fillerSuffers() *process {
	filler := start(r.t, &order{URL: r.url, Collection: r.collection, Name: "filler", Version: newer, Fills: true})
	if r.cycle%2 == 1 {
		time.Sleep(time.Duration(r.cycle%7) * time.Second)
		filler.kill()
		r.sleeps(nil)
		return nil
	}
	time.Sleep(time.Duration(r.cycle%7) * time.Second)
	filler.signal(syscall.SIGSTOP)
	r.sleeps(nil)
	if r.cycle%4 == 2 {
		time.Sleep(deaf - stands)
	}
	filler.signal(syscall.SIGCONT)
	return filler
}

// sleeps lets the settled program stand still for longer than the lease, while something happens.
func (r *roll) sleeps(meanwhile func()) {
	r.settled.signal(syscall.SIGSTOP)
	if meanwhile != nil {
		meanwhile()
	}
	time.Sleep(stands)
	r.settled.signal(syscall.SIGCONT)
}

// dies kills the server and starts it again, in the first cycle, if it may be killed.
func (r *roll) dies() {
	if r.kill != nil && r.cycle == 0 {
		r.kill()
	}
}

// drops drops the indexes of a version at once, and sees that nothing of them is left.
func (r *roll) drops(v version) {
	r.t.Helper()
	names := indexesOf(v, r.keeps)
	r.indexes = slices.DeleteFunc(r.indexes, func(name string) bool { return slices.Contains(names, name) })
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			tries := 0
			err := insists(func() error { tries++; return repo.DropIndex(r.t.Context(), r.store, r.collection, name) })
			if err != nil && (tries == 1 || !errors.Is(err, repo.ErrNotFound)) {
				r.t.Errorf("drop %s: %v", name, err)
			}
		})
	}
	r.sleeps(func() {
		if v == newest {
			r.dies()
		}
	})
	all.Wait()
	r.compare(fmt.Sprint("dropped ", names))
}

// ready waits for the indexes of a version, and compares them with the records.
func (r *roll) ready(when string, v version) {
	r.t.Helper()
	names := indexesOf(v, r.keeps)
	err := insists(func() error {
		c, err := repo.Open[login](r.t.Context(), r.store, schemaOf(r.collection, v, r.keeps), repo.WithBuild())
		for _, name := range names {
			if err == nil {
				err = c.Ready(r.t.Context(), name)
			}
		}
		if err == nil {
			err = r.verify(c, when, names)
		}
		return err
	})
	if err != nil {
		r.t.Fatalf("%s: %v", when, err)
	}
	r.indexes = append(r.indexes, names...)
	slices.Sort(r.indexes)
	r.indexes = slices.Compact(r.indexes)
	r.compare(when)
}

// verify lets package repo compare indexes with the records while programs write.
func (r *roll) verify(c *repo.Repo[login], when string, names []string) error {
	reports, err := c.Verify(r.t.Context())
	clean := map[string]bool{}
	for _, rep := range reports {
		if clean[rep.Index] = rep.Clean() && rep.Records >= before; !clean[rep.Index] {
			r.t.Errorf("%s: verify: %+v", when, rep)
		}
	}
	for _, name := range names {
		if _, ok := clean[name]; !ok && err == nil {
			r.t.Errorf("%s: verify does not report on %s", when, name)
		}
	}
	return err
}

// compare lets the programs stand still, and compares what lies in the store.
func (r *roll) compare(when string) *comparison {
	r.t.Helper()
	r.signalAll(syscall.SIGSTOP)
	rows := r.rowsNow()
	r.signalAll(syscall.SIGCONT)
	c := compareRows(rows, r.indexes, r.apart)
	if len(r.indexes) > 0 && !slices.ContainsFunc(r.controlled, func(list []string) bool { return slices.Equal(list, r.indexes) }) {
		control(r.t, rows, r.indexes, r.apart)
		r.controlled = append(r.controlled, slices.Clone(r.indexes))
	}
	for _, fault := range c.faults {
		r.t.Errorf("%s, cycle %d, %s after the beginning: %s", when, r.cycle, time.Since(r.begun), fault)
	}
	if c.records < before {
		r.t.Errorf("%s: %d records, want %d or more", when, c.records, before)
	}
	r.garbage = max(r.garbage, c.garbage)
	return c
}

func (r *roll) signalAll(s syscall.Signal) {
	for p := range maps.Values(r.live) {
		p.signal(s)
	}
}

// lastly sees that Maintain removes the rows that no record has.
func (r *roll) lastly() {
	ctx := r.t.Context()
	store, err := backends.Open(ctx, r.url, &repo.Options{Now: func() time.Time { return time.Now().Add(rowsOld) }})
	if err != nil {
		r.t.Fatal(err)
	}
	defer store.Close()
	c, err := repo.Open[login](ctx, store, schemaOf(r.collection, newer, false))
	if err == nil {
		_, err = c.Maintain(ctx)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	if n := r.compare("after Maintain").garbage; n > 0 {
		r.t.Errorf("after Maintain %d rows are there that no record has", n)
	}
	r.t.Logf("%d cycles in %s; at most %d rows that no record had", r.cycle+1, time.Since(r.begun).Round(time.Second), r.garbage)
}

func isUnknown(err error) bool { return errors.Is(err, repo.ErrUnknownOutcome) }
