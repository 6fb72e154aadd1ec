package crash_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends"
	"github.com/polystore/polystore/repo"
)

// chorePaths are the chores as paths: what there is before each, and after it.
func chorePaths() []path {
	return []path{
		{name: "open", states: func(h string) []state { return []state{{}, stateOf(expired(h))} }},
		{name: "maintain", states: func(h string) []state {
			return []state{stateOf(expired(h), stays(h)), stateOf(stays(h))}
		}},
		{name: "rebuild", states: func(h string) []state { return []state{stateOf(expired(h), stays(h), deleted(h))} }},
		{name: "resolve", states: func(h string) []state { return []state{stateOf(expired(h))} }},
	}
}

// upkeep kills programs that do chores after every change that they make, and looks at what
// they leave and whether others can go on.
func (s *site) upkeep(t *testing.T) {
	s.made = map[string]string{}
	for _, p := range chorePaths() {
		s.made[p.name] = unique()
		if strings.HasPrefix(s.url, "pebble:") {
			continue // it goes with its directory
		}
		dropped(t, s.url, s.made[p.name])
	}
	checks := map[string]func(*point, *testing.T, *site){"open": (*point).opened, "maintain": (*point).maintained, "rebuild": (*point).rebuilt, "resolve": (*point).resolved}
	left := chorePaths()
	var all []*point
	for calls := 0; len(left) > 0; calls++ {
		if calls > mostCalls {
			t.Fatalf("%s makes more than %d changes", left[0].name, mostCalls)
		}
		points, err := s.kill(t.Context(), left, calls, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			checks[p.path.name](p, t, s.of(p.path.name))
			if p.over {
				left = slices.DeleteFunc(left, func(l path) bool { return l.name == p.path.name })
			}
		}
		all = append(all, points...)
	}
	s.lookAgain(t, all)
}

// lookAgain sees that what was mended is still so, that Maintain leaves nothing in the end,
// and that each chore died more than once.
func (s *site) lookAgain(t *testing.T, all []*point) {
	t.Helper()
	by := map[string][]*point{}
	for _, p := range all {
		by[p.path.name] = append(by[p.path.name], p)
	}
	for name, least := range map[string]int{"open": 6, "maintain": 2, "rebuild": 3, "resolve": 2} {
		t.Logf("%s died at %d places", name, len(by[name]))
		if len(by[name]) < least {
			t.Errorf("that is less than %d", least)
		}
		if name == "open" {
			continue // its collection is gone
		}
		own := s.of(name)
		own.maintain(t, 4*tombstonesAreOld) // by which those are old that a Maintain made by a clock ahead
		if rows, tombstones, fading := own.rubbish(t, by[name]); rows > 0 || tombstones > fading {
			t.Errorf("after the last Maintain of %s there are %d rows that no record has, and %d tombstones", name, rows, tombstones)
		}
	}
}

// found reads what is there by the store's own driver, and reports faults unless they may be.
func (p *point) found(t *testing.T, s *site, may func(fault string) bool) finding {
	t.Helper()
	f := s.lookAt(t, []*point{p})[p]
	for _, fault := range f.faults {
		if may == nil || !may(fault) {
			t.Errorf("%s: %s", p.home, fault)
		}
	}
	if p.done && !maps.Equal(f.state, p.last()) {
		t.Errorf("%s: all was done, and there is %v", p.home, f.state)
	}
	return f
}

// by calls do with a repository of a program that begins now, by a clock that is ahead.
func (p *point) by(t *testing.T, s *site, ahead time.Duration, do func(ctx context.Context, r *repo.Repo[member]) error) {
	t.Helper()
	store, r, err := s.open(t.Context(), ahead)
	if err != nil {
		t.Fatalf("%s: %v", p.home, err)
	}
	defer store.Close()
	if err := do(t.Context(), r); err != nil {
		t.Errorf("%s: %v", p.home, err)
	}
}

// maintained sees that whatever Maintain has left is right, that others can take what
// nobody has any more, and that the next Maintain ends it.
func (p *point) maintained(t *testing.T, s *site) {
	f := p.found(t, s, nil)
	if p.calls == 0 && (!maps.Equal(f.state, p.first()) || s.apart("teams") && f.garbage == 0 || s.facts.Uncertain && f.tombstones == 0) {
		t.Errorf("%s: Maintain has nothing to do: %+v", p.home, f)
	}
	p.by(t, s, 2*time.Hour, func(ctx context.Context, r *repo.Repo[member]) error {
		seen := f
		seen.state = f.state.only(func(m member) bool { return m != expired(p.home) })
		err := p.find(ctx, r, seen)
		if p.calls%2 == 1 {
			err = errors.Join(err, p.take(ctx, r, seen), p.find(ctx, r, seen))
		}
		return err
	})
	s.maintain(t, tombstonesAreOld)
	if f := p.found(t, s, nil); !maps.Equal(f.state, p.last()) {
		t.Errorf("%s: after the next Maintain there is %+v", p.home, f)
	}
}

