package repo_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A tiring store groups by itself, and is tired after some groups.
type tiring struct {
	*memory.Store
	after int
	asked int
}

func (s *tiring) Group(ctx context.Context, g driver.Grouping, yield func(*driver.Group) bool) error {
	s.asked++
	n, tired := 0, false
	err := s.Store.Group(ctx, g, func(found *driver.Group) bool {
		if tired = n == s.after; tired {
			return false
		}
		n++
		return yield(found)
	})
	if tired {
		return fmt.Errorf("tired: %w", driver.ErrUnsupported)
	}
	return err
}

func tiredWares(t *testing.T, after int, observe func(repo.Event), list []ware) (*tiring, *repo.Repo[ware]) {
	t.Helper()
	s := &tiring{Store: memory.New(&memory.Options{Native: true}), after: after}
	schema := wareSchema()
	for i := range schema.Indexes[:5] {
		schema.Indexes[i].Kind = "native"
	}
	store := repo.NewStore(s, &repo.Options{Tracer: ended(observe)})
	t.Cleanup(func() { store.Close() })
	return s, filled(t, store, schema, list...)
}

// Where a store groups by itself a few groups, the library finds the others.
func TestGroupsOfAStoreThatGroupsSome(t *testing.T) {
	d := rand.New(rand.NewPCG(2, 7))
	list := drawWares(d, 200)
	for _, after := range []int{0, 1, 2, 5} {
		s, r := tiredWares(t, after, nil, list)
		if found := grouping(t, d, "native", r, list); found < 60 || s.asked < 20 {
			t.Errorf("%d groupings, of which %d were asked for", found, s.asked)
		}
	}
}

// A store that groups by itself is asked once. What it cannot tell, or would tell otherwise, the library finds.
func TestGroupsByTheStore(t *testing.T) {
	var last repo.Event
	s, r := tiredWares(t, math.MaxInt, func(e repo.Event) { last = e }, nil)
	for i := range 500 {
		w := ware{Shop: fmt.Sprint("s", i%3), ID: int64(i), Kind: []string{"a", "b"}[i%2], Price: int64(i % 20), Code: fmt.Sprint(i), Label: fmt.Sprint(i)}
		if err := r.Insert(t.Context(), &w); err != nil {
			t.Fatal(err)
		}
	}
	q := repo.Where("kind", "a").Order("-price")
	for _, tt := range []struct {
		groups repo.Groups[ware]
		q      repo.Query
		asked  int
		want   string
	}{
		{r.GroupBy("price"), q.Limit(2), 1, "[{18 25 []} {16 25 []}]"},
		{r.GroupBy("price").Sum("price", "price"), q.Offset(9).Limit(2), 1, "[{0 25 [0 0]}]"},
		{r.GroupBy("kind").Sum("price"), q, 1, "[{a 250 [2250]}]"},
		{r.GroupBy("kind", "price"), q.Below("price", 2), 1, "[{a/0 25 []}]"},
		{r.GroupBy("price"), q.Limit(1).Filter(repo.Where("shop", "s1"), 100), 0, "[{18 8 []}]"},
		{r.GroupBy("price").Sum("id"), q.Limit(1), 0, "[{18 25 [6450]}]"}, // a field of the key
		{r.GroupBy("kind"), q, 0, "[{a 250 []}]"},                         // which is a count
	} {
		s.asked = 0
		got, err := repo.Collect(tt.groups.Find(t.Context(), tt.q))
		if fmt.Sprint(got) != tt.want || err != nil || s.asked != tt.asked {
			t.Errorf("%v: found %v, %v, asked %d times; want %s", tt.q, got, err, s.asked, tt.want)
		}
		if last.Requests != 1 && tt.asked == 1 {
			t.Errorf("%v took %d requests", tt.q, last.Requests)
		}
		if plan, err := tt.groups.Explain(tt.q); err != nil || strings.Contains(plan.Why, "the store groups by itself") != (tt.asked == 1) {
			t.Errorf("%v is explained as %s, %v", tt.q, plan, err)
		}
	}
	over := ware{Shop: "s", ID: 1000, Kind: "over", Price: math.MaxInt64, Code: "over", Label: "over"}
	for over.ID = range int64(2) {
		over.Code, over.Label = fmt.Sprint("over", over.ID), fmt.Sprint("over", over.ID)
		if err := r.Insert(t.Context(), &over); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := repo.Collect(r.GroupBy("kind").Sum("price").Find(t.Context(), repo.Where("kind", "over"))); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "over the range") {
		t.Errorf("a sum over the range of int64 = %v, %v", got, err)
	}
}

// Records that expired are in no group, whoever groups.
func TestGroupsOfTheStoreWithoutExpired(t *testing.T) {
	s := &tiring{Store: memory.New(&memory.Options{Native: true}), after: math.MaxInt}
	store := repo.NewStore(s, nil)
	defer store.Close()
	now := time.Now()
	r := filled(t, store, repo.Schema{Collection: "shelves", Partition: []string{"owner"}, Sort: []string{"name"}, Indexes: []repo.Index{
		{Partition: []string{"owner"}, Sort: []string{"books"}, Kind: "native"},
	}}, shelf{Owner: "o", Name: "a", Books: 7}, shelf{Owner: "o", Name: "b", Books: 7, Ends: now.Add(time.Hour)}, shelf{Owner: "o", Name: "c", Books: 7, Ends: now.Add(-time.Second)})
	got, err := repo.Collect(r.GroupBy("books").Find(t.Context(), repo.Where("owner", "o")))
	if err != nil || fmt.Sprint(got) != "[{7 2 []}]" || s.asked != 1 {
		t.Errorf("found %v, %v, asked %d times", got, err, s.asked)
	}
}
