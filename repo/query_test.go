package repo_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// A level is a record of one number and one text, under an index of each direction.
type level struct {
	ID    string         `repo:"id"`
	Group string         `repo:"group"`
	N     int64          `repo:"n"`
	Text  string         `repo:"text"`
	Rest  map[string]any `repo:",extra"`
}

// levels returns a record for each number, with the text t and the number's place.
func levels(t *testing.T, numbers ...int64) *repo.Repo[level] {
	t.Helper()
	r, err := repo.Open[level](t.Context(), repo.NewStore(memory.New(nil), nil), repo.Schema{Collection: "levels", Partition: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"group"}, Sort: []string{"n"}},
		{Partition: []string{"group"}, Sort: []string{"-text"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range numbers {
		if err := r.Insert(t.Context(), &level{ID: fmt.Sprint(i), Group: "g", N: n, Text: strings.Repeat("t", i), Rest: map[string]any{"rank": i, "mark": "x"}}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// agree returns the ids that Find and Scan find, which are the same.
func agree(t *testing.T, r *repo.Repo[level], q repo.Query) string {
	t.Helper()
	var texts []string
	for _, seq := range []func(repo.Query) ([]level, error){
		func(q repo.Query) ([]level, error) { return repo.Collect(r.Find(t.Context(), q)) },
		func(q repo.Query) ([]level, error) { return repo.Collect(r.Scan(t.Context(), q)) },
	} {
		list, err := seq(q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		var ids []string
		for _, l := range list {
			ids = append(ids, l.ID)
		}
		slices.Sort(ids)
		texts = append(texts, strings.Join(ids, " "))
	}
	if texts[0] != texts[1] {
		t.Errorf("%s: Find has %s, Scan has %s", q, texts[0], texts[1])
	}
	return texts[0]
}

func TestBounds(t *testing.T) {
	r := levels(t, math.MinInt64, -1, 0, 1, math.MaxInt64)
	q := repo.Where("group", "g")
	for _, tt := range []struct {
		q    repo.Query
		want string
	}{
		{q.Above("n", 0), "3 4"},
		{q.AtLeast("n", 0), "2 3 4"},
		{q.Below("n", 0), "0 1"},
		{q.AtMost("n", 0), "0 1 2"},
		{q.AtMost("n", int64(math.MaxInt64)), "0 1 2 3 4"},
		{q.Below("n", int64(math.MaxInt64)), "0 1 2 3"},
		{q.Above("n", int64(math.MinInt64)), "1 2 3 4"},
		{q.Above("n", int64(math.MaxInt64)), ""},
		{q.Above("n", -1).AtMost("n", 1), "2 3"},
		{q.Above("n", 0).AtLeast("n", 0), "3 4"},
		{q.AtLeast("n", 0).Above("n", 0), "3 4"},
		{q.AtMost("n", 0).Below("n", 0), "0 1"},
		{q.Above("n", 0).AtMost("n", 0), ""},
		{q.Range("n", -1, 1), "1 2"},
		{q.Range("n", -5, 1).Range("n", 0, 9), "2"},
		{q.Range("n", 0, 9).Range("n", -5, 1), "2"},
		{q.Range("n", 0, nil).Range("n", nil, 1), "2"},
		{q.Range("n", nil, nil), "0 1 2 3 4"},
		{q.Above("text", "tt"), "3 4"},
		{q.AtMost("text", "tt"), "0 1 2"},
		{q.AtLeast("text", "t").Below("text", "ttt"), "1 2"},
		{q.Prefix("text", ""), "0 1 2 3 4"},
		{q.Prefix("text", "tt").Prefix("text", "t"), "2 3 4"},
		{q.Prefix("text", "t").Prefix("text", "x"), ""},
		{q.Prefix("text", "t").AtMost("text", "tt"), "1 2"},
	} {
		if got := agree(t, r, tt.q); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.q, got, tt.want)
		}
	}
}

// What says two things of one field, or bounds two fields, is refused by all that take a
// query.
func TestConditionsThatDoNotGoTogether(t *testing.T) {
	r := levels(t, 1, 2)
	q := repo.Where("group", "g")
	for want, q := range map[string]repo.Query{
		"n and text both have bounds":                q.Range("n", 1, 2).Prefix("text", "t"),
		"text and n both have bounds":                q.Prefix("text", "t").Above("n", 0),
		"field n has two conditions, a value and":    q.Where("n", 1).AtLeast("n", 0),
		"field group has two conditions":             q.Where("group", "g"),
		"the bound of n > is empty":                  q.Above("n", nil),
		"prefix of n, which is of kind int":          q.Prefix("n", "1"),
		"field n is of kind int, which has no parts": q.Order("-n.m"),
	} {
		for name, err := range map[string]error{
			"Find": second(repo.Collect(r.Find(t.Context(), q))),
			"Scan": second(repo.Collect(r.Scan(t.Context(), q))),
		} {
			if !errors.Is(err, repo.ErrInvalid) || errors.Is(err, repo.ErrNoIndex) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v, want ErrInvalid with %q", name, q, err, want)
			}
		}
	}
}

func TestQueryText(t *testing.T) {
	q := repo.Where("a", 1).Above("b", 2).AtMost("b", 3).Order("-b")
	if got, want := q.String(), "a = 1 and b > 2 and b <= 3 in order of -b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := repo.All().Range("b", nil, nil).String(), "b is there"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Queries are values: one that is made of another leaves that as it is.
func TestQueriesShareNothing(t *testing.T) {
	base := repo.Where("group", "g").Above("n", 0)
	a, b := base.AtMost("n", 1), base.AtMost("n", 2)
	for want, q := range map[string]repo.Query{"group = \"g\" and n > 0": base, "group = \"g\" and n > 0 and n <= 1": a, "group = \"g\" and n > 0 and n <= 2": b} {
		if q.String() != want {
			t.Errorf("%s, want %s", q, want)
		}
	}
}

func TestScanOfUndeclaredFields(t *testing.T) {
	r := levels(t, 0, 1, 2, 3)
	for i, rank := range []any{1.5, "high", []any{int64(1)}} {
		if err := r.Insert(t.Context(), &level{ID: string(rune('a' + i)), Group: "g", Rest: map[string]any{"rank": rank}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		q    repo.Query
		want string
	}{
		{repo.Where("rank", 2), "2"},
		{repo.Where("mark", "x").Above("rank", 1).Order("-rank"), "3 2"},
		{repo.All().AtMost("rank", 1).Order("rank"), "0 1"},
		{repo.All().Prefix("rank", "hi"), "b"},
		{repo.All().Order("rank"), "0 1 2 3 a b"},
		{repo.Where("rank[]", 1), "c"},
		{repo.Where("rank", 7), ""},
	} {
		list, err := repo.Collect(r.Scan(t.Context(), tt.q))
		var ids []string
		for _, l := range list {
			ids = append(ids, l.ID)
		}
		if got := strings.Join(ids, " "); got != tt.want || err != nil {
			t.Errorf("scan %s: %s, %v, want %s", tt.q, got, err, tt.want)
		}
	}
	if err := second(repo.Collect(r.Scan(t.Context(), repo.All().Above("rank", "a").AtMost("rank", 3)))); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("Scan between a text and a number: %v", err)
	}
	if err := second(repo.Collect(r.Find(t.Context(), repo.Where("rank", 2)))); err == nil || !strings.Contains(err.Error(), "declare it, or use Scan") {
		t.Errorf("Find of an undeclared field: %v", err)
	}
}

// An edit of a path makes no field with a dot in its name, which a whole record may have.
func TestDotsInNames(t *testing.T) {
	r := levels(t, 0)
	if _, err := r.Patch(t.Context(), repo.Key{"0"}, repo.Set("m.a", "of a map")); err != nil {
		t.Error(err)
	}
	rec, err := r.Get(t.Context(), repo.Key{"0"})
	if rec.Rest["m.a"] != nil || err != nil {
		t.Errorf("got %v, %v", rec.Rest, err)
	}
	rec.Rest["m.a"] = "as it is"
	if err := r.Put(t.Context(), &rec); err != nil {
		t.Fatal(err)
	}
	if rec, err := r.Get(t.Context(), repo.Key{"0"}); rec.Rest["m.a"] != "as it is" || rec.Rest["m"] == nil || err != nil {
		t.Errorf("got %v, %v", rec.Rest, err)
	}
}

// Indexes have legal names of their own, whatever their fields are called.
func TestDefaultIndexNames(t *testing.T) {
	type user struct {
		ID     string `repo:"id"`
		UserID string `repo:"userId"`
		Userid string `repo:"userid"`
		Long   string `repo:"a_name_that_is_so_long_that_no_index_can_have_it_whole"`
	}
	store := repo.NewStore(memory.New(nil), nil)
	schema := repo.Schema{Collection: "users", Partition: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"userId"}}, {Partition: []string{"userid"}}, {Partition: []string{"userId"}, Sort: []string{"-userid"}},
		{Partition: []string{"a_name_that_is_so_long_that_no_index_can_have_it_whole"}},
	}}
	r := open[user](t, store, schema)
	if err := r.Insert(t.Context(), &user{"1", "A", "b", "c"}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, q := range []repo.Query{repo.Where("userId", "A"), repo.Where("userid", "b"), repo.Where("a_name_that_is_so_long_that_no_index_can_have_it_whole", "c")} {
		p, err := r.Explain(q)
		if n, err := r.Count(t.Context(), q); n != 1 || err != nil {
			t.Errorf("%s: %d, %v", q, n, err)
		}
		if names = append(names, p.Index); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"by_userid_c4877023", "by_userid", "by_a_name_that_is_so_long_that_no_index_28866f68"}
	if !slices.Equal(names, want) {
		t.Errorf("names %q, want %q: they are stored, and so stay the same", names, want)
	}
}
