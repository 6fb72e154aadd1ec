package everystore

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

// The four versions of a program that has a price as a text, and then as an integer of another name. Each runs beside
// its neighbours.
type (
	fare1 struct {
		ID    string `repo:"id"`
		Price string `repo:"price"`
	}
	fare2 struct {
		ID    string `repo:"id"`
		Price string `repo:"price"`
		Cents int64  `repo:"cents"`
	}
	fare3 struct {
		ID    string `repo:"id"`
		Price string `repo:"price"`
		Cents int64  `repo:"cents"`
	}
	fare4 struct {
		ID    string `repo:"id"`
		Cents int64  `repo:"cents"`
	}
)

// Derive sets the new field by the old one, which all programs read.
func (f *fare2) Derive() (err error) {
	f.Cents, err = strconv.ParseInt(strings.Replace(f.Price, ".", "", 1), 10, 64)
	return err
}

// Derive sets the old field by the new one, which all programs read.
func (f *fare3) Derive() error {
	f.Price = fmt.Sprintf("%d.%02d", f.Cents/100, f.Cents%100)
	return nil
}

func faresOf[T any](t *testing.T, store *repo.Store, indexes ...repo.Index) *repo.Repo[T] {
	t.Helper()
	return good(repo.Open[T](t.Context(), store, repo.Schema{Collection: "fares", Partition: []string{"id"}, Indexes: indexes}, repo.WithBuild()))(t)
}

// rewrite writes each record whose derived fields are not as they would be.
func rewrite[T any](t *testing.T, r *repo.Repo[T], id func(*T) string) {
	t.Helper()
	for chunk, err := range r.Walk(t.Context(), "") {
		must(t, err)
		for i := range chunk.Items {
			good(r.Update(t.Context(), repo.Key{id(&chunk.Items[i])}, func(*T) error { return nil }))(t)
		}
	}
}

// wantFares reads the fares a, b and c, as one version does.
func wantFares[T any](t *testing.T, r *repo.Repo[T], read func(T) any, want string) {
	t.Helper()
	var got []any
	for _, id := range []string{"a", "b", "c"} {
		got = append(got, read(good(r.Get(t.Context(), repo.Key{id}))(t)))
	}
	if fmt.Sprint(got) != want {
		t.Errorf("%T reads %v, want %s", r, got, want)
	}
}

// A field gets another name and kind while each version of a program runs beside the next.
func TestRenamedField(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx := t.Context()
		text2, cents3 := func(f fare2) any { return f.Price }, func(f fare3) any { return f.Cents }

		one := faresOf[fare1](t, store)
		must(t, one.Insert(ctx, &fare1{"a", "1.50"}))
		must(t, one.Insert(ctx, &fare1{"b", "2.50"}))
		two := faresOf[fare2](t, store)
		must(t, two.Insert(ctx, &fare2{ID: "c", Price: "3.50"}))
		good(two.Update(ctx, repo.Key{"a"}, func(f *fare2) error { f.Price = "1.60"; return nil }))(t)
		good(one.Update(ctx, repo.Key{"a"}, func(f *fare1) error { f.Price = "1.70"; return nil }))(t)
		wantFares(t, one, func(f fare1) any { return f.Price }, "[1.70 2.50 3.50]")
		wantFares(t, two, text2, "[1.70 2.50 3.50]")

		rewrite(t, two, func(f *fare2) string { return f.ID }) // no program of the first version runs any more
		three := faresOf[fare3](t, store)
		wantFares(t, three, cents3, "[170 250 350]")
		good(two.Update(ctx, repo.Key{"b"}, func(f *fare2) error { f.Price = "2.60"; return nil }))(t)
		good(three.Update(ctx, repo.Key{"c"}, func(f *fare3) error { f.Cents = 360; return nil }))(t)
		wantFares(t, two, text2, "[1.70 2.60 3.60]")
		wantFares(t, three, cents3, "[170 260 360]")

		four := faresOf[fare4](t, store, repo.Index{Name: "by_cents", Sort: []string{"cents"}, Buckets: 4})
		must(t, four.Ready(ctx, "by_cents"))
		good(four.Update(ctx, repo.Key{"a"}, func(f *fare4) error { f.Cents = 180; return nil }))(t)
		good(three.Update(ctx, repo.Key{"b"}, func(f *fare3) error { f.Cents = 190; return nil }))(t)
		wantFares(t, three, cents3, "[180 190 360]")
		if found := good(repo.Collect(four.Find(ctx, repo.All().Range("cents", 180, 200).Order("cents"))))(t); len(found) != 2 || found[0].ID != "a" || found[1].ID != "b" {
			t.Errorf("by cents: %v", found)
		}
	})
}
