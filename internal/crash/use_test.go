package crash_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

const atOnce = 8 // points that are looked at

// use sees what readers see after a crash, what became of each write, and that others can
// go on: those who want what a writer has left behind before anybody asked what became of
// the write, at every other point, and after that.
func (s *site) use(t *testing.T, points []*point, findings map[*point]finding) {
	t.Helper()
	store, r, err := s.openHouse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	room := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, p := range points {
		f := findings[p]
		find := func(ctx context.Context) error { return errors.Join(p.find(ctx, r.Repo, f), p.badged(ctx, r, f)) }
		resolve := func(ctx context.Context) error { return p.resolve(ctx, s, r, f) }
		take := func(ctx context.Context) error { return p.take(ctx, r.Repo, f) }
		checks := []func(context.Context) error{find, resolve, take, find}
		if p.calls%2 == 1 {
			checks[1], checks[2] = checks[2], checks[1]
		}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			for _, check := range checks {
				if err := check(t.Context()); err != nil {
					t.Errorf("%s: %v", p.home, err)
				}
			}
		})
	}
	all.Wait()
	s.verify(t, r.Repo)
}

func (s *site) verify(t *testing.T, r *repo.Repo[member]) {
	t.Helper()
	reports, err := r.Verify(t.Context())
	if err != nil || len(reports) != 3 {
		t.Fatalf("verify: %d reports, %v", len(reports), err)
	}
	for _, rep := range reports {
		if !rep.Clean() {
			t.Errorf("index %s: %d rows missing, %d stale: %q", rep.Index, rep.Missing, rep.Stale, rep.Samples)
		}
	}
}

// find sees that every reader sees the state that lies in the store, and no more.
func (p *point) find(ctx context.Context, r *repo.Repo[member], f finding) error {
	for home := range p.path.values(p.home, func(m member) string { return m.Home }) {
		for team := range p.path.values(p.home, func(m member) string { return m.Team }) {
			want := f.state.only(func(m member) bool { return m.Team == team && m.Home == home })
			got, err := repo.Collect(r.Find(ctx, repo.Where("home", home).Where("team", team)))
			if err != nil || !maps.Equal(stateOf(got...), want) || len(got) != len(want) {
				return fmt.Errorf("those of %s in %s: %v, %v", team, home, got, err)
			}
			want = f.state.only(func(m member) bool { return m.Team == team })
			got, err = repo.Collect(r.Find(ctx, repo.Where("team", team)))
			if err != nil || !maps.Equal(stateOf(got...), want) || len(got) != len(want) {
				return fmt.Errorf("those of %s: %v, %v", team, got, err)
			}
		}
		want := f.state.only(func(m member) bool { return m.Home == home })
		got, err := repo.Collect(r.Find(ctx, repo.Where("home", home)))
		if err != nil || !maps.Equal(stateOf(got...), want) {
			return fmt.Errorf("those in %s: %v, %v", home, got, err)
		}
	}
	for mail := range p.path.values(p.home, func(m member) string { return m.Mail }) {
		want := f.state.only(func(m member) bool { return m.Mail == mail })
		got, err := r.One(ctx, repo.Where("mail", mail))
		if len(want) == 0 && !errors.Is(err, repo.ErrNotFound) || len(want) == 1 && (err != nil || want[got.ID] != got) {
			return fmt.Errorf("who has %s: %v, %v; want %v", mail, got, err, want)
		}
	}
	return nil
}

// badged sees that a badge is there if its member was changed together with it, and only then.
func (p *point) badged(ctx context.Context, r house, f finding) error {
	want := p.path.name == pair && maps.Equal(f.state, p.last())
	if has, err := r.badges.Exists(ctx, repo.Key{p.home, "a"}); has != want || err != nil {
		return fmt.Errorf("the badge is there: %v, %v; want %v", has, err, want)
	}
	return nil
}

// only returns the members for which keep is true.
func (s state) only(keep func(member) bool) state {
	some := maps.Clone(s)
	maps.DeleteFunc(some, func(_ string, m member) bool { return !keep(m) })
	return some
}

