package repo_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

// drawWares returns records whose fields have few values.
func drawWares(d *rand.Rand, n int) (list []ware) {
	pick := func(all ...string) string { return all[d.IntN(len(all))] }
	for i := range n {
		w := ware{Shop: []string{"s1", "s2", "s3", "s{"}[i%4], ID: int64(i / 4), Kind: pick("a", "a", "b", "b0", "c"), Price: int64(d.IntN(6)), Code: fmt.Sprint("c", i), Label: fmt.Sprint("l", i/4)}
		for range d.IntN(4) {
			w.Tags = append(w.Tags, pick("x", "y", "z", "x y", ""))
		}
		list = append(list, w)
	}
	return list
}

// drawFiltered returns a query with a filter, which may look at so many records.
func drawFiltered(d *rand.Rand, most int) wanted {
	low := int64(d.IntN(5))
	from := fmt.Sprint("l", d.IntN(60))
	has := map[string]func(w *ware) bool{
		"ends": func(w *ware) bool { return w.Price >= low && w.Price < low+2 && w.Label >= from },
		"tags": func(w *ware) bool { return slices.Contains(w.Tags, "x") && slices.Contains(w.Tags, "y") },
		"kind": func(w *ware) bool { return (w.Kind == "a" || w.Kind == "c") && !slices.Contains(w.Tags, "z") },
	}
	by := map[string]repo.Query{
		"ends": repo.All().AtLeast("price", low).Below("price", low+2).AtLeast("label", from),
		"tags": repo.All().AllOf("tags[]", "x", "y"),
		"kind": repo.All().AnyOf("kind", "a", "c").NoneOf("tags[]", "z"),
	}
	name := []string{"ends", "tags", "kind"}[d.IntN(3)]
	byPrice := func(a, b *ware) int { return cmp.Compare(a.Price, b.Price) }
	byKey := func(_, _ *ware) int { return 0 }
	switch d.IntN(5) {
	case 0:
		var codes []any
		for range 60 {
			codes = append(codes, fmt.Sprint("c", d.IntN(300)))
		}
		return wanted{repo.All().AnyOf("code", codes...).Filter(by[name], most), func(w *ware) bool { return slices.Contains(codes, any(w.Code)) && has[name](w) },
			func(a, b *ware) int { return cmp.Compare(a.Code, b.Code) }}
	case 3:
		return wanted{repo.Where("shop", "s1").Filter(by[name], most), func(w *ware) bool { return w.Shop == "s1" && has[name](w) }, byKey}
	case 1:
		return wanted{repo.Where("tags[]", "x").Order("price").Filter(by[name], most), func(w *ware) bool { return slices.Contains(w.Tags, "x") && has[name](w) }, byPrice}
	case 2:
		return wanted{repo.All().Order("price").Filter(by[name], most).Filter(by["kind"], most), func(w *ware) bool { return has["kind"](w) && has[name](w) }, byPrice}
	}
	return wanted{repo.All().AnyOf("tags[]", "x", "y").Order("price").Filter(by[name], most),
		func(w *ware) bool {
			return (slices.Contains(w.Tags, "x") || slices.Contains(w.Tags, "y")) && has[name](w)
		}, byPrice}
}

