package repo_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
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
	store := newStore(t, &repo.Options{Now: func() time.Time { return now }, Tracer: ended(func(e repo.Event) { ranges = e.Requests })})
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

type call struct {
	User string `repo:"user"`
	ID   int    `repo:"id"`
	Line string `repo:"line"`
}

type endingCall struct {
	User string    `repo:"user"`
	ID   int       `repo:"id"`
	Line string    `repo:"line"`
	Ends time.Time `repo:",expires"`
}

// Whether the rows of an index that covers nothing say when their records expire is
// decided by the program that makes it. What they say together is right for all.
func TestExpiryComesLater(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	schema := repo.Schema{Collection: "calls", Partition: []string{"user", "id"}, Indexes: []repo.Index{{Name: "lines", Partition: []string{"line"}, Sort: []string{"-id"}}}}
	for _, lasting := range []bool{true, false} {
		backend := memory.New(nil)
		program := func() *repo.Store {
			return repo.NewStore(backend, &repo.Options{Now: func() time.Time { return now }})
		}
		var calls *repo.Repo[call]
		open := func() {
			var err error
			if calls, err = repo.Open[call](t.Context(), program(), schema); err != nil {
				t.Fatal(err)
			}
		}
		if lasting {
			open()
		}
		ending, err := repo.Open[endingCall](t.Context(), program(), schema)
		if err != nil {
			t.Fatal(err)
		}
		open()
		for i := range 4 {
			if err := calls.Insert(t.Context(), &call{User: "ann", ID: i, Line: "red"}); err != nil {
				t.Fatal(err)
			}
			if err := ending.Insert(t.Context(), &endingCall{User: "bob", ID: i, Line: "red", Ends: now.Add(time.Minute)}); err != nil {
				t.Fatal(err)
			}
		}
		rows := fmt.Sprint(bareRows(t, backend, "calls.lines"))
		if want := fmt.Sprint(lasting); rows != want {
			t.Errorf("made by a program whose records last %v: rows without an expiry: %s", lasting, rows)
		}
		now = now.Add(2 * time.Minute)
		red := repo.Where("line", "red")
		for name, r := range map[string]counted{"lasting": calls, "ending": ending} {
			n, err := r.Count(t.Context(), red)
			keys, keysErr := repo.Collect(r.Keys(t.Context(), red.Limit(4)))
			if n != 4 || len(keys) != 4 || err != nil || keysErr != nil {
				t.Errorf("made by a program whose records last %v, read by the %s one: count %d, %v, %d keys, %v; want 4", lasting, name, n, err, len(keys), keysErr)
			}
			if rep, err := r.Verify(t.Context()); err != nil || len(rep) != 1 || rep[0].Missing+rep[0].Stale > 0 {
				t.Errorf("verify: %+v, %v", rep, err)
			}
		}
		list, err := repo.Collect(ending.Find(t.Context(), red.Limit(4)))
		if err != nil || len(list) != 4 || list[0].User != "ann" {
			t.Errorf("found %v, %v", list, err)
		}
	}
}

// A counted is a Repo of any record.
type counted interface {
	Count(context.Context, repo.Query) (int, error)
	Keys(context.Context, repo.Query) iter.Seq2[repo.Key, error]
	Verify(context.Context) ([]repo.Report, error)
}

// bareRows reports whether no row of a table has an expiry.
func bareRows(t *testing.T, backend driver.Store, table string) bool {
	bare, rows := true, 0
	id := driver.Column{Name: "id", Kind: driver.Int}
	x := &driver.Table{Name: table, Class: driver.Rows, Partition: []driver.Column{{Name: "line", Kind: driver.String}},
		Sort: []driver.Column{{Name: "id", Kind: driver.Int, Desc: true}, {Name: "user", Kind: driver.String}, id}}
	if err := backend.Attach(t.Context(), []*driver.Table{x}); err != nil {
		t.Fatal(err)
	}
	for chunk, err := range backend.Walk(t.Context(), x, "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range chunk.Rows {
			rows++
			bare = bare && r.Expires == 0
		}
	}
	if rows != 8 {
		t.Errorf("%d rows, want 8", rows)
	}
	return bare
}
