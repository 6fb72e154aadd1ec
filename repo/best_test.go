package repo_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A rankedQuery is one with what it means.
type rankedQuery struct {
	wanted
	tags          []string
	limit, offset int
}

// drawRanked returns a query for the best by their tags.
func drawRanked(d *rand.Rand) rankedQuery {
	q := rankedQuery{limit: 1 + d.IntN(12), offset: max(0, d.IntN(8)-4)}
	var tags []any
	for range d.IntN(6) {
		tag := []string{"x", "y", "z", "x y", "", "unknown"}[d.IntN(6)]
		tags, q.tags = append(tags, tag), append(q.tags, tag)
	}
	tagged := func(w *ware) bool { return q.count(w) > 0 }
	byPrice := func(a, b *ware) int { return cmp.Compare(a.Price, b.Price) }
	dearest := func(a, b *ware) int { return cmp.Or(cmp.Compare(b.Price, a.Price), cmp.Compare(b.ID, a.ID)) } // backwards
	byKey := func(_, _ *ware) int { return 0 }
	low := int64(d.IntN(5))
	kind := []string{"a", "b", "b0", "c"}[d.IntN(4)]
	of := func(q repo.Query) repo.Query { return q.AnyOf("tags[]", tags...) }
	q.wanted = []wanted{
		{of(repo.All()).Order("price"), tagged, byPrice},
		{of(repo.All()), tagged, byPrice},
		{of(repo.All()).AtLeast("price", low), func(w *ware) bool { return tagged(w) && w.Price >= low }, byPrice},
		{of(repo.Where("shop", "s1")).Order("-price"), func(w *ware) bool { return tagged(w) && w.Shop == "s1" }, dearest},
		{of(repo.All().AnyOf("shop", "s{", "s2", "s3")).Order("price"), func(w *ware) bool { return tagged(w) && w.Shop != "s1" }, byPrice},
		{of(repo.Where("kind", kind)), func(w *ware) bool { return tagged(w) && w.Kind == kind }, byKey},
		{of(repo.All().AnyOf("kind", kind, "a")), func(w *ware) bool { return tagged(w) && (w.Kind == kind || w.Kind == "a") }, byKey},
	}[d.IntN(7)]
	has := q.has
	switch d.IntN(5) {
	case 0:
		q.q, q.has = q.q.NoneOf("kind", kind), func(w *ware) bool { return has(w) && w.Kind != kind }
	case 1:
		q.q = q.q.Filter(repo.All().AllOf("code", "c77").AtLeast("id", low), 2000)
		q.has = func(w *ware) bool { return has(w) && w.ID >= low && w.Code == "c77" }
	case 2:
		q.q, q.has = q.q.Filter(repo.Where("price", low), 2000), func(w *ware) bool { return has(w) && w.Price == low }
	}
	q.q = q.q.Limit(q.limit).Offset(q.offset)
	return q
}

// count returns how many of the tags a ware has.
func (q *rankedQuery) count(w *ware) (n int) {
	for i, tag := range q.tags {
		if !slices.Contains(q.tags[:i], tag) && slices.Contains(w.Tags, tag) {
			n++
		}
	}
	return n
}

// of returns the best of some wares, as texts.
func (q *rankedQuery) of(list []ware) string {
	all := q.wanted.of(list)
	slices.SortStableFunc(all, func(a, b ware) int { return q.count(&b) - q.count(&a) })
	all = all[min(q.offset, len(all)):]
	text := ""
	for i := range all[:min(q.limit, len(all))] {
		text += fmt.Sprintf("%s/%d: %d ", all[i].Shop, all[i].ID, q.count(&all[i]))
	}
	return text
}

// A wareKey is the key of a ware, seen by itself.
type wareKey struct {
	Shop string `repo:"shop"`
	ID   int64  `repo:"id"`
}

// ranking ranks wares so many times, and compares.
func ranking(t *testing.T, d *rand.Rand, name string, r *repo.Repo[ware], list []ware, times int) {
	t.Helper()
	view, err := repo.ViewOf[wareKey](r)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		q := drawRanked(d)
		want := q.of(list)
		var whole, keys string
		found, err := repo.Best(t.Context(), r, q.q)
		for _, one := range found {
			whole += fmt.Sprintf("%s/%d: %d ", one.Record.Shop, one.Record.ID, one.Count)
			if i := slices.IndexFunc(list, func(w ware) bool { return w.Code == one.Record.Code }); i < 0 || !reflect.DeepEqual(list[i], one.Record) {
				t.Errorf("%s: %v is no record", name, one.Record)
			}
		}
		seen, err2 := repo.Best(t.Context(), view, q.q)
		for _, one := range seen {
			keys += fmt.Sprintf("%s/%d: %d ", one.Record.Shop, one.Record.ID, one.Count)
		}
		if whole != want || keys != want || err != nil || err2 != nil {
			t.Fatalf("%s: %s, %d behind %d:\nfound %s, %v\n  and %s, %v\n want %s", name, q.q, q.limit, q.offset, whole, err, keys, err2, want)
		}
	}
}