// Filters find what a look at all records finds; an offset passes over the first of them.
func TestFilter(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 3))
	list := drawWares(d, 300)
	for name, r := range wares(t, list) {
		for range 100 {
			w := drawFiltered(d, 1000)
			want := w.of(list)
			if n, err := r.Count(t.Context(), w.q); n != len(want) || err != nil {
				t.Fatalf("%s: %s: counted %d, %v; want %d", name, w.q, n, err, len(want))
			}
			pagedWares(t, name, r, &w, want)
			over := d.IntN(20)
			rest := want[min(over, len(want)):]
			q := w.q.Offset(over)
			if n, err := r.Count(t.Context(), q.Limit(3)); n != min(3, len(rest)) || err != nil {
				t.Errorf("%s: %s: counted %d behind %d, %v; want 3 of %d", name, w.q, n, over, err, len(rest))
			}
			if got, err := repo.Collect(r.Find(t.Context(), q.Limit(3))); !sameWares(got, rest[:min(3, len(rest))]) || err != nil {
				t.Errorf("%s: %s: found %d behind %d, %v", name, w.q, len(got), over, err)
			}
			keys, err := repo.Collect(r.Keys(t.Context(), q))
			if err != nil || len(keys) != len(rest) || len(keys) > 0 && keys[0][1] != any(rest[0].ID) {
				t.Errorf("%s: %s: the keys behind %d are %v, %v", name, w.q, over, keys, err)
			}
			first, err := r.First(t.Context(), q)
			if len(rest) > 0 && (err != nil || first.ID != rest[0].ID) || len(rest) == 0 && !errors.Is(err, repo.ErrNotFound) {
				t.Errorf("%s: %s: the first behind %d is %v, %v", name, w.q, over, first, err)
			}
			pagesBehind(t, r, q, rest)
		}
	}
}

// pagesBehind reads the pages of a query that has an offset.
func pagesBehind(t *testing.T, r *repo.Repo[ware], q repo.Query, want []ware) {
	t.Helper()
	var got []ware
	for cursor := ""; ; {
		page, err := r.Page(t.Context(), q.Limit(7), cursor)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page.Items...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if !sameWares(got, want) {
		t.Errorf("%s: pages have %d, want %d", q, len(got), len(want))
	}
}

// The greatest numbers are no bounds.
func TestFilterWithoutBound(t *testing.T) {
	list := drawWares(rand.New(rand.NewPCG(1, 6)), 50)
	for name, r := range wares(t, list) {
		for _, q := range []repo.Query{
			repo.Where("shop", "s1").Filter(repo.All().AtLeast("price", 0), math.MaxInt),
			repo.All().AnyOf("shop", "s1").Offset(0).Limit(math.MaxInt),
			repo.All().AnyOf("shop", "s1", "none").Offset(1).Limit(math.MaxInt),
		} {
			got, err := repo.Collect(r.Find(t.Context(), q))
			if n, bad := r.Count(t.Context(), q); n != len(got) || n < 12 || err != nil || bad != nil {
				t.Errorf("%s: %s: found %d, %v, counted %d, %v", name, q, len(got), err, n, bad)
			}
		}
	}
}

// A filter that may look at few records ends a query with an error, and a page with a cursor: the pages have all,
// forwards and back.
func TestFilterLooksAtFew(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 4))
	list := drawWares(d, 300)
	for name, r := range wares(t, list) {
		ended := 0
		for range 100 {
			w := drawFiltered(d, 1+d.IntN(20))
			want := w.of(list)
			got, err := repo.Collect(r.Find(t.Context(), w.q))
			switch {
			case err == nil && sameWares(got, want):
			case errors.Is(err, repo.ErrNoIndex) && len(got) <= len(want) && sameWares(got, want[:len(got)]):
				ended++
			default:
				t.Errorf("%s: %s: found %d of %d, %v", name, w.q, len(got), len(want), err)
			}
			fewWares(t, name, r, w.q.Limit(5), want)
		}
		if ended < 50 {
			t.Errorf("%s: %d queries ended early", name, ended)
		}
	}
}

// fewWares reads the pages of a query whose filter looks at few records, to the end and back to the beginning.
func fewWares(t *testing.T, name string, r *repo.Repo[ware], q repo.Query, want []ware) {
	t.Helper()
	var got, back []ware
	var last repo.Page[ware]
	for cursor := ""; ; {
		page, err := r.Page(t.Context(), q, cursor)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, q, err)
		}
		got, last = append(got, page.Items...), page
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	back = last.Items
	for prev := last.Prev; prev != ""; {
		page, err := r.Page(t.Context(), q, prev)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, q, err)
		}
		back, prev = slices.Concat(page.Items, back), page.Prev
	}
	if !sameWares(got, want) || !sameWares(back, want) {
		t.Errorf("%s: %s: pages have %d, and %d back, want %d", name, q, len(got), len(back), len(want))
	}
}

