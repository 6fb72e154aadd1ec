package copies_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A stepped store counts its calls. It calls a hook before one of them, and from another one on, which is done, it
// answers nothing: its program was killed.
type stepped struct {
	driver.Store
	mu     sync.Mutex
	n      int
	hookAt int
	hook   func()
	killAt int
}

var errKilled = fmt.Errorf("killed: %w", driver.ErrUnavailable)

// step begins a call, and reports whether it is not done, and whether it is not answered.
func (s *stepped) step() (lost, silent bool) {
	s.mu.Lock()
	s.n++
	n, hook, hookAt, killAt := s.n, s.hook, s.hookAt, s.killAt
	s.mu.Unlock()
	if n == hookAt {
		hook()
	}
	if killAt == 0 || n < killAt {
		return false, false
	}
	return n > killAt, true
}

func (s *stepped) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if lost, silent := s.step(); lost || silent {
		return errKilled
	}
	return s.Store.Get(ctx, t, keys, mask, rows)
}

func (s *stepped) Range(ctx context.Context, span driver.Span) iter.Seq2[*driver.Row, error] {
	if lost, silent := s.step(); lost || silent {
		return func(yield func(*driver.Row, error) bool) { yield(nil, errKilled) }
	}
	return s.Store.Range(ctx, span)
}

func (s *stepped) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	lost, silent := s.step()
	if lost {
		return nil, errKilled
	}
	refusal, err := s.Store.Commit(ctx, token, ops)
	if silent {
		return nil, errKilled
	}
	return refusal, err
}

// An act is what a program does.
type act struct {
	name string
	do   func(ctx context.Context, p *program) error
}

// acts returns what is done first, and what is done meanwhile.
func acts() (first, meanwhile []act) {
	name := func(to string) func(context.Context, *program) error {
		return func(ctx context.Context, p *program) error {
			return p.people.Put(ctx, &person{Team: "t", ID: "ann", Name: to})
		}
	}
	follow := func(ctx context.Context, p *program) error {
		_, err := p.people.Follow(ctx)
		return err
	}
	then := func(first, second func(context.Context, *program) error) func(context.Context, *program) error {
		return func(ctx context.Context, p *program) error { return errors.Join(first(ctx, p), second(ctx, p)) }
	}
	put, write := act{"put", name("c")}, act{"write", func(ctx context.Context, p *program) error {
		return p.tasks.Put(ctx, &task{Team: "t", ID: "2", Owner: "ann"})
	}}
	return []act{put, write, {"follow", follow},
			{"update", func(ctx context.Context, p *program) error {
				_, err := p.people.Update(ctx, ann, func(a *person) error { a.Name += "u"; return nil })
				return err
			}},
			{"rewrite", func(ctx context.Context, p *program) error {
				_, err := p.tasks.Update(ctx, p.key("1"), func(x *task) error { x.Done = true; return nil })
				return err
			}},
			{"turn", func(ctx context.Context, p *program) error {
				_, err := p.tasks.Update(ctx, p.key("3"), func(x *task) error { x.Owner = "ann"; return nil })
				return err
			}},
		}, []act{put, write, {"follow", follow},
			{"back", then(name("a"), follow)}, // to what the copies are, so nobody writes them
			{"delete", then(func(ctx context.Context, p *program) error { return p.people.Delete(ctx, ann) }, follow)},
			{"remove", func(ctx context.Context, p *program) error { return p.tasks.Records().Delete(ctx, p.key("1")) }},
		}
}

// A meeting is two programs on one store. The second one acts before a call of the first one, which may be killed at a
// later call.
type meeting struct {
	steps         *stepped
	first, second *program
}

func meet(t *testing.T, backend driver.Store, tasks repo.Schema) *meeting {
	steps := &stepped{Store: backend}
	return &meeting{steps, open(t, steps, tasks, nil), open(t, backend, tasks, nil)}
}

// race returns how many calls the first act made, 0 if it ended before the second one began.
func (m *meeting) race(t *testing.T, first, second act, hookAt, killAt int) int {
	t.Helper()
	ctx, p, s := t.Context(), m.second, m.steps
	p.put(t, "ann", "a")
	p.put(t, "bob", "b")
	p.add(t, "1", "ann", "bob")
	p.add(t, "3", "bob")
	good(p.people.Follow(ctx))(t)
	g := p.store.Group()
	p.people.Records().In(g).Patch(ann, repo.Set("name", "b"))
	p.people.Changed(g, ann)
	must(t, g.Commit(ctx)) // and is not followed
	var met atomic.Bool    // a call of a cleaner in the background may be the one
	s.mu.Lock()
	begun := s.n
	s.hookAt, s.killAt = begun+hookAt, 0
	if killAt > 0 {
		s.killAt = begun + killAt
	}
	s.hook = func() {
		met.Store(true)
		must(t, quiet(second.do(ctx, p)))
	}
	s.mu.Unlock()
	err := quiet(first.do(ctx, m.first))
	if err != nil && killAt == 0 {
		t.Error(err)
	}
	s.mu.Lock()
	n := s.n - begun
	s.hookAt, s.killAt = 0, 0
	s.mu.Unlock()
	p.settled(t)
	if t.Failed() {
		t.Fatalf("%s, before its call %d %s, killed at %d", first.name, hookAt, second.name, killAt)
	}
	for _, id := range []string{"1", "2", "3"} {
		must(t, p.tasks.Records().Delete(ctx, p.key(id)))
	}
	if !met.Load() {
		return 0
	}
	return n
}

// quiet leaves out errors about records that others deleted or wrote.
func quiet(err error) error {
	if errors.Is(err, repo.ErrNotFound) || errors.Is(err, repo.ErrContention) {
		return nil
	}
	return err
}

// Two programs write and follow at once, one of them is killed: what differs is due, and nothing differs after all was
// followed.
func TestRaces(t *testing.T) {
	on(t, func(t *testing.T, backend driver.Store, tasks repo.Schema) {
		m, runs := meet(t, backend, tasks), 0
		first, meanwhile := acts()
		for _, a := range first {
			for _, b := range meanwhile {
				runs += m.races(t, a, b)
			}
		}
		t.Logf("%d races", runs)
	})
}

// races does a race at each call, and kills the first act then and one call later.
func (m *meeting) races(t *testing.T, first, second act) (runs int) {
	t.Helper()
	for hookAt := 1; ; hookAt++ {
		calls := m.race(t, first, second, hookAt, 0)
		if runs++; calls == 0 {
			return runs
		}
		for killAt := hookAt; killAt <= min(hookAt+1, calls); killAt++ {
			m.race(t, first, second, hookAt, killAt)
			runs++
		}
	}
}