// resolve sees that Resolve says what became of each commit that was begun: the one that
// may be lost is the last.
func (p *point) resolve(ctx context.Context, s *site, r house, f finding) error {
	at := 0
	for i, state := range p.path.states(p.home) {
		if maps.Equal(state, f.state) {
			at = i
		}
	}
	if maps.Equal(f.state, p.last()) {
		at = min(at, len(p.outcomes)) // one commit had several of the steps
	}
	for i, o := range p.outcomes {
		done, want := i < at, repo.NotCommitted
		if p.path.name == bulk {
			done = len(f.state.only(func(m member) bool { return m.Home == o.home })) > 0
		}
		switch {
		case done && !s.facts.Uncertain && len(f.state) == 0:
			want = repo.Unknown // where every commit is final, nothing is kept of what was deleted
		case done:
			want = repo.Committed
		}
		resolve := r.Resolve
		if o.collection != s.collection {
			resolve = r.badges.Resolve
		}
		if got, err := resolve(ctx, o.Outcome); got != want || err != nil {
			return fmt.Errorf("commit %d is resolved as %s, %v; want %s", i+1, got, err, want)
		}
	}
	return nil
}

// take sees that every unique value that nobody has can be taken, and no other, and gives
// it back.
func (p *point) take(ctx context.Context, r *repo.Repo[member], f finding) error {
	for mail := range p.path.values(p.home, func(m member) string { return m.Mail }) {
		held := len(f.state.only(func(m member) bool { return m.Mail == mail })) > 0
		heir := member{Home: p.home, ID: "heir", Team: "T-" + p.home + "-none.", Mail: mail, Note: "N-" + p.home + "-heir."}
		err := r.Insert(ctx, &heir)
		switch {
		case held && errors.Is(err, repo.ErrExists):
			continue
		case held || err != nil:
			return fmt.Errorf("another one takes %s: %v; somebody has it: %v", mail, err, held)
		}
		if err := r.Delete(ctx, repo.Key{heir.Home, heir.ID}); err != nil {
			return err
		}
	}
	return nil
}

// Clocks by which what writers left is old: their rows, and the tombstones of what they
// deleted.
const (
	rowsAreOld       = 10 * time.Minute
	tombstonesAreOld = 8 * 24 * time.Hour
)

// sweep sees that Maintain takes away all that writers have left.
func (s *site) sweep(t *testing.T, points []*point) {
	t.Helper()
	garbage, tombstones, _ := s.rubbish(t, points)
	if s.apart("teams") && garbage == 0 || s.facts.Uncertain && tombstones == 0 {
		t.Errorf("%d rows and %d tombstones are left that Maintain could remove: no writer died where it should", garbage, tombstones)
	}
	s.maintain(t, rowsAreOld)
	if rows, _, _ := s.rubbish(t, points); rows > 0 {
		t.Errorf("after Maintain %d rows are there that no record has", rows)
	}
	s.maintain(t, tombstonesAreOld)
	rows, dead, fading := s.rubbish(t, points)
	if rows > 0 || dead > fading {
		t.Errorf("after Maintain %d rows are there that no record has, and %d tombstones, of which %d go by themselves", rows, dead, fading)
	}
	t.Logf("%d rows that no record had and %d tombstones were removed", garbage, tombstones)
}

// rubbish returns how many rows there are that no record has, and tombstones, and how many of
// these go by themselves.
func (s *site) rubbish(t *testing.T, points []*point) (rows, tombstones, fading int) {
	t.Helper()
	for p, f := range s.lookAt(t, points) {
		rows, tombstones, fading = rows+f.garbage, tombstones+f.tombstones, fading+f.fading
		for _, fault := range f.faults {
			t.Errorf("%s: when others have gone on, %s", p.home, fault)
		}
	}
	return rows, tombstones, fading
}

// maintain runs Maintain by a clock that is ahead.
func (s *site) maintain(t *testing.T, ahead time.Duration) {
	t.Helper()
	store, r, err := s.open(t.Context(), ahead)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := r.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.verify(t, r)
}