// The best are those of a look at all records, however they are asked.
func TestBest(t *testing.T) {
	d := rand.New(rand.NewPCG(4, 1))
	for range 4 {
		list := drawWares(d, 300)
		for name, r := range wares(t, list) {
			ranking(t, d, name, r, list, 250)
		}
	}
}

// Rows that records gave up, and that nobody took away, neither hide records nor count.
func TestBestAmongStaleRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := rand.New(rand.NewPCG(4, 2))
		list, s := drawWares(d, 400), newNarrow()
		store := repo.NewStore(s, nil)
		defer store.Close()
		r := filled(t, store, wareSchema(), list...)
		s.meddle(func(op *driver.Op) fate {
			if op.Table.Class == driver.Rows && op.Do == driver.Delete {
				return never
			}
			return asUsual
		})
		for range 3 {
			next := drawWares(d, 400)
			for i := range next {
				if err := r.Put(t.Context(), &next[i]); err != nil {
					t.Fatal(err)
				}
			}
			if n := rowsIn(t, s, "wares.by_tags_price"); n < 700 {
				t.Fatalf("%d rows are there, or this tests nothing", n)
			}
			ranking(t, d, "with stale rows", r, next, 300)
		}
	})
}

// Where more records are passed over than are remembered the rows are read again, for those that come behind.
func TestBestReadsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last repo.Event
		s := newNarrow()
		store := repo.NewStore(s, &repo.Options{Tracer: ended(func(e repo.Event) { last = e })})
		defer store.Close()
		var list []ware
		for i := range 1000 {
			list = append(list, ware{Shop: "s1", ID: int64(i), Kind: "a", Code: fmt.Sprint("c", i), Label: fmt.Sprint("l", i), Tags: []string{"x", "y"}})
		}
		r := filled(t, store, wareSchema(), list...)
		s.meddle(func(op *driver.Op) fate {
			if op.Table.Class == driver.Rows && op.Do == driver.Delete {
				return never
			}
			return asUsual
		})
		q := rankedQuery{tags: []string{"x", "y"}, limit: 10}
		q.q, q.has, q.less = repo.All().AnyOf("tags[]", "x", "y").Limit(10), func(*ware) bool { return true }, func(_, _ *ware) int { return 0 }
		same := func(what string, most int) {
			t.Helper()
			text := ""
			found, err := repo.Best(t.Context(), r, q.q)
			for _, one := range found {
				text += fmt.Sprintf("%s/%d: %d ", one.Record.Shop, one.Record.ID, one.Count)
			}
			if want := q.of(list); text != want || err != nil || last.Rows > most {
				t.Errorf("%s: found %s, %v by %d rows; want %s by at most %d", what, text, err, last.Rows, want, most)
			}
		}
		same("as it is", 2000+10)
		q.q = q.q.Filter(repo.All().AtLeast("id", 900), 950)
		q.has = func(w *ware) bool { return w.ID >= 900 }
		same("filtered", 3*2000+1000)
		if _, err := repo.Best(t.Context(), r, q.q.Filter(repo.All(), 900)); !errors.Is(err, repo.ErrNoIndex) || !strings.Contains(err.Error(), "looked at 900 records and found 0") {
			t.Errorf("filtered among few: %v", err)
		}
		for i := range list[:995] {
			list[i].Tags = list[i].Tags[:1]
			if err := r.Put(t.Context(), &list[i]); err != nil {
				t.Fatal(err)
			}
		}
		q.q, q.has = repo.All().AnyOf("tags[]", "x", "y").Limit(10), func(*ware) bool { return true }
		same("with stale rows", 3*2000+1000)
		q.q, q.limit = q.q.Limit(3), 3
		same("a few with stale rows", 3*2000+1000)
	})
}

