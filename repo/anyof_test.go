package repo_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A ware is a record whose fields have few values, so that many have the same.
type ware struct {
	Shop  string   `repo:"shop"`
	ID    int64    `repo:"id"`
	Kind  string   `repo:"kind"`
	Price int64    `repo:"price"`
	Tags  []string `repo:"tags"`
	Code  string   `repo:"code"`  // a unique one
	Label string   `repo:"label"` // unique in its shop
}

// wares returns repositories of the same records: with indexes of the record's partition, of others, with those of the
// store, on a store that commits a partition at a time, and on one that is asked for many things at the same time.
func wares(t *testing.T, list []ware) map[string]*repo.Repo[ware] {
	t.Helper()
	scope := driver.ScopePartition
	all := map[string]*repo.Repo[ware]{}
	for name, o := range map[string]struct {
		memory memory.Options
		kind   string
	}{"tables": {kind: "table"}, "native": {memory.Options{Native: true}, "native"}, "portable": {memory.Options{Scope: &scope}, "table"}} {
		schema := wareSchema()
		for i := range schema.Indexes[:5] {
			schema.Indexes[i].Kind = o.kind
		}
		store := repo.NewStore(memory.New(&o.memory), nil)
		t.Cleanup(func() { store.Close() })
		all[name] = filled(t, store, schema, list...)
	}
	store := repo.NewStore(newWatched(), nil)
	t.Cleanup(func() { store.Close() })
	all["far away"] = filled(t, store, wareSchema(), list...)
	return all
}

func wareSchema() repo.Schema {
	return repo.Schema{Collection: "wares", Partition: []string{"shop"}, Sort: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"kind"}, Sort: []string{"-price"}},
		{Partition: []string{"shop"}, Sort: []string{"kind", "price"}},
		{Partition: []string{"tags[]"}, Sort: []string{"price"}, Covers: []string{"*"}},
		{Partition: []string{"shop"}, Sort: []string{"tags[]", "price"}},
		{Partition: []string{"kind", "tags[]"}},
		{Sort: []string{"price"}, Buckets: 3},
		{Partition: []string{"code"}, Unique: true},
		{Partition: []string{"shop"}, Sort: []string{"-label"}, Unique: true},
		{Name: "tags_of_kinds", Partition: []string{"kind"}, Sort: []string{"tags[]"}},
	}}
}

// A wanted is a query with what it means.
type wanted struct {
	q    repo.Query
	has  func(*ware) bool
	less func(a, b *ware) int
}

func (w *wanted) of(list []ware) (found []ware) {
	for _, one := range list {
		if w.has(&one) {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b ware) int {
		return cmp.Or(w.less(&a, &b), cmp.Compare(a.Shop, b.Shop), cmp.Compare(a.ID, b.ID))
	})
	return found
}