func TestFilterRefuses(t *testing.T) {
	r := wares(t, nil)["tables"]
	for text, q := range map[string]repo.Query{
		"conditions alone":                 repo.Where("kind", "a").Filter(repo.All().Order("price"), 10),
		"at least 1 is needed":             repo.Where("kind", "a").Filter(repo.Where("price", 1), 0),
		`field "no" is not declared`:       repo.Where("kind", "a").Filter(repo.Where("no", 1), 10),
		"two conditions":                   repo.Where("kind", "a").Filter(repo.Where("price", 1).Where("price", 2), 10),
		"neither may be below 0":           repo.Where("kind", "a").Offset(-1),
		"price is of kind int, not string": repo.Where("kind", "a").Filter(repo.Where("price", "much"), 10),
	} {
		if _, err := repo.Collect(r.Find(t.Context(), q)); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v; want %q", q, err, text)
		}
	}
	q := repo.Where("kind", "a").NoneOf("tags[]", "x").Filter(repo.Where("price", 1), 10)
	p, err := r.Explain(q)
	if err != nil || !strings.Contains(p.String(), "each record in its range is looked at, at most 10") {
		t.Errorf("explained: %v, %v", p, err)
	}
}

// A cursor is that of a query with its filter, and all that it leaves out.
func TestFilterCursors(t *testing.T) {
	list := drawWares(rand.New(rand.NewPCG(1, 5)), 300)
	r := wares(t, list)["tables"]
	queries := []repo.Query{
		repo.Where("kind", "a").Order("-price"),
		repo.Where("kind", "a").Order("-price").NoneOf("tags[]", "x"),
		repo.Where("kind", "a").Order("-price").NoneOf("tags[]", "y"),
		repo.Where("kind", "a").Order("-price").Filter(repo.Where("shop", "s1"), 100),
		repo.Where("kind", "a").Order("-price").Filter(repo.Where("shop", "s2"), 100),
		repo.Where("kind", "a").Order("-price").Filter(repo.All().AtLeast("id", 3), 100),
		repo.Where("kind", "a").Order("-price").Filter(repo.All().Above("id", 3), 100),
		repo.All().AllOf("tags[]", "x", "y").Order("price"),
		repo.All().AllOf("tags[]", "x", "z").Order("price"),
	}
	for i, from := range queries {
		page, err := r.Page(t.Context(), from.Limit(2), "")
		if err != nil || page.Next == "" {
			t.Fatal(from, page, err)
		}
		for j, to := range queries {
			if _, err := r.Page(t.Context(), to.Limit(2), page.Next); (err == nil) != (i == j) || i != j && !errors.Is(err, repo.ErrCursor) {
				t.Errorf("the cursor of %s in %s: %v", from, to, err)
			}
		}
	}
}

func TestFindMany(t *testing.T) {
	var last repo.Event
	store := newStore(t, &repo.Options{Tracer: ended(func(e repo.Event) { last = e })})
	posts, err := repo.Open[post](t.Context(), store, blogSchema())
	if err != nil {
		t.Fatal(err)
	}
	fillBlog(t, posts)
	var queries []repo.Query
	for range 100 {
		queries = append(queries, repo.Where("author", "user:1000").Order("-created").Limit(1), repo.Where("author", "nobody").Order("-created"))
	}
	lists, err := posts.FindMany(t.Context(), queries)
	if err != nil || len(lists) != 200 || len(lists[0]) != 1 || lists[0][0].ID != "P0003" || lists[199] == nil || len(lists[199]) != 0 || last.Records != 100 || last.Batch != 200 {
		t.Errorf("found %v, %v; %+v", lists, err, last)
	}
	if lists, err = posts.FindMany(t.Context(), nil); err != nil || len(lists) != 0 {
		t.Errorf("found by no queries: %v, %v", lists, err)
	}
	queries[3] = repo.Where("title", "x")
	if lists, err = posts.FindMany(t.Context(), queries); !errors.Is(err, repo.ErrNoIndex) || !strings.Contains(err.Error(), "query 3") || lists != nil {
		t.Errorf("with a bad query: %v, %v", lists, err)
	}
}
