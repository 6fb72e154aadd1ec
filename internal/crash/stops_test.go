package crash_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A place is a store with a kit, on which programs are stopped.
type place struct {
	driver.Store
	name string
	torn bool
}

// newPlace returns a place with an empty kit.
func newPlace(ctx context.Context, s driver.Store, torn bool) (*place, error) {
	p := &place{s, unique(), torn}
	_, err := openKit(ctx, p.calm(), p.name, 0)
	return p, err
}

// calm returns the store for a program that goes on.
func (p *place) calm() *dying { return &dying{Store: p.Store, tables: map[string]*driver.Table{}} }

// open opens a kit for the program that comes after another one was stopped.
func (p *place) open(ctx context.Context) (*kit, error) {
	return openKit(ctx, p.calm(), p.name, rowsAreOld, repo.WithoutDefine())
}

// stop lets a program do something until it is about to make another change of the store than so many, and reports
// whether it ended before. A program that was stopped holds what it holds, and does no more.
func (p *place) stop(ctx context.Context, changes int, prepare, do func(k *kit) error) (over bool, err error) {
	stopped, ended := make(chan struct{}), make(chan error, 1)
	d := p.calm()
	d.chore, d.torn, d.left, d.stopped = true, p.torn, changes, stopped
	k, err := openKit(ctx, d, p.name, 0, repo.WithoutDefine())
	if err == nil {
		err = prepare(k)
	}
	if err != nil {
		return false, err
	}
	d.arm(true)
	go func() { ended <- do(k) }()
	select {
	case <-stopped:
		return false, nil
	case err := <-ended:
		return true, err
	}
}

// ends returns the states from before an act and from after it, as it is when nobody is stopped.
func (p *place) ends(ctx context.Context, a *act) (before, after string, err error) {
	k, err := p.open(ctx)
	if err == nil {
		err = a.prepare(ctx, k, a.name)
	}
	if err != nil {
		return "", "", err
	}
	before, _, early := a.state(ctx, k, a.name)
	err = errors.Join(early, a.do(ctx, k, a.name))
	if _, followed := k.owners.Follow(ctx); followed != nil {
		return "", "", followed
	}
	after, faults, late := a.state(ctx, k, a.name)
	if len(faults) > 0 || before == after {
		err = errors.Join(err, fmt.Errorf("%s leads from %s to %s, with %q", a.name, before, after, faults))
	}
	return before, after, errors.Join(err, late)
}

// stops stops an act at each of its changes, and says what the next program finds wrong, and how often it was stopped.
func (p *place) stops(ctx context.Context, a *act) (faults []string, n int, err error) {
	before, after, err := p.ends(ctx, a)
	for over := false; err == nil && !over; n++ {
		home := fmt.Sprintf("%s%d.", a.name, n)
		over, err = p.stop(ctx, n, func(k *kit) error { return a.prepare(ctx, k, home) }, func(k *kit) error { return a.do(ctx, k, home) })
		if err != nil {
			break
		}
		var list []string
		list, err = p.look(ctx, a, n, before, after, home, over)
		for _, text := range list {
			faults = append(faults, fmt.Sprintf("%s, stopped after %d changes: %s", a.name, n, text))
		}
	}
	return faults, n, err
}

// look goes on after an act was stopped, and says what is wrong. In two of three times a follower is stopped as well.
func (p *place) look(ctx context.Context, a *act, n int, before, after, home string, done bool) (faults []string, err error) {
	k, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	faults, err = k.upkeep(ctx, func() error {
		if n%3 == 2 {
			return nil
		}
		_, err := p.stop(ctx, n%3, func(*kit) error { return nil }, func(k *kit) error {
			_, err := k.owners.Follow(ctx)
			return err
		})
		return err
	})
	if err != nil {
		return faults, err
	}
	more, err := a.settled(ctx, k, home, before, after, done)
	return append(faults, more...), err
}

// settled says what is wrong with the home of an act that was stopped or done.
func (a *act) settled(ctx context.Context, k *kit, home, before, after string, done bool) (faults []string, err error) {
	state, faults, err := a.state(ctx, k, home)
	if err == nil && a.resumes && !done {
		done = true
		if err = a.do(ctx, k, home); err == nil {
			var more []string
			state, more, err = a.state(ctx, k, home)
			faults = append(faults, more...)
		}
	}
	if state != after && (done || state != before) {
		faults = append(faults, fmt.Sprintf("there is %s, from before is %s, and from after %s", state, before, after))
	}
	return faults, err
}

// Programs that use packages on the public API of repo are stopped after each change of the store: what the next one
// finds, after its upkeep, is from before or from after.
func TestStops(t *testing.T) {
	scope := driver.ScopePartition
	for name, open := range map[string]func() (driver.Store, error){
		"memory":    func() (driver.Store, error) { return memory.New(nil), nil },
		"partition": func() (driver.Store, error) { return memory.New(&memory.Options{Scope: &scope, Uncertain: true}), nil },
		"pebble":    func() (driver.Store, error) { return backends.OpenDriver(t.Context(), "pebble:"+t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			all := 0
			for _, a := range acts() {
				s, err := open()
				if err != nil {
					t.Fatal(err)
				}
				p, err := newPlace(t.Context(), s, false)
				if err != nil {
					t.Fatal(err)
				}
				faults, n, err := p.stops(t.Context(), &a)
				if all += n; err != nil || len(faults) > 0 || n < 2 {
					t.Errorf("%s, stopped %d times: %v\n%s", a.name, n, err, strings.Join(faults, "\n"))
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			t.Logf("%d stops", all)
		})
	}
}

// The control: programs whose commits are torn apart leave what is wrong, with each package.
func TestTornStops(t *testing.T) {
	found := map[string]int{}
	for _, a := range acts() {
		p, err := newPlace(t.Context(), memory.New(nil), true)
		if err != nil {
			t.Fatal(err)
		}
		faults, _, _ := p.stops(t.Context(), &a)
		found[a.of()] += len(faults)
	}
	for _, of := range packages {
		if found[of] == 0 {
			t.Errorf("nothing is wrong with what programs with package %s leave whose commits are torn apart", of)
		}
	}
	t.Logf("faults by package: %v", found)
}

// act makes what is there before an act, and does it.
func (o *order) act(ctx context.Context, s driver.Store, a *act, stopped chan<- struct{}) error {
	d := (&place{Store: s}).calm()
	d.chore, d.torn, d.left, d.stopped = true, o.Torn, o.Calls, stopped
	k, err := openKit(ctx, d, o.Collection, 0, repo.WithoutDefine())
	if err == nil {
		err = a.prepare(ctx, k, o.home(a.name))
	}
	if err != nil {
		return err
	}
	d.arm(true)
	if err := a.do(ctx, k, o.home(a.name)); err != nil {
		return err
	}
	return say(o.home(a.name), "done")
}