func drawWanted(d *rand.Rand) wanted {
	texts := func(all ...string) (list []any, has func(string) bool) {
		var some []string
		for range d.IntN(5) {
			some = append(some, all[d.IntN(len(all))])
		}
		for _, one := range some {
			list = append(list, one)
		}
		return list, func(s string) bool { return slices.Contains(some, s) }
	}
	kinds, isKind := texts("a", "b", "b0", "c", "none")
	shops, isShop := texts("s1", "s2", "s3", "s{")
	tags, isTag := texts("x", "y", "z", "x y", "")
	tagged := func(w *ware) bool { return slices.ContainsFunc(w.Tags, isTag) }
	byPrice := func(a, b *ware) int { return cmp.Compare(a.Price, b.Price) }
	dearest := func(a, b *ware) int { return cmp.Compare(b.Price, a.Price) }
	byKey := func(_, _ *ware) int { return 0 }
	low := int64(d.IntN(4))
	allOf := func(w *ware) bool {
		return !slices.ContainsFunc(tags, func(one any) bool { return !slices.Contains(w.Tags, one.(string)) })
	}
	codes, isCode := texts("c1", "c12", "c5", "c50", "none")
	for _, code := range []string{"c2", "c22", "c222", "c3", "c33", "c100", "c101", "c7"} { // over several pages
		if d.IntN(3) > 0 {
			codes = append(codes, code)
		}
	}
	isCode = func(code string) bool { return slices.Contains(codes, any(code)) }
	byCode := func(a, b *ware) int { return cmp.Compare(a.Code, b.Code) }
	byLabel := func(a, b *ware) int { return cmp.Or(cmp.Compare(b.Label, a.Label), cmp.Compare(a.Shop, b.Shop)) }
	return []wanted{
		{repo.All().AnyOf("shop", shops...).Where("kind", "a").Order("price"), func(w *ware) bool { return isShop(w.Shop) && w.Kind == "a" }, byPrice},
		{repo.All().AnyOf("code", codes...), func(w *ware) bool { return isCode(w.Code) }, byCode},
		{repo.All().AnyOf("code", codes...).NoneOf("tags[]", tags...), func(w *ware) bool { return isCode(w.Code) && !tagged(w) }, byCode},
		{repo.All().AnyOf("shop", shops...).Below("label", "l3").Order("-label"), func(w *ware) bool { return isShop(w.Shop) && w.Label < "l3" }, byLabel},
		{repo.Where("tags[]", "y").AllOf("tags[]").NoneOf("tags[]", tags...).Order("price"), func(w *ware) bool { return slices.Contains(w.Tags, "y") && !tagged(w) }, byPrice},
		{repo.Where("shop", "s1").AllOf("tags[]", append(tags, "z")...).Order("price").NoneOf("kind", kinds...), func(w *ware) bool {
			return w.Shop == "s1" && allOf(w) && slices.Contains(w.Tags, "z") && !isKind(w.Kind)
		}, byPrice},
		{repo.Where("kind", "a").NoneOf("tags[]", tags...).Order("-price"), func(w *ware) bool { return w.Kind == "a" && !tagged(w) }, dearest},
		{repo.All().AllOf("tags[]", append(tags, "x")...).Order("price"), func(w *ware) bool { return allOf(w) && slices.Contains(w.Tags, "x") }, byPrice},
		{repo.All().AnyOf("kind", kinds...).AllOf("tags[]", append(tags, "y")...), func(w *ware) bool { return isKind(w.Kind) && allOf(w) && slices.Contains(w.Tags, "y") }, byKey},
		{repo.All().AnyOf("shop", shops...).NoneOf("code", "c1", "c5").NoneOf("tags[]", tags...), func(w *ware) bool { return isShop(w.Shop) && !tagged(w) && w.Code != "c1" && w.Code != "c5" }, byKey},
		{repo.All().AnyOf("kind", kinds...).Order("-price"), func(w *ware) bool { return isKind(w.Kind) }, dearest},
		{repo.Where("shop", "s1").AnyOf("kind", kinds...).AtLeast("price", low).Order("price"), func(w *ware) bool { return w.Shop == "s1" && isKind(w.Kind) && w.Price >= low }, byPrice},
		{repo.All().AnyOf("tags[]", tags...).Order("price"), tagged, byPrice},
		{repo.All().AnyOf("shop", shops...).AnyOf("tags[]", tags...).Order("price"), func(w *ware) bool { return isShop(w.Shop) && tagged(w) }, byPrice},
		{repo.All().AnyOf("shop", shops...).AnyOf("kind", kinds...).Order("price"), func(w *ware) bool { return isShop(w.Shop) && isKind(w.Kind) }, byPrice},
		{repo.Where("kind", "a").AnyOf("tags[]", tags...), func(w *ware) bool { return w.Kind == "a" && tagged(w) }, byKey},
		{repo.All().AnyOf("kind", kinds...).Below("price", low+2).Order("-price"), func(w *ware) bool { return isKind(w.Kind) && w.Price < low+2 }, dearest},
		{repo.All().AnyOf("kind", kinds...).AnyOf("tags[]", tags...), func(w *ware) bool { return isKind(w.Kind) && tagged(w) }, byKey},
	}[d.IntN(18)]
}