// A record whose place or values change between its rows and itself is there once, as it is then.
func TestBestOfMovingRecords(t *testing.T) {
	s := newNarrow()
	store := repo.NewStore(s, nil)
	defer store.Close()
	w := ware{Shop: "s1", ID: 1, Kind: "a", Code: "c", Label: "l", Tags: []string{"x", "y"}}
	r := filled(t, store, wareSchema(), w, ware{Shop: "s1", ID: 2, Kind: "a", Price: 2, Code: "d", Label: "m", Tags: []string{"x", "y"}})
	for i, edits := range [][]repo.Edit{{repo.Set("price", 5)}, {repo.Set("tags", []string{"y"})}, {repo.Set("tags", []string{"z"})}} {
		s.mu.Lock()
		s.onRead = func() {
			if _, err := r.Patch(t.Context(), repo.Key{"s1", int64(1)}, edits...); err != nil {
				t.Error(err)
			}
		}
		s.mu.Unlock()
		text := ""
		found, err := repo.Best(t.Context(), r, repo.All().AnyOf("tags[]", "x", "y").Limit(9))
		for _, one := range found {
			text += fmt.Sprintf("%d: %d of %d ", one.Record.ID, one.Count, one.Record.Price)
		}
		if want := []string{"2: 2 of 2 1: 2 of 5 ", "2: 2 of 2 1: 1 of 5 ", "2: 2 of 2 "}[i]; text != want || err != nil {
			t.Errorf("found %s, %v; want %s", text, err, want)
		}
	}
}

// Best reads the rows of the values, by pages, and then as many records as are wanted.
func TestBestCost(t *testing.T) {
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
	q := repo.All().AnyOf("tags[]", "common", "rare", "none", "rare").Limit(20)
	found, err := repo.Best(t.Context(), r, q)
	if len(found) != 20 || found[19].Record.ID != 1977 || found[19].Count != 2 || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if last.Op != "best" || last.Rows != 10_000+100+20 || last.Requests != 40+1+1+20 || last.Depth != 41 || last.Records != 20 || last.Index != "by_tags" {
		t.Errorf("it cost %+v", last)
	}
	p, err := repo.ExplainBest(r, q.Offset(5))
	if err != nil || p.Depth != 2 || p.Requests != 3 || !p.PerRecord || p.Covered || !strings.Contains(p.Why, "all rows of 3 values are counted in the order of the index, and the best 25 records are read") {
		t.Errorf("explained: %s, %v", p, err)
	}
	if depth, requests := p.Cost(600); depth != 2 || requests != 3+25 {
		t.Errorf("600 rows take %d requests, %d deep", requests, depth)
	}
	if depth, requests := p.Cost(7000); depth != 11 || requests != 30+25 {
		t.Errorf("7000 rows take %d requests, %d deep", requests, depth)
	}
}

func TestBestRefuses(t *testing.T) {
	r := wares(t, nil)["tables"]
	xy := repo.All().AnyOf("tags[]", "x", "y").Limit(5)
	var none *repo.Repo[ware]
	for text, q := range map[string]repo.Query{
		"say by Limit how many are wanted":        xy.Limit(0),
		"neither may be below 0":                  xy.Limit(-1),
		"at most 10000 records are ranked":        xy.Limit(10_001),
		"offset 9996: at most 10000 records":      xy.Offset(9996),
		"the query has 0 such":                    repo.Where("tags[]", "x").AnyOf("kind", "a").Limit(5),
		"the query has 2 such":                    xy.AnyOf("more[]", "x"),
		`field "no" is not declared`:              repo.All().AnyOf("no[]", "x").Limit(5),
		"field kind is of kind string and has no": repo.All().AnyOf("kind[]", "x").Limit(5),
		"no index answers":                        xy.Where("label", "l"),
	} {
		is := repo.ErrInvalid
		if strings.HasPrefix(text, "no index") {
			is = repo.ErrNoIndex
		}
		found, err := repo.Best(t.Context(), r, q)
		_, explained := repo.ExplainBest(r, q)
		for _, err := range []error{err, explained} {
			if !errors.Is(err, is) || !strings.Contains(err.Error(), text) || len(found) > 0 {
				t.Errorf("%s: %v, %v; want %q", q, found, err, text)
			}
		}
	}
	for name, do := range map[string]func(ctx context.Context) error{
		"the Repo or View is nil": func(ctx context.Context) error { _, err := repo.Best[ware](ctx, nil, xy); return err },
		"Repo or View is nil":     func(ctx context.Context) error { _, err := repo.Best(ctx, none, xy); return err },
		"View is nil":             func(context.Context) error { _, err := repo.ExplainBest[ware](nil, xy); return err },
		"the context is nil":      func(context.Context) error { _, err := repo.Best(nil, r, xy); return err }, //nolint:staticcheck // nil is refused
	} {
		if err := unpanicked(func() error { return do(t.Context()) }); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; want %q", err, name)
		}
	}
	if found, err := repo.Best(t.Context(), r, repo.All().AnyOf("tags[]").Limit(5)); len(found) > 0 || err != nil {
		t.Errorf("by no values: %v, %v", found, err)
	}
}