// rebuilt sees that only the record that lacked rows lacks some, and that the next Rebuild
// mends it.
func (p *point) rebuilt(t *testing.T, s *site) {
	ofOne := func(fault string) bool { return !p.done && strings.HasPrefix(fault, "a of "+p.home+" has 0 rows") }
	if f := p.found(t, s, ofOne); p.calls == 0 && s.kind != "native" && len(f.faults) != len(indexNames) {
		t.Errorf("%s: Rebuild has nothing to do: %q", p.home, f.faults)
	}
	p.by(t, s, 0, func(ctx context.Context, r *repo.Repo[member]) error {
		for _, name := range indexNames {
			if s.kind == "native" { // Open has made what was dropped
				break
			}
			if err := r.Rebuild(ctx, name); err != nil {
				return err
			}
		}
		return p.find(ctx, r, finding{state: p.first()})
	})
	p.found(t, s, nil)
}

// resolved sees that the write is settled, and settled alike by the next who asks.
func (p *point) resolved(t *testing.T, s *site) {
	f := p.found(t, s, nil)
	p.by(t, s, 0, func(ctx context.Context, r *repo.Repo[member]) error {
		if len(p.outcomes) != 1 {
			return fmt.Errorf("%d outcomes to ask for", len(p.outcomes))
		}
		return errors.Join(p.resolve(ctx, s, house{Repo: r}, f), p.take(ctx, r, f), p.resolve(ctx, s, house{Repo: r}, f), p.find(ctx, r, f))
	})
}

// opened sees that the collection can be opened as it was declared; and in every other point
// before it was made that it can be dropped, and made with another key.
func (p *point) opened(t *testing.T, s *site) {
	store, err := backends.Open(t.Context(), s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if p.done || p.calls%2 == 1 {
		err = p.goesOn(t, s, store)
	} else if err = repo.DropCollection(t.Context(), store, s.collection); err == nil {
		err = s.other(t.Context(), store)
	}
	if err == nil {
		err = repo.DropCollection(t.Context(), store, s.collection)
	}
	if err != nil {
		t.Errorf("%s: %v", p.home, err)
	}
}

// goesOn opens the collection as it was to become.
func (p *point) goesOn(t *testing.T, s *site, store *repo.Store) error {
	r, err := repo.Open[resident](t.Context(), store, wider(s.collection, s.kind, store.Facts()), repo.WithBuild())
	if err != nil {
		return err
	}
	m := expired(p.home)
	one := resident{m.Home, m.ID, m.Team, m.Mail, m.Note, 5}
	if err := r.Insert(t.Context(), &one); p.done != errors.Is(err, repo.ErrExists) || !p.done && err != nil {
		return fmt.Errorf("insert of who is there %v: %w", p.done, err)
	}
	if err := r.Put(t.Context(), &one); err != nil {
		return err
	}
	reports, err := r.Verify(t.Context())
	for _, rep := range reports {
		if !rep.Clean() || rep.Records != 1 {
			err = errors.Join(err, fmt.Errorf("verify: %+v", rep))
		}
	}
	if !strings.HasPrefix(s.url, "pebble:") { // which nobody else can open just now
		if f := s.lookAt(t, []*point{p})[p]; len(f.faults) > 0 || !maps.Equal(f.state, p.last()) {
			err = errors.Join(err, fmt.Errorf("there is %v; %q", f.state, f.faults))
		}
	}
	return err
}

// other opens the collection with another key.
func (s *site) other(ctx context.Context, store *repo.Store) error {
	r, err := repo.Open[member](ctx, store, repo.Schema{Collection: s.collection, Partition: []string{"id"}, Sort: []string{"home"}})
	if err != nil {
		return err
	}
	m := stays("other")
	if err := r.Insert(ctx, &m); err != nil {
		return err
	}
	got, err := r.Get(ctx, repo.Key{"b", "other"})
	if err == nil && got != m {
		err = fmt.Errorf("with another key there is %v", got)
	}
	return err
}
