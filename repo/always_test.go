package repo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// A result is a record whose score may be absent.
type result struct {
	ID     string    `repo:"id"`
	Player string    `repo:"player"`
	Score  *int      `repo:"score"`
	Level  int       `repo:"level"`
	At     time.Time `repo:"at,nanos"`
}

func score(n int) *int { return &n }

var (
	byScore  = repo.Index{Partition: []string{"player"}, Sort: []string{"-score"}}
	byPlayer = repo.Index{Partition: []string{"player"}}
	byLevel  = repo.Index{Partition: []string{"player"}, Sort: []string{"level"}}
)

// resultsBy returns two results with a score and two without, under some indexes.
func resultsBy(t *testing.T, indexes ...repo.Index) *repo.Repo[result] {
	t.Helper()
	store := repo.NewStore(memory.New(nil), nil)
	r, err := repo.Open[result](t.Context(), store, repo.Schema{Collection: "results", Partition: []string{"id"}, Indexes: indexes})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range []*int{score(1), nil, score(3), nil} {
		if err := r.Insert(t.Context(), &result{ID: fmt.Sprint(i), Player: "p", Score: s, Level: i}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func idsOf(t *testing.T, r *repo.Repo[result], q repo.Query) string {
	t.Helper()
	list, err := repo.Collect(r.Find(t.Context(), q))
	if err != nil {
		t.Fatalf("find %s: %v", q, err)
	}
	var ids []string
	for _, x := range list {
		ids = append(ids, x.ID)
	}
	return strings.Join(ids, " ")
}

// An index that may lack a record does not answer for it, whichever way it is asked.
func TestIndexThatMayLackRecords(t *testing.T) {
	r := resultsBy(t, byScore)
	q := repo.Where("player", "p")
	calls := map[string]func() error{
		"Find":    func() error { _, err := repo.Collect(r.Find(t.Context(), q)); return err },
		"Keys":    func() error { _, err := repo.Collect(r.Keys(t.Context(), q)); return err },
		"Count":   func() error { _, err := r.Count(t.Context(), q); return err },
		"Page":    func() error { _, err := r.Page(t.Context(), q, ""); return err },
		"One":     func() error { _, err := r.One(t.Context(), q); return err },
		"Explain": func() error { _, err := r.Explain(q); return err },
	}
	want := `index by_player_score_desc lacks records without score; add {Partition: ["player"]}, or leave such records out by Order("-score"), or use Scan`
	for name, call := range calls {
		if err := call(); !errors.Is(err, repo.ErrNoIndex) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrNoIndex with %q", name, err, want)
		}
	}
	for _, q := range []repo.Query{q.Order("-score"), q.Order("-score").Limit(9), q.Range("score", nil, nil), q.AtLeast("score", 0)} {
		if got := idsOf(t, r, q); got != "2 0" {
			t.Errorf("%s = %s, want those with a score", q, got)
		}
	}
	if got := idsOf(t, r, q.Order("score")); got != "0 2" {
		t.Errorf("backwards = %s", got)
	}
}

// The same index answers for fields that are never absent, whatever the query names.
func TestIndexOfFieldsThatAreAlwaysThere(t *testing.T) {
	r := resultsBy(t, byLevel)
	if got := idsOf(t, r, repo.Where("player", "p")); got != "0 1 2 3" {
		t.Errorf("found %s, want all", got)
	}
	for name, x := range map[string]repo.Index{
		"the zero time is absent": {Partition: []string{"player"}, Sort: []string{"at"}},
		"behind what is named":    {Partition: []string{"player"}, Sort: []string{"level", "score"}},
	} {
		if _, err := resultsBy(t, x).Count(t.Context(), repo.Where("player", "p").Order("level")); !errors.Is(err, repo.ErrNoIndex) {
			t.Errorf("%s: %v, want ErrNoIndex", name, err)
		}
	}
	for order, want := range map[string]string{"level": `Order("level", "score")`, "-level": `Order("-level", "-score")`} {
		_, err := resultsBy(t, repo.Index{Partition: []string{"player"}, Sort: []string{"level", "score"}}).Count(t.Context(), repo.Where("player", "p").Order(order))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("order %s: %v, want the remedy %s", order, err, want)
		}
	}
}

// The cheapest index is taken, in whatever order they are declared.
func TestCheapestIndex(t *testing.T) {
	covering := repo.Index{Name: "covering", Partition: []string{"player"}, Sort: []string{"level"}, Covers: []string{"*"}}
	spread := repo.Index{Name: "spread", Partition: []string{"player"}, Buckets: 8, Covers: []string{"*"}}
	for _, tt := range []struct {
		indexes []repo.Index
		q       repo.Query
		want    string
	}{
		{[]repo.Index{byScore, byPlayer}, repo.Where("player", "p"), "by_player"},
		{[]repo.Index{byScore, byLevel, byPlayer}, repo.Where("player", "p"), "by_player"},
		{[]repo.Index{byPlayer, covering, byLevel}, repo.Where("player", "p"), "covering"},
		{[]repo.Index{spread, byPlayer}, repo.Where("player", "p"), "by_player"},
		{[]repo.Index{byLevel, spread}, repo.Where("player", "p"), "by_player_level"},
		{[]repo.Index{byScore, byLevel}, repo.Where("player", "p").Order("-score"), "by_player_score_desc"},
		{[]repo.Index{byPlayer, byLevel}, repo.Where("id", "1"), ""},
	} {
		for range 2 {
			p, err := resultsBy(t, tt.indexes...).Explain(tt.q)
			if err != nil || p.Index != tt.want {
				t.Errorf("%s on %v: %q, %v, want %q", tt.q, tt.indexes, p.Index, err, tt.want)
			}
			slices.Reverse(tt.indexes)
		}
	}
}

// A record that was written before a field was declared lacks it, and so may one of a
// program with another type.
func TestFieldThatOlderRecordsLack(t *testing.T) {
	type old struct {
		ID     string `repo:"id"`
		Player string `repo:"player"`
	}
	type young struct {
		ID     string `repo:"id"`
		Player string `repo:"player"`
		Score  int    `repo:"score"`
	}
	schema := repo.Schema{Collection: "results", Partition: []string{"id"}}
	schema.Indexes = []repo.Index{{Partition: []string{"player"}, Sort: []string{"score"}}}
	bare := schema
	bare.Indexes = nil
	q := repo.Where("player", "p")
	newStore := func() *repo.Store { return repo.NewStore(memory.New(nil), nil) }

	store := newStore()
	before := open[old](t, store, bare)
	if err := before.Insert(t.Context(), &old{"a", "p"}); err != nil {
		t.Fatal(err)
	}
	r := built[young](t, store, schema)
	if n, err := r.Count(t.Context(), q); !errors.Is(err, repo.ErrNoIndex) {
		t.Errorf("declared later: %d, %v, want ErrNoIndex", n, err)
	}
	if n, err := r.Count(t.Context(), q.Order("score")); n != 0 || err != nil {
		t.Errorf("those with a score: %d, %v", n, err)
	}

	store = newStore()
	if err := open[result](t, store, schema).Insert(t.Context(), &result{ID: "a", Player: "p"}); err != nil {
		t.Fatal(err)
	}
	if n, err := open[young](t, store, schema).Count(t.Context(), q); !errors.Is(err, repo.ErrNoIndex) {
		t.Errorf("a pointer before: %d, %v, want ErrNoIndex", n, err)
	}

	r = open[young](t, newStore(), schema)
	if err := r.Insert(t.Context(), &young{"a", "p", 5}); err != nil {
		t.Fatal(err)
	}
	for _, e := range []repo.Edit{repo.Unset("score"), repo.Set("score", nil), repo.Set("score", (*int)(nil))} {
		if _, err := r.Patch(t.Context(), repo.Key{"a"}, e); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Count(t.Context(), q.Where("score", 0)); n != 1 || err != nil {
			t.Errorf("a number that was unset: %d, %v, want it found as zero", n, err)
		}
	}
}

func open[T any](t *testing.T, store *repo.Store, schema repo.Schema) *repo.Repo[T] {
	t.Helper()
	r, err := repo.Open[T](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
