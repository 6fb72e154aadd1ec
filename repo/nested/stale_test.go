package nested_test

import (
	"slices"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/nested"
)

func stale(t testing.TB, c *nested.Collection[person]) []string {
	t.Helper()
	var out []string
	for key, err := range c.Verify(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, key.String())
	}
	slices.Sort(out)
	return out
}

func repair(t testing.TB, c *nested.Collection[person], wanted int) {
	t.Helper()
	if n, err := c.Repair(t.Context()); n != wanted || err != nil {
		t.Errorf("repaired %d, %v, want %d", n, err, wanted)
	}
	if bad := stale(t, c); bad != nil {
		t.Errorf("%v is stale after Repair", bad)
	}
	sound(t, c)
}

var (
	poets     = nested.Where("skill", "Poetry").Where("level", "excellent")
	goodMaths = nested.Where("skill", "Math").Where("level", "excellent")
)

// Terms that a write by the plain repository leaves behind never bring a wrong record, and Verify and Repair see to
// the records that a query misses.
func TestWritesOfThePlainRepo(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		insert(t, c, ann, bob)
		_, err := c.Repo().Update(t.Context(), repo.Key{"ann"}, func(p *person) error {
			p.Skills[0].Level, p.Skills[1].Level = "poor", "excellent"
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want(t, c, goodMaths) // by the terms it would be ann
		want(t, c, poets, "bob")
		if err := c.Repo().Insert(t.Context(), &person{ID: "eve", Skills: bob.Skills}); err != nil {
			t.Fatal(err)
		}
		want(t, c, poets, "bob")
		if bad := stale(t, c); !slices.Equal(bad, []string{"ann", "eve"}) {
			t.Errorf("%v is stale", bad)
		}
		repair(t, c, 2)
		want(t, c, poets, "ann", "bob", "eve")
		want(t, c, goodMaths)
		if _, err := c.Repo().Patch(t.Context(), repo.Key{"eve"}, repo.Unset("skills")); err != nil {
			t.Fatal(err)
		}
		want(t, c, poets, "ann", "bob")
		repair(t, c, 1)
	})
}

// A record that was copied with the terms of another one hides neither, once it is repaired, and before that not the
// record from which it was copied.
func TestCopiedTerms(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		insert(t, c, ann, bob)
		for _, id := range []string{"copy1", "copy2", "acopy"} {
			p, err := c.Get(t.Context(), repo.Key{"bob"})
			if err != nil {
				t.Fatal(err)
			}
			p.ID, p.Version, p.Skills = id, repo.Version{}, slices.Repeat(p.Skills, 2)
			if err := c.Repo().Insert(t.Context(), &p); err != nil {
				t.Fatal(err)
			}
		}
		want(t, c, poets, "bob")
		_, err := c.Update(t.Context(), repo.Key{"bob"}, func(p *person) error {
			p.Skills = slices.Insert(p.Skills, 0, skill{Skill: "Math", Level: "poor"})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want(t, c, poets, "bob")
		repair(t, c, 3)
		want(t, c, poets, "acopy", "bob", "copy1", "copy2")
	})
}

// Rows with owners that are no keys of this collection are passed over.
func TestForeignOwners(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		insert(t, c, bob)
		p, err := c.Get(t.Context(), repo.Key{"bob"})
		if err != nil {
			t.Fatal(err)
		}
		for i, owner := range []string{"", "s", "x", "ibob", "s~2", "sa/sb", "sgone", "bob", "s\x00", "~", "\U0010ffff"} {
			p.ID, p.Version, p.NestedKey = string(rune('A'+i)), repo.Version{}, owner
			p.NestedPlaces = []byte(owner + "!")
			if err := c.Repo().Insert(t.Context(), &p); err != nil {
				t.Fatal(err)
			}
		}
		want(t, c, poets, "bob")
		repair(t, c, 11)
		if found := ids(t, c, poets); len(found) != 12 {
			t.Errorf("%v", found)
		}
	})
}

// A group keeps terms right where the program fills them.
func TestFillForGroup(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		p := bob
		if err := c.Fill(&p); err != nil {
			t.Fatal(err)
		}
		g := c.Repo().Store().Group()
		c.Repo().In(g).Put(&p)
		if err := g.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, c, poets, "bob")
		if bad := stale(t, c); bad != nil {
			t.Error(bad)
		}
	})
}

// A collection that had records before gets its terms by Repair, and so does one whose strategy changes. A schema
// with another strategy is refused until then.
func TestAdoptAndChange(t *testing.T) {
	type old struct {
		ID     string
		Skills []skill
	}
	for _, url := range []string{"memory:", "pebble:"} {
		store := newStore(t, url)
		r, err := repo.Open[old](t.Context(), store, people)
		if err == nil {
			err = r.Insert(t.Context(), &old{"ann", ann.Skills})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, way := range []string{"proximity", "numbered"} {
			if _, err := nested.Open[person](t.Context(), store, ways[way]); !isA(err, repo.ErrSchema) {
				t.Errorf("%s: %v", way, err)
			}
			if way == "numbered" {
				if err := repo.DropIndex(t.Context(), store, "people", "nested_proximity"); err != nil {
					t.Fatal(err)
				}
			}
			c, err := nested.Open[person](t.Context(), store, ways[way], repo.WithBuild())
			if err != nil {
				t.Fatal(err)
			}
			repair(t, c, 1)
			want(t, c, goodMaths, "ann")
		}
	}
}
