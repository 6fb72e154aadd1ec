package repo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

type visit struct {
	User string    `repo:"user"`
	ID   int       `repo:"id"`
	Ends time.Time `repo:",expires"`
}

// A limited query goes on where expired records have used its limit up.
func TestLimitAmongExpired(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	var ranges int
	store := newStore(t, &repo.Options{Now: func() time.Time { return now }, Observe: func(e repo.Event) { ranges = e.Requests }})
	r, err := repo.Open[visit](t.Context(), store, repo.Schema{Collection: "visits", Partition: []string{"user"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Sort: []string{"-id"}, Buckets: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	var want []int
	for i := range 3000 {
		s := visit{User: "ann", ID: i, Ends: now.Add(time.Minute)}
		if i%1000 == 700 {
			s.Ends = now.Add(time.Hour)
			want = append(want, i)
		}
		if err := r.Insert(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(2 * time.Minute)
	check := func(name string, q repo.Query, want []int) {
		t.Helper()
		list, err := repo.Collect(r.Find(t.Context(), q))
		var got []int
		for _, s := range list {
			got = append(got, s.ID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
		if ranges > 60 {
			t.Errorf("%s took %d requests for 3,000 rows", name, ranges)
		}
		if n, err := r.Count(t.Context(), q); err != nil || n != len(want) {
			t.Errorf("%s: count %d, %v; want %d", name, n, err, len(want))
		}
	}
	down := slices.Clone(want)
	slices.Reverse(down)
	ann := repo.Where("user", "ann")
	for limit := range 5 {
		n := len(want)
		if limit > 0 {
			n = min(n, limit)
		}
		check(fmt.Sprint("limit ", limit), ann.Limit(limit), want[:n])
		check(fmt.Sprint("backwards, limit ", limit), ann.Order("-id").Limit(limit), down[:n])
		check(fmt.Sprint("in buckets, limit ", limit), repo.Query{}.Order("-id").Limit(limit), down[:n])
	}
	page, err := r.Page(t.Context(), ann.Limit(2), "")
	if err != nil || len(page.Items) != 2 || page.Next == "" {
		t.Fatalf("first page: %+v, %v", page, err)
	}
	if page, err = r.Page(t.Context(), ann.Limit(2), page.Next); err != nil || len(page.Items) != 1 || page.Items[0].ID != want[2] {
		t.Errorf("second page: %+v, %v", page, err)
	}
}
