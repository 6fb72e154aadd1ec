package memory_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo"
)

// The largest group is done, and what is larger is refused.
func TestLargestGroup(t *testing.T) {
	s := open(t, nil)
	backendtest.Held(t, s)
}

// One group of many records with a unique value, whose index the store keeps, takes no longer than
// many groups of a few.
func TestUniqueGroupTakesLinearTime(t *testing.T) {
	type item struct {
		Box  string `repo:"box"`
		Name string `repo:"name"`
	}
	insert := func(groups, n int) time.Duration {
		items, err := repo.Open[item](t.Context(), repo.NewStore(memory.New(nil), nil), repo.Schema{Collection: "items", Partition: []string{"box"}, Sort: []string{"name"},
			Indexes: []repo.Index{{Partition: []string{"name"}, Unique: true, Kind: "native"}}})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for box := range groups {
			g := items.Store().Group()
			in := items.In(g)
			for i := range n {
				in.Insert(&item{fmt.Sprint(box), fmt.Sprint(box, "/", i)})
			}
			if err := g.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return time.Since(begun)
	}
	many, one := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 5 {
		many, one = min(many, insert(40, 100)), min(one, insert(1, 4000))
	}
	t.Logf("40 groups of 100 %v, one of 4,000 %v", many, one)
	if one > 10*many {
		t.Errorf("40 groups of 100 records take %v, and one of 4,000 takes %v", many, one)
	}
}
