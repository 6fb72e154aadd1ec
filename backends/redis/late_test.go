package redis_test

import (
	"math"
	"sync"
	"testing"

	"github.com/polystore/polystore/internal/backendtest"
	"github.com/polystore/polystore/repo/driver"
)

// A field that was written before it was declared is added to exactly, by many at
// once, set, removed and found too large, as if it had been declared all the time.
func TestFieldsDeclaredLater(t *testing.T) {
	t.Parallel()
	_, s, ts := own(t)
	put := func(id string, likes driver.Value) {
		op := ts.Insert(t, "ann", id)[:1]
		op[0].Row.Extra = []driver.Pair{{Name: "likes", Value: likes}}
		backendtest.MustCommit(t, s, op)
	}
	put("1", driver.IntValue(5))
	put("2", driver.IntValue(math.MaxInt64))
	put("3", driver.StringValue("many"))
	wide := *ts.Posts
	wide.Fields = append([]driver.Column{{Name: "likes", Kind: driver.Int}}, wide.Fields...)
	if err := s.Define(t.Context(), []*driver.Table{&wide}); err != nil {
		t.Fatal(err)
	}
	edit := func(id string, e driver.Edit) (*driver.Refusal, error) {
		return s.Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Patch, Table: &wide, If: driver.Present,
			Row: driver.Row{Key: backendtest.KeyOf(t, &wide, "ann", id)}, Edits: []driver.Edit{{Do: driver.Set, Field: 1, Value: driver.StringValue("t")}, e}}})
	}
	likes := func(id string) driver.Value {
		var rows [1]driver.Row
		if err := s.Get(t.Context(), &wide, []driver.Key{backendtest.KeyOf(t, &wide, "ann", id)}, []int{0}, rows[:]); err != nil {
			t.Fatal(err)
		}
		return rows[0].Fields[0]
	}
	const sum = 100
	addAtOnce(t, sum, func() (*driver.Refusal, error) {
		return edit("1", driver.Edit{Do: driver.Add, Value: driver.IntValue(1)})
	})
	if got := likes("1"); !got.Equal(driver.IntValue(5 + sum)) {
		t.Errorf("%v likes after 5 and %d additions of 1", got, sum)
	}
	for _, id := range []string{"2", "3"} {
		before := likes(id)
		refusal, err := edit(id, driver.Edit{Do: driver.Add, Value: driver.IntValue(1)})
		if err != nil || refusal == nil || !refusal.Overflow || refusal.Edit != 1 || refusal.Row.Rev.IsZero() {
			t.Errorf("an addition to %v: refusal %+v, %v; want one for edit 1", before, refusal, err)
		}
		if got := likes(id); !got.Equal(before) {
			t.Errorf("the field is %v after a refusal, and was %v", got, before)
		}
	}
	if refusal, err := edit("2", driver.Edit{Do: driver.Set, Value: driver.IntValue(7)}); refusal != nil || err != nil || !likes("2").Equal(driver.IntValue(7)) {
		t.Errorf("set: refusal %v, %v, and the field is %v", refusal, err, likes("2"))
	}
	if refusal, err := edit("3", driver.Edit{Do: driver.Unset}); refusal != nil || err != nil || !likes("3").IsNone() {
		t.Errorf("unset: refusal %v, %v, and the field is %v", refusal, err, likes("3"))
	}
	if refusal, err := edit("9", driver.Edit{Do: driver.Add, Value: driver.IntValue(1)}); err != nil || refusal == nil || refusal.Overflow {
		t.Errorf("an addition to no record: refusal %+v, %v", refusal, err)
	}
}

// addAtOnce makes n additions, some at once.
func addAtOnce(t *testing.T, n int, add func() (*driver.Refusal, error)) {
	t.Helper()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range n / 4 {
				if refusal, err := add(); refusal != nil || err != nil {
					t.Errorf("add: refusal %v, %v", refusal, err)
				}
			}
		})
	}
	wg.Wait()
}
