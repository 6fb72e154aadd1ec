package copies_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A stepped store counts its calls. It calls a hook before one of them, and from another one on it answers nothing: its
// program was killed. The call at which it was killed may have been done.
type stepped struct {
	driver.Store
	mu     sync.Mutex
	n      int
	hookAt int
	hook   func()
	killAt int
	isDone bool // what was under way when it was killed
}

var errKilled = fmt.Errorf("killed: %w", driver.ErrUnavailable)

// step begins a call, and reports whether it is not done, and whether it is not answered.
func (s *stepped) step() (lost, silent bool) {
	s.mu.Lock()
	s.n++
	n, hook := s.n, s.hook
	s.mu.Unlock()
	if n == s.hookAt {
		hook()
	}
	if s.killAt == 0 || n < s.killAt {
		return false, false
	}
	return n > s.killAt || !s.isDone, true
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

func acts() []act {
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
	return []act{
		{"put", name("c")},
		{"back", then(name("a"), follow)}, // to what the copies are, so nobody writes them
		{"update", func(ctx context.Context, p *program) error {
			_, err := p.people.Update(ctx, ann, func(a *person) error { a.Name += "u"; return nil })
			return err
		}},
		{"delete", then(func(ctx context.Context, p *program) error { return p.people.Delete(ctx, ann) }, follow)},
		{"follow", follow},
		{"write", func(ctx context.Context, p *program) error {
			return p.tasks.Put(ctx, &task{Team: "t", ID: "2", Owner: "ann"})
		}},
		{"rewrite", func(ctx context.Context, p *program) error {
			_, err := p.tasks.Update(ctx, p.key("1"), func(x *task) error { x.Done = true; return nil })
			return err
		}},
		{"remove", func(ctx context.Context, p *program) error { return p.tasks.Records().Delete(ctx, p.key("1")) }},
		{"turn", func(ctx context.Context, p *program) error {
			_, err := p.tasks.Update(ctx, p.key("3"), func(x *task) error { x.Owner = "ann"; return nil })
			return err
		}},
	}
}

// A meeting is two acts at once: the second is done before a call of the first, which may be killed at a later call.
type meeting struct {
	tasks          repo.Schema
	options        *memory.Options
	first, second  act
	hookAt, killAt int
	isDone         bool
}

// meet returns how many calls the first act made, 0 if it ended before the second one began.
func (m *meeting) meet(t *testing.T) int {
	t.Helper()
	backend := memory.New(m.options)
	s := &stepped{Store: backend}
	p, other := open(t, s, m.tasks, nil), open(t, backend, m.tasks, nil)
	defer other.store.Close()
	other.put(t, "ann", "a")
	other.put(t, "bob", "b")
	other.add(t, "1", "ann", "bob")
	other.add(t, "3", "bob")
	other.settled(t)
	g := other.store.Group()
	other.people.Records().In(g).Patch(ann, repo.Set("name", "b"))
	other.people.Changed(g, ann)
	must(t, g.Commit(t.Context())) // and is not followed
	met := false
	s.hookAt, s.killAt, s.isDone = s.n+m.hookAt, 0, m.isDone
	if m.killAt > 0 {
		s.killAt = s.n + m.killAt
	}
	s.hook = func() {
		met = true
		must(t, quiet(m.second.do(t.Context(), other)))
	}
	begun := s.n
	ctx, cancel := context.WithCancel(t.Context())
	err := quiet(m.first.do(ctx, p))
	cancel()
	if err != nil && m.killAt == 0 {
		t.Error(err)
	}
	n := s.n - begun
	other.settled(t)
	if t.Failed() {
		t.Fatalf("%s, before its call %d %s, killed at %d, then done: %t", m.first.name, m.hookAt, m.second.name, m.killAt, m.isDone)
	}
	if !met {
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
	scope := driver.ScopePartition
	for name, options := range map[string]*memory.Options{"memory": nil, "cluster": {Scope: &scope}} {
		for at, tasks := range map[string]repo.Schema{"near": near, "far": far} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				runs := 0
				for _, first := range acts() {
					for _, second := range acts() {
						runs += races(t, meeting{tasks: tasks, options: options, first: first, second: second})
					}
				}
				t.Logf("%d races", runs)
			})
		}
	}
}

// races does a race at each call, and kills the first act at each later one.
func races(t *testing.T, m meeting) (runs int) {
	t.Helper()
	for m.hookAt = 1; ; m.hookAt++ {
		m.killAt = 0
		calls := m.meet(t)
		if runs++; calls == 0 {
			return runs
		}
		for m.killAt = m.hookAt; m.killAt <= calls; m.killAt++ {
			for _, m.isDone = range []bool{false, true} {
				m.meet(t)
				runs++
			}
		}
	}
}