// Queries for several values find what a look at all records finds, in its order and each once, however they are asked.
func TestAnyOf(t *testing.T) {
	d := rand.New(rand.NewPCG(1, 2))
	list := drawWares(d, 300)
	for name, r := range wares(t, list) {
		for range 150 {
			w := drawWanted(d)
			want := w.of(list)
			if got, err := repo.Collect(r.Find(t.Context(), w.q)); !sameWares(got, want) || err != nil {
				t.Fatalf("%s: %s: found %d, %v; want %d", name, w.q, len(got), err, len(want))
			}
			if n, err := r.Count(t.Context(), w.q); n != len(want) || err != nil {
				t.Errorf("%s: %s: counted %d, %v; want %d", name, w.q, n, err, len(want))
			}
			if got, err := repo.Collect(r.Find(t.Context(), w.q.Limit(7))); !sameWares(got, want[:min(7, len(want))]) || err != nil {
				t.Errorf("%s: %s: the first 7 are %d, %v", name, w.q, len(got), err)
			}
			pagedWares(t, name, r, &w, want)
		}
	}
}

func sameWares(a, b []ware) bool {
	return slices.EqualFunc(a, b, func(a, b ware) bool { return a.ID == b.ID && a.Shop == b.Shop && a.Price == b.Price })
}

// pagedWares reads all pages of a query, forwards and back.
func pagedWares(t *testing.T, name string, r *repo.Repo[ware], w *wanted, want []ware) {
	t.Helper()
	var got []ware
	var cursors []string
	for cursor := ""; ; {
		page, err := r.Page(t.Context(), w.q.Limit(5), cursor)
		if err != nil {
			t.Fatalf("%s: %s: %v", name, w.q, err)
		}
		got, cursors = append(got, page.Items...), append(cursors, page.Prev)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if !sameWares(got, want) {
		t.Errorf("%s: %s: pages have %d, want %d", name, w.q, len(got), len(want))
	}
	last := (len(want) - 1) / 5 * 5
	for prev := cursors[len(cursors)-1]; prev != ""; last -= 5 {
		page, err := r.Page(t.Context(), w.q.Limit(5), prev)
		if err != nil || !sameWares(page.Items, want[last-5:last]) {
			t.Fatalf("%s: %s: the page before %d has %d, %v", name, w.q, last, len(page.Items), err)
		}
		prev = page.Prev
	}
}

// All of a common and a rare value take no more than twice the rows of the rare one: the many are not read through.
func TestAllOfReadsTheRare(t *testing.T) {
	var last repo.Event
	store := newStore(t, &repo.Options{Tracer: ended(func(e repo.Event) { last = e })})
	var list []ware
	for i := range 10_000 {
		w := ware{Shop: "s", ID: int64(i), Tags: []string{"common"}}
		if i%100 == 77 {
			w.Tags = append(w.Tags, "rare")
		}
		list = append(list, w)
	}
	r := filled(t, store, repo.Schema{Collection: "wares", Partition: []string{"shop"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"tags[]"}}}}, list...)
	read := func(q repo.Query) (found, rows int) {
		all, err := repo.Collect(r.Find(t.Context(), q))
		if err != nil {
			t.Fatal(err)
		}
		return len(all), last.Rows
	}
	n, rare := read(repo.Where("tags[]", "rare"))
	for _, tags := range [][]any{{"common", "rare"}, {"rare", "common"}} {
		both, rows := read(repo.All().AllOf("tags[]", tags...))
		if n != 100 || both != n || rows > 2*rare {
			t.Errorf("all of %v: %d records by %d rows; the rare one has %d by %d", tags, both, rows, n, rare)
		}
	}
	if n, common := read(repo.Where("tags[]", "common")); n != 10_000 || common < 10_000 {
		t.Errorf("the common one has %d records by %d rows", n, common)
	}
}

// Explain says that a query has several ways, and that records decide.
func TestExplainSets(t *testing.T) {
	r := wares(t, nil)["tables"]
	for _, tt := range []struct {
		q    repo.Query
		says []string
	}{
		{repo.All().AllOf("tags[]", "x", "y").Order("price"), []string{"of 2 values the one with the fewest rows is read", "each record in its range is looked at", "2 deep, 2 + 1 a record"}},
		{repo.Where("kind", "a").NoneOf("tags[]", "x").Order("-price"), []string{"each record in its range is looked at"}},
		{repo.All().AnyOf("tags[]", "x", "y").Order("price"), []string{"1 deep, 2 requests"}},
	} {
		p, err := r.Explain(tt.q)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range tt.says {
			if !strings.Contains(p.String(), text) {
				t.Errorf("%s: %s; it does not say %q", tt.q, p, text)
			}
		}
	}
}
