package nested_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/nested"
)

// Two goroutines update one record: no update is lost, and the terms are those of what is there at the end.
func TestTwoUpdaters(t *testing.T) {
	for _, url := range []string{"memory:", "pebble:"} {
		c := open[person](t, newStore(t, url), ways["proximity"])
		insert(t, c, person{ID: "ann"})
		var wait sync.WaitGroup
		for w := range 2 {
			wait.Go(func() {
				for i := range 30 {
					_, err := c.Update(t.Context(), repo.Key{"ann"}, func(p *person) error {
						p.Skills = append(p.Skills, skill{Skill: fmt.Sprint("skill", i), Level: fmt.Sprint("of", w)})
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		for w := range 2 {
			for i := range 30 {
				want(t, c, nested.Where("skill", fmt.Sprint("skill", i)).Where("level", fmt.Sprint("of", w)), "ann")
			}
		}
		if bad := stale(t, c); bad != nil {
			t.Error(bad)
		}
		sound(t, c)
	}
}

// With Proximity a record that always matches is always found, though the place of the matching sub-object changes.
// With both strategies every record that is found matches.
func TestReadersAndWriters(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		insert(t, c, ann, bob)
		plan, err := c.Explain(poets)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var writers sync.WaitGroup
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				update(t, c, "bob", func(p *person) { // at another place
					p.Skills = append(slices.Repeat([]skill{{Skill: "Poetry", Level: "poor"}}, i%3), bob.Skills[0], skill{Level: "excellent"})
				})
				update(t, c, "ann", func(p *person) { p.Skills[i%2].Level = []string{"excellent", "poor"}[i/2%2] })
			}
		})
		for range 300 {
			found, err := repo.Collect(c.Find(t.Context(), poets))
			if err != nil {
				t.Error(err)
			}
			for _, p := range found {
				if !slices.ContainsFunc(p.Skills, func(s skill) bool { return s.Skill == "Poetry" && s.Level == "excellent" }) {
					t.Errorf("%+v does not match", p)
				}
			}
			if plan.Strategy == nested.Proximity && !slices.Contains(idsOf(found), "bob") {
				t.Errorf("bob is missed: %v", idsOf(found))
			}
		}
		stop()
		writers.Wait()
		if bad := stale(t, c); bad != nil {
			t.Error(bad)
		}
		sound(t, c)
	})
}

func update(t testing.TB, c *nested.Collection[person], id string, fn func(*person)) {
	if _, err := c.Update(t.Context(), repo.Key{id}, func(p *person) error { fn(p); return nil }); err != nil {
		t.Error(err)
	}
}

// Repair goes on while others write.
func TestRepairWhileOthersWrite(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		for i := range 50 {
			if err := c.Repo().Insert(t.Context(), &person{ID: fmt.Sprintf("p%02d", i), Skills: bob.Skills}); err != nil {
				t.Fatal(err)
			}
		}
		want(t, c, poets)
		var wait sync.WaitGroup
		for w := range 2 {
			wait.Go(func() {
				if _, err := c.Repair(t.Context()); err != nil {
					t.Error(w, err)
				}
			})
			wait.Go(func() {
				for i := range 50 {
					update(t, c, fmt.Sprintf("p%02d", i), func(p *person) { p.Name += "x" })
				}
			})
		}
		wait.Wait()
		if bad := stale(t, c); bad != nil {
			t.Error(bad)
		}
		if n := len(ids(t, c, poets)); n != 50 {
			t.Errorf("%d of 50 are found", n)
		}
	})
}
