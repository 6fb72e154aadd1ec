package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/polystore/polystore/repo"
)

// A sleeper is a call that stops at a place in one stage, and goes on in a later one.
type sleeper struct {
	do       verb
	at       place
	by       string // which program
	from, to stage
	number   int

	stop  *stop
	ends  chan error
	since time.Time
}

func (c *sleeper) String() string {
	return fmt.Sprintf("%s.%s.%s.%s-%s", c.do, c.at, c.by, c.from, c.to)
}

// ids returns the records that it is about.
func (c *sleeper) ids() []string {
	name := c.String()
	if c.do == group || c.do == putAll || c.do == addAll {
		return []string{name + ".0", name + ".1", name + ".2"}
	}
	return []string{name}
}

// makes reports whether its records are not there before.
func (c *sleeper) makes() bool { return c.do == insert || c.do == addAll }

// depends reports whether what it sends depends on a record that was there when it was read.
func (c *sleeper) depends() bool { return !c.makes() && c.do != blind }

// isLate reports whether an index may lack what it sent.
func (c *sleeper) isLate() bool {
	return !c.depends() && (c.at == toSend || c.at == toPut) && time.Since(c.since) >= 2*time.Second
}

// kinds are the calls that sleep, and where.
var kinds = []struct {
	do verb
	at []place
}{
	{update, []place{toRead, hasRead, toPut, toSend}}, {put, []place{hasRead, toSend}}, {remove, []place{hasRead, toSend}},
	{patch, []place{hasRead, toSend}}, {group, []place{hasRead, toSend}}, {putAll, []place{hasRead, toSend}},
	{insert, []place{hasRead, toPut, toSend}}, {addAll, []place{toSend}}, {blind, []place{toSend}}, {readAll, []place{toRead, hasRead}},
}

// shares is among how many ways, one after the other, the sleepers are dealt out.
const shares = 5

// sleepersOf returns a share of the sleepers: those whose sending depends on nothing that they read, or the others.
func sleepersOf(late bool, share int) []*sleeper {
	var list []*sleeper
	n, of := 0, 0 // of all, and of those that are asked for
	for from := before; from < nStages; from++ {
		for to := from + 1; to < nStages; to++ {
			for _, kind := range kinds {
				for _, at := range kind.at {
					c := &sleeper{do: kind.do, at: at, from: from, to: to, number: n}
					if n++; (!c.depends() && (at == toSend || at == toPut)) != late {
						continue
					}
					if of++; of%shares != share%shares {
						continue
					}
					c.by = []string{"older", "oldest", "newer"}[of/shares%3]
					if c.do == readAll {
						c.by = "newer"
					} else if from == before && c.by == "newer" {
						c.by = "older"
					}
					if c.do == readAll && from != readyMore && from != leaving {
						continue // it asks nothing
					}
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// begins starts the call, and waits until it sleeps or has ended.
func (s *scene) begins(c *sleeper) {
	c.stop, c.ends, c.since = newStop(c.at, 0), make(chan error, 1), time.Now()
	s.wakes = append(s.wakes, c.stop)
	var list []person
	for _, id := range c.ids() {
		list = append(list, s.person(id, "b"))
	}
	ctx, p := context.WithValue(s.ctx, ofSleeper{}, c.stop), s.programs[c.by]
	go func() {
		if c.do == readAll {
			c.ends <- s.findsStill(ctx, c)
		} else {
			c.ends <- p.door.do(ctx, c.do, list)
		}
	}()
	select {
	case <-c.stop.asleep:
		s.slept++
	case err := <-c.ends: // it came to no such place
		c.ends <- err
	case <-time.After(time.Minute):
		s.fault("%s comes nowhere", c)
	}
}

// findsStill is a query of records that nobody writes.
func (s *scene) findsStill(ctx context.Context, c *sleeper) error {
	want, _, err := s.all.GetMany(s.ctx, []repo.Key{{home, still[0]}, {home, still[1]}, {home, still[2]}})
	if err != nil {
		return err
	}
	q := repo.Where("kind", "still").Order("n")
	switch s.index.Partition[0] {
	case "n":
		want = want[:1]
		q = repo.Where("n", want[0].N)
	case "home":
		q = repo.Where("home", home).Order("n")
	}
	got, err := repo.Collect(s.newer.Find(ctx, q))
	if err != nil {
		return err
	}
	got = slices.DeleteFunc(got, func(p person) bool { return !slices.Contains(still, p.ID) })
	same := func(p, q person) bool { return p.ID == q.ID && p.Kind == q.Kind && p.N == q.N } // a filling gives them other versions
	if !slices.EqualFunc(got, want, same) {
		return fmt.Errorf("%s finds %d of %d records", c, len(got), len(want))
	}
	return nil
}

// refusesWrite reports whether an error says that a write was not done, or had nothing to do.
func refusesWrite(err error) bool {
	return errors.Is(err, repo.ErrConflict) || errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrExists)
}

// goesOn wakes a sleeper, and waits for its end. Then an older program writes the record of every other one, too.
func (s *scene) goesOn(c *sleeper) {
	if c.stop == nil { // its stage was left out, which is a fault already
		return
	}
	if c.isLate() {
		for _, id := range c.ids() {
			s.spoilt[id] = true
		}
	}
	s.awake(c.stop)
	select {
	case err := <-c.ends:
		if err != nil && !refusesWrite(err) && !refusesRead(err) {
			s.fault("%s, when it goes on: %v", c, err)
		}
	case <-time.After(time.Minute):
		s.fault("%s does not end", c)
	}
	if c.do == readAll || c.number%2 == 0 {
		return
	}
	err := s.programs["older"].door.do(s.ctx, update, []person{s.person(c.ids()[0], "a")})
	if err != nil && !refusesWrite(err) {
		s.fault("%s, and a write behind it: %v", c, err)
	}
}
