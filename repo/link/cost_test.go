package link_test

import (
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/link"
)

// cost returns how many ranges were read since the last call, and how many keys they had.
func (c *counter) cost() (ranges, keys int) {
	for _, e := range c.list {
		ranges, keys = ranges+1, keys+e.Records
	}
	c.list = nil
	return ranges, keys
}

// A set reads few pages of ranges, and passes over what is in one range alone. The bounds are what was counted when the
// test was written.
func TestCostsOfSets(t *testing.T) {
	var c counter
	links := open(t, newStore(t, "memory", c.options()), schemas["by ID"])
	for i := range 6000 {
		for whom, every := range map[string]int{"all": 1, "half": 2, "third": 3, "rare": 1500} {
			if i%every == 0 {
				add(t, links, []follow{{Who: fmt.Sprintf("%04d", i), Whom: whom}})
			}
		}
	}
	s := links.Froms()
	for name, tt := range map[string]struct {
		set          link.Set
		members      int
		ranges, keys int
	}{
		"one rare":           {s.AllOf("rare"), 4, 1, 4},
		"rare and all":       {s.AllOf("rare", "all"), 4, 5, 68},
		"rare, all and half": {s.AllOf("all", "half", "rare"), 4, 9, 132},
		"rare but not all":   {s.AllOf("rare").NoneOf("all"), 0, 5, 68},
		"half and third":     {s.AllOf("half", "third"), 1000, 18, 5000},
		"a page of these":    {s.AllOf("half", "third").Limit(20), 20, 5, 160},
		"half or third":      {s.AnyOf("half", "third"), 4000, 18, 5000},
		"a page of those":    {s.AnyOf("half", "third").Limit(20), 20, 2, 42},
		"half but not third": {s.AllOf("half").NoneOf("third"), 2000, 18, 5000},
		"all":                {s.AllOf("all"), 6000, 16, 6000},
	} {
		c.list = nil
		got, err := repo.Collect(tt.set.Find(t.Context()))
		if ranges, keys := c.cost(); err != nil || len(got) != tt.members || ranges > tt.ranges || keys > tt.keys {
			t.Errorf("%s: %d members, %v, %d ranges, %d keys; want %d, at most %d and %d", name, len(got), err, ranges, keys, tt.members, tt.ranges, tt.keys)
		}
	}
}
