package nested_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/nested"
)

func isA(err, kind error) bool {
	var e *repo.Error
	return errors.Is(err, kind) && errors.As(err, &e)
}

// Numbered has a bound, whose error names the remedy.
func TestTooManyNumbers(t *testing.T) {
	c := open[person](t, newStore(t, "memory:"), ways["numbered"])
	p := person{ID: "ann", Skills: make([]skill, 8)}
	insert(t, c, p)
	_, err := c.Update(t.Context(), repo.Key{"ann"}, func(p *person) error { p.Skills = append(p.Skills, skill{}); return nil })
	for _, err := range []error{err, c.Insert(t.Context(), &person{ID: "bob", Skills: make([]skill, 9)})} {
		if !isA(err, repo.ErrTooLarge) || !strings.Contains(err.Error(), "proximity") {
			t.Error(err)
		}
	}
	if p, err := c.Get(t.Context(), repo.Key{"ann"}); len(p.Skills) != 8 || err != nil {
		t.Error(p, err)
	}
}

// Proximity has no bound but the rows of different values.
func TestManySubObjects(t *testing.T) {
	s := ways["proximity"]
	s.Fields = []string{"level", "skill"}
	c := open[person](t, newStore(t, "memory:"), s)
	long := person{ID: "long"}
	for i := range 5000 {
		long.Skills = append(long.Skills, skill{Skill: fmt.Sprint("s", i%100), Level: fmt.Sprint("l", i%99)})
	}
	wide := person{ID: "wide"}
	for i := range 128 {
		wide.Skills = append(wide.Skills, skill{Skill: fmt.Sprint("w", i), Level: fmt.Sprint("w", i)})
	}
	insert(t, c, long, wide, bob)
	if n, err := c.Rows(&long); n != 199 || err != nil {
		t.Error(n, err)
	}
	want(t, c, nested.Where("skill", "s7").Where("level", "l8"), "long")
	want(t, c, nested.Where("skill", "w7").Where("level", "w8"))
	want(t, c, nested.Where("skill", "w7").Where("level", "w8").Near(1), "wide")
	want(t, c, nested.Where("skill", "w7").Where("level", "w127").Near(119))
	want(t, c, nested.Where("skill", "w7").Where("level", "w127").Near(120), "wide")
	wide.Skills = append(wide.Skills, skill{Skill: "more"})
	if err := c.Put(t.Context(), &wide); !isA(err, repo.ErrTooLarge) || !strings.Contains(err.Error(), "257 different") {
		t.Error(err)
	}
	if bad := stale(t, c); bad != nil {
		t.Error(bad)
	}
}

// Values with separators, with NUL, of 1 KB and of other encodings are found, and no other value for them.
func TestHostileValues(t *testing.T) {
	long := strings.Repeat("x", 1024)
	values := []string{
		"", " ", "=", "skill=", "skill=a", ".1=a", "1=a", "#", "%", "\x00", "\x00\x00", "a\x00b", "~", "/", "\"", "{|}", "é", "e\u0301", "\ufffd",
		"\U0010ffff", long, long + "y", "y" + long, strings.Repeat("\x00", 64), strings.Repeat("\x00", 65), strings.Repeat("é", 32), strings.Repeat("é", 33),
		"#9f86d081884c7d659a2feaa0c55ad015", "true", "1", "-1",
	}
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		for i, v := range values {
			insert(t, c, person{ID: fmt.Sprint(i), Skills: []skill{{Skill: v, Level: fmt.Sprint(i)}, {Skill: "other", Level: v + "."}}})
		}
		for i, v := range values {
			want(t, c, nested.Where("skill", v).Where("level", fmt.Sprint(i)), fmt.Sprint(i))
			want(t, c, nested.Where("skill", "other").Where("level", v+"."), fmt.Sprint(i))
			want(t, c, nested.Where("skill", v).Where("level", v+"."))
		}
		want(t, c, nested.Where("skill", "\xff"))
		want(t, c, nested.Where("skill", strings.Repeat("\xff", 1024)))
		if err := c.Insert(t.Context(), &person{ID: "x", Skills: []skill{{Skill: "\xff"}}}); !isA(err, repo.ErrInvalid) {
			t.Error(err)
		}
		sound(t, c)
	})
}

// More rows than are read at once, of frequent and rare terms, in all sizes of pages.
func TestManyRecords(t *testing.T) {
	inBoth(t, func(t *testing.T, c *nested.Collection[person]) {
		all := map[string]person{}
		for i := range 1100 {
			id := fmt.Sprintf("p%04d", i)
			p := person{ID: id, Skills: []skill{{Skill: "common", Level: fmt.Sprint("l", i%2)}}}
			if i%97 == 0 {
				p.Skills = append(p.Skills, skill{Skill: "rare", Level: "l0"})
			}
			if i%2 == 0 {
				slices.Reverse(p.Skills)
			}
			all[id] = p
			insert(t, c, p)
		}
		for _, conds := range [][]string{{"common", "l0"}, {"rare", "l1"}, {"rare", "l0"}, {"common", "l1"}} {
			q := nested.Where("skill", conds[0]).Where("level", conds[1])
			list := []cond{
				{"skill", conds[0], func(s skill) bool { return s.Skill == conds[0] }},
				{"level", conds[1], func(s skill) bool { return s.Level == conds[1] }},
			}
			for near := range 2 {
				wanted := scan(all, list, near)
				want(t, c, q.Near(near), wanted...)
				for _, size := range []int{0, 1, 31, 32, 33, 750, 2000} {
					if size == 1 && len(wanted) > 100 {
						continue
					}
					if got := pages(t, c, q.Near(near).Limit(size)); !slices.Equal(got, wanted) {
						t.Errorf("%s in pages of %d: %d records, want %d", q, size, len(got), len(wanted))
					}
				}
			}
		}
	})
}
