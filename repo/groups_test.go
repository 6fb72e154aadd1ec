package repo_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A grouped is a query whose records are grouped, with what it means.
type grouped struct {
	q    repo.Query
	by   []string
	has  func(*ware) bool
	only func(tag string) bool // of elements by which records are grouped
	down bool                  // the greatest first
	any  bool                  // in any order
}

// A group is what is to be told of one.
type group struct {
	key   []any
	count int
	sum   int64
	list  []ware
}

func (g *group) String() string { return fmt.Sprintf("%v: %d, %d", g.key, g.count, g.sum) }

// keys returns the groups of a record.
func (g *grouped) keys(w *ware) [][]any {
	keys := [][]any{nil}
	for _, field := range g.by {
		var next [][]any
		for _, key := range keys {
			for _, v := range g.valuesOf(w, field) {
				next = append(next, append(key[:len(key):len(key)], v))
			}
		}
		keys = next
	}
	return keys
}

func (g *grouped) valuesOf(w *ware, field string) (list []any) {
	switch field {
	case "shop":
		return []any{w.Shop}
	case "kind":
		return []any{w.Kind}
	case "price":
		return []any{w.Price}
	case "id":
		return []any{w.ID}
	case "label":
		return []any{w.Label}
	}
	for i, tag := range w.Tags {
		if !slices.Contains(w.Tags[:i], tag) && (g.only == nil || g.only(tag)) {
			list = append(list, tag)
		}
	}
	return list
}

func (g *grouped) of(list []ware) (found []group) {
	for i := range list {
		if !g.has(&list[i]) {
			continue
		}
		for _, key := range g.keys(&list[i]) {
			at := slices.IndexFunc(found, func(f group) bool { return slices.Equal(f.key, key) })
			if at < 0 {
				at, found = len(found), append(found, group{key: key})
			}
			f := &found[at]
			f.count, f.sum, f.list = f.count+1, f.sum+list[i].Price, append(f.list, list[i])
		}
	}
	slices.SortFunc(found, func(a, b group) int {
		for i := range a.key {
			d := 0
			switch v := a.key[i].(type) {
			case int64:
				d = cmp.Compare(v, b.key[i].(int64))
			case string:
				d = strings.Compare(v, b.key[i].(string))
			}
			if d != 0 && g.down {
				d = -d
			}
			if d != 0 {
				return d
			}
		}
		return 0
	})
	return found
}

// drawGrouped returns a query that an index answers for groups.
func drawGrouped(d *rand.Rand) grouped {
	low := int64(d.IntN(4))
	inShop := func(w *ware) bool { return w.Shop == "s1" || w.Shop == "s{" }
	isXY := func(tag string) bool { return tag == "x" || tag == "y" }
	s1 := func(w *ware) bool { return w.Shop == "s1" }
	isA := func(w *ware) bool { return w.Kind == "a" }
	all := func(*ware) bool { return true }
	tagged := func(w *ware) bool { return slices.ContainsFunc(w.Tags, isXY) }
	shops, tags := repo.All().AnyOf("shop", "s1", "s{", "s1"), repo.All().AnyOf("tags[]", "x", "y", "none")
	return []grouped{
		{q: repo.Where("kind", "a").Order("-price"), by: []string{"price"}, has: isA, down: true},
		{q: repo.Where("kind", "a").Order("price"), by: []string{"kind", "price"}, has: isA},
		{q: repo.Where("kind", "a"), by: []string{"price"}, has: isA, any: true},
		{q: repo.Where("shop", "s1").Order("kind", "price"), by: []string{"kind"}, has: s1},
		{q: repo.Where("shop", "s1").Order("-kind", "-price"), by: []string{"shop", "kind", "price"}, has: s1, down: true},
		{q: repo.Where("shop", "s1").AtLeast("kind", "b"), by: []string{"kind"}, has: func(w *ware) bool { return s1(w) && w.Kind >= "b" }},
		{q: repo.Where("shop", "s1"), by: []string{"id"}, has: s1, any: true},
		{q: repo.Where("shop", "s1").Order("-label"), by: []string{"label"}, has: s1, down: true},
		{q: shops.Order("kind"), by: []string{"kind"}, has: inShop},
		{q: shops.Where("kind", "a").Order("-price"), by: []string{"price"}, has: func(w *ware) bool { return inShop(w) && isA(w) }, down: true},
		{q: shops, by: []string{"shop", "kind"}, has: inShop},
		{q: shops.AnyOf("kind", "a", "b").Order("price"), by: []string{"kind", "price"}, has: func(w *ware) bool { return inShop(w) && (isA(w) || w.Kind == "b") }},
		{q: repo.All().AtLeast("price", low).Order("-price"), by: []string{"price"}, has: func(w *ware) bool { return w.Price >= low }, down: true},
		{q: tags, by: []string{"tags[]"}, has: all, only: isXY},
		{q: tags.Order("price"), by: []string{"tags[]", "price"}, has: all, only: isXY},
		{q: tags.Order("price"), by: []string{"price"}, has: tagged},
		{q: shops.AnyOf("tags[]", "x", "y").Order("-price"), by: []string{"price"}, has: func(w *ware) bool { return inShop(w) && tagged(w) }, down: true},
		{q: repo.All().AllOf("tags[]", "x", "y").Order("price"), by: []string{"price"}, has: func(w *ware) bool { return slices.Contains(w.Tags, "x") && slices.Contains(w.Tags, "y") }},
		{q: repo.Where("shop", "s1"), by: []string{"tags[]"}, has: s1},
		{q: repo.Where("shop", "s1").Order("-tags[]", "-price"), by: []string{"tags[]", "price"}, has: s1, down: true},
		{q: shops.Order("tags[]"), by: []string{"tags[]"}, has: inShop},
		{q: repo.Where("shop", "s1").Prefix("tags[]", "x"), by: []string{"tags[]"}, has: s1, only: func(tag string) bool { return strings.HasPrefix(tag, "x") }},
		{q: repo.Where("kind", "a"), by: []string{"tags[]"}, has: isA},
		{q: repo.All().AnyOf("kind", "a", "b").Order("-tags[]"), by: []string{"tags[]"}, has: func(w *ware) bool { return isA(w) || w.Kind == "b" }, down: true},
	}[d.IntN(24)]
}

// narrowed is g with conditions that no index meets, at times.
func (g grouped) narrowed(d *rand.Rand) grouped {
	has := g.has
	switch d.IntN(4) {
	case 0:
		g.q = g.q.Filter(repo.All().Above("id", 20).Below("price", 5), 2000)
		g.has = func(w *ware) bool { return has(w) && w.ID > 20 && w.Price < 5 }
	case 1:
		g.q = g.q.NoneOf("code", "c1", "c5", "c9", "c14")
		g.has = func(w *ware) bool { return has(w) && !slices.Contains([]string{"c1", "c5", "c9", "c14"}, w.Code) }
	}
	return g
}

// Groups are those of a look at all records, in order, with counts, sums and first records.
func TestGroups(t *testing.T) {
	d := rand.New(rand.NewPCG(2, 2))
	list := drawWares(d, 300)
	for name, r := range wares(t, list) {
		if found := grouping(t, d, name, r, list); found < 100 {
			t.Errorf("%s: %d groupings", name, found)
		}
	}
}

// grouping groups records, in a way that is drawn, and compares. It returns how many queries have an index.
func grouping(t *testing.T, d *rand.Rand, name string, r *repo.Repo[ware], list []ware) (found int) {
	t.Helper()
	for range 150 {
		g := drawGrouped(d).narrowed(d)
		by := r.GroupBy(g.by...).Sum("price")
		got, err := repo.Collect(by.Find(t.Context(), g.q))
		if errors.Is(err, repo.ErrNoIndex) && strings.Contains(err.Error(), "is the store's own") && name == "native" {
			continue
		}
		if want := g.of(list); err != nil || !sameGroups(got, want, &g, true) {
			t.Fatalf("%s: %s by %v: found %v, %v; want %v", name, g.q, g.by, got, err, want)
		}
		found++
		sameParts(t, r, &g, g.of(list), got)
	}
	return found
}

// Rows that records gave up, and that nobody took away, count for no group.
func TestGroupsAmongStaleRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := rand.New(rand.NewPCG(2, 3))
		list, next, s := drawWares(d, 300), drawWares(d, 300), newNarrow()
		store := repo.NewStore(s, nil)
		defer store.Close()
		r := filled(t, store, wareSchema(), list...)
		s.meddle(func(op *driver.Op) fate {
			if op.Table.Class == driver.Rows && op.Do == driver.Delete {
				return never
			}
			return asUsual
		})
		for i := range next {
			if err := r.Put(t.Context(), &next[i]); err != nil {
				t.Fatal(err)
			}
		}
		if n := rowsIn(t, s, "wares.by_kind_price_desc"); n < 400 {
			t.Fatalf("%d rows are there, or this tests nothing", n)
		}
		grouping(t, d, "with stale rows", r, next)
	})
}

// A record that passes to another group while it is read is not in the old one.
func TestGroupsOfMovingRecords(t *testing.T) {
	s := newNarrow()
	r := openMembers(t, s, nil)
	insertMember(t, r, member{ID: "a", Team: "red", Score: 1})
	insertMember(t, r, member{ID: "b", Team: "red", Score: 2})
	by, q := r.GroupBy("score"), repo.Where("team", "red")
	for i, ask := range []func() (string, error){
		func() (string, error) {
			list, err := repo.Collect(by.Find(t.Context(), q))
			return fmt.Sprint(list), err
		},
		func() (string, error) {
			list, err := repo.Collect(by.First(t.Context(), q))
			return fmt.Sprint(list), err
		},
	} {
		setScore(t, r, "a", 1)
		s.mu.Lock()
		s.onRead = func() { setScore(t, r, "a", 5) }
		s.mu.Unlock()
		want := []string{"[{2 1 []}]", "[{b red 2 <nil> } {a red 5 <nil> }]"}[i]
		if got, err := ask(); got != want || err != nil {
			t.Errorf("found %s, %v; want %s", got, err, want)
		}
	}
}

// Groups that are read while records pass from one to another have records of their own, and are right in the end.
func TestGroupsAtOnce(t *testing.T) {
	d := rand.New(rand.NewPCG(2, 4))
	list := drawWares(d, 40)
	for name, r := range wares(t, list) {
		var wg sync.WaitGroup
		for w := range 3 {
			d := rand.New(rand.NewPCG(2, uint64(w)))
			wg.Go(func() {
				for range 40 {
					at := 3*d.IntN(13) + w
					kind, tags := fmt.Sprint(d.IntN(4)), []string{fmt.Sprint(d.IntN(4))}
					if _, err := r.Patch(t.Context(), repo.Key{list[at].Shop, list[at].ID}, repo.Set("kind", kind), repo.Set("tags", tags)); err != nil {
						t.Error(err)
					}
					list[at].Kind, list[at].Tags = kind, tags
				}
			})
		}
		for range 20 {
			for _, by := range []string{"kind", "price"} {
				read, err := repo.Collect(r.GroupBy("kind", by).First(t.Context(), repo.Where("kind", "1")))
				if by == "kind" && err == nil || by == "price" && err != nil || slices.ContainsFunc(read, func(w ware) bool { return w.Kind != "1" }) {
					t.Errorf("%s by %s: %v, %v", name, by, read, err)
				}
			}
			if _, err := repo.Collect(r.GroupBy("kind").Sum("price").Find(t.Context(), repo.Where("shop", "s1"))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		wg.Wait()
		grouping(t, d, name, r, list)
	}
}

func TestGroupsExpire(t *testing.T) {
	scope := driver.ScopePartition
	for _, o := range []*memory.Options{nil, {Scope: &scope}} {
		now := time.Unix(1_000_000, 0)
		store := repo.NewStore(memory.New(o), &repo.Options{Now: func() time.Time { return now }})
		defer store.Close()
		var list []visit
		for i := range 60 {
			list = append(list, visit{User: fmt.Sprint("u", i%4), ID: i, Ends: now.Add(time.Hour * time.Duration(1+i%3))})
		}
		r := filled(t, store, repo.Schema{Collection: "visits", Partition: []string{"user"}, Sort: []string{"id"},
			Indexes: []repo.Index{{Sort: []string{"-user", "id"}, Buckets: 3}}}, list...)
		by := r.GroupBy("user")
		for left := 3; left >= 0; left-- {
			got, err := repo.Collect(by.Find(t.Context(), repo.All()))
			n, err2 := by.Count(t.Context(), repo.All())
			firsts, err3 := repo.Collect(by.First(t.Context(), repo.All()))
			want := ""
			for i := 3; i >= 0 && left > 0; i-- {
				want += fmt.Sprintf("{u%d %d []} ", i, left*5)
			}
			if text := fmt.Sprint(got); text != "["+strings.TrimSpace(want)+"]" || errors.Join(err, err2, err3) != nil || n != len(got) || len(firsts) != n {
				t.Errorf("with %d hours left: %s, %d, %d, %v; want %s", left, text, n, len(firsts), errors.Join(err, err2, err3), want)
			}
			now = now.Add(time.Hour)
		}
	}
}

// All groups take one range, the number of groups one for each and one more, and the first records a read of each, too.
func TestGroupsCost(t *testing.T) {
	var last repo.Event
	store := newStore(t, &repo.Options{Tracer: ended(func(e repo.Event) { last = e })})
	const records, sections = 12_504, 57
	var list []ware
	for i := range records {
		list = append(list, ware{Shop: "s", ID: int64(i), Kind: fmt.Sprintf("section %02d", i%sections)})
	}
	r := filled(t, store, repo.Schema{Collection: "wares", Partition: []string{"shop"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"shop"}, Sort: []string{"kind"}}}}, list...)
	by, q := r.GroupBy("kind"), repo.Where("shop", "s")
	check := func(what string, n, requests, rows int, err error) {
		t.Helper()
		if n != sections || last.Requests != requests || last.Rows != rows || last.Index != "by_shop_kind" || err != nil {
			t.Errorf("%s: %d groups, %v, by %+v; want %d by %d requests and %d rows", what, n, err, last, sections, requests, rows)
		}
	}
	groups, err := repo.Collect(by.Find(t.Context(), q))
	check("groups", len(groups), 1, records, err)
	if g := groups[56]; g.Key.String() != "section 56" || g.Count != 219 {
		t.Errorf("the last is %v", g)
	}
	n, err := by.Count(t.Context(), q)
	check("number", n, sections+1, sections, err)
	firsts, err := repo.Collect(by.First(t.Context(), q))
	check("first", len(firsts), 2*sections+1, 2*sections, err)
	if p, err := by.Explain(q); err != nil || p.Index != "by_shop_kind" || p.Requests != 1 || p.PerRecord || !strings.Contains(p.String(), "the groups come in one pass") {
		t.Errorf("explained: %v, %v", p, err)
	}
	if p, err := by.Sum("price").Explain(q); err != nil || !p.PerRecord {
		t.Errorf("explained with a sum: %v, %v", p, err)
	}
	for range by.Find(t.Context(), q) {
		break
	}
	if last.Rows > 221 || last.Kind() != "" {
		t.Errorf("a loop that is left has read %d rows, %v", last.Rows, last.Err)
	}
}

func TestGroupSums(t *testing.T) {
	r, err := repo.Open[map[string]any](t.Context(), newStore(t, nil), repo.Schema{Collection: "sales", Partition: []string{"shop"}, Sort: []string{"day", "id"},
		Fields: map[string]string{"shop": "string", "day": "int", "id": "int", "price": "float", "items": "int"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, items := range []int64{math.MaxInt64, -3, 3, 5, 7, 1} {
		m := map[string]any{"shop": "s", "day": i / 2, "id": i, "items": items, "price": 0.5}
		if i == 3 {
			delete(m, "price")
		}
		if err := r.Insert(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	by, q := r.GroupBy("shop", "day").Sum("price", "items"), repo.Where("shop", "s")
	got, err := repo.Collect(by.Find(t.Context(), q))
	if text := fmt.Sprint(got); text != "[{s/0 2 [1 9223372036854775804]} {s/1 2 [0.5 8]} {s/2 2 [1 8]}]" || err != nil {
		t.Errorf("found %s, %v", text, err)
	}
	if _, err := r.Patch(t.Context(), repo.Key{"s", 1, 3}, repo.Set("items", int64(math.MaxInt64))); err != nil {
		t.Fatal(err)
	}
	got, err = repo.Collect(by.Find(t.Context(), q))
	if !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "the sum of items is over the range of int64") || len(got) != 1 {
		t.Errorf("over the range: %v, %v", got, err)
	}
}

func TestGroupsRefuse(t *testing.T) {
	all := wares(t, nil)
	r := all["tables"]
	a, shops := repo.Where("kind", "a"), repo.All().AnyOf("shop", "s1", "s2")
	for _, tt := range []struct {
		r    repo.Groups[ware]
		q    repo.Query
		is   error
		says string
	}{
		{r.GroupBy(), a, repo.ErrInvalid, "names no field"},
		{r.GroupBy("no"), a, repo.ErrInvalid, `field "no" is not declared`},
		{r.GroupBy("price", "price"), a, repo.ErrInvalid, "twice"},
		{r.GroupBy("tags"), a, repo.ErrInvalid, "ordered by tags"},
		{r.GroupBy("price"), a.Limit(-1), repo.ErrInvalid, "below 0"},
		{r.GroupBy("price"), a.Order("id", "price"), repo.ErrInvalid, "the order of groups begins with price"},
		{r.GroupBy("price", "label"), a.Order("price"), repo.ErrInvalid, "the order of groups begins with price, label"},
		{r.GroupBy("kind", "shop"), shops, repo.ErrInvalid, "group by shop, of which there are several values, before kind"},
		{r.GroupBy("tags[]"), repo.All().AllOf("tags[]", "x", "y"), repo.ErrInvalid, "make no groups; to group by all values, ask for these by Filter"},
		{r.GroupBy("shop"), shops.AnyOf("shop", 5), repo.ErrInvalid, "two conditions"},
		{r.GroupBy("label"), a, repo.ErrNoIndex, `grouped by label; add {Partition: ["kind"], Sort: ["label"]}`},
		{r.GroupBy("kind", "label"), repo.All(), repo.ErrNoIndex, `add {Partition: [], Sort: ["kind", "label"], Buckets: 16}`},
		{all["native"].GroupBy("tags[]"), repo.Where("shop", "s1"), repo.ErrNoIndex, "declare it with Kind table"},
		{r.GroupBy("price").Sum("no"), a, repo.ErrInvalid, "the field is not declared"},
		{r.GroupBy("price").Sum("code"), a, repo.ErrInvalid, "of kind string, and sums are of numbers"},
	} {
		_, err := repo.Collect(tt.r.Find(t.Context(), tt.q))
		_, explained := tt.r.Explain(tt.q)
		for _, err := range []error{err, explained} {
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v; want %q", tt.q, err, tt.says)
			}
		}
	}
	if p, err := r.GroupBy("shop", "kind").Explain(shops); err != nil || p.Requests != 2 || p.Depth != 2 || !strings.Contains(p.Why, "each of 2 values") {
		t.Errorf("explained: %v, %v", p, err)
	}
	if _, err := repo.Collect(r.GroupBy("price").Find(nil, a)); !errors.Is(err, repo.ErrInvalid) { //nolint:staticcheck // nil is refused
		t.Errorf("without a context: %v", err)
	}
}

// No index has the elements of two lists, so the error does not ask for one: a filter asks for the other.
func TestGroupsOfTwoLists(t *testing.T) {
	r, err := repo.Open[map[string]any](t.Context(), newStore(t, nil), repo.Schema{Collection: "pages", Partition: []string{"url"},
		Fields:  map[string]string{"url": "string", "site": "string", "words": "list", "tags": "list"},
		Indexes: []repo.Index{{Partition: []string{"site"}, Sort: []string{"tags[]"}}, {Partition: []string{"words[]"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, words := range [][]any{{"a", "b"}, {"a"}, {"b"}, {"a", "b", "c"}} {
		page := map[string]any{"url": fmt.Sprint(i), "site": "s", "words": words, "tags": []any{"x", fmt.Sprint("y", i/2)}}
		if err := r.Insert(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
	}
	by, site := r.GroupBy("tags[]"), repo.Where("site", "s")
	for _, q := range []repo.Query{site.AllOf("words[]", "a", "b"), site.AnyOf("words[]", "a", "b"), site.Where("words[]", "a")} {
		if _, err := repo.Collect(by.Find(t.Context(), q)); !errors.Is(err, repo.ErrNoIndex) || !strings.Contains(err.Error(), "an index has the elements of one list; ask for those of the other by Filter") {
			t.Errorf("%s: %v", q, err)
		}
	}
	for want, q := range map[string]repo.Query{
		"[{x 2 []} {y0 1 []} {y1 1 []}]":  site.Filter(repo.All().AllOf("words[]", "a", "b"), 100),
		"[{x 4 []} {y0 2 []} {y1 2 []}]":  site.Filter(repo.All().AnyOf("words[]", "a", "b"), 100),
		"[{x 2 []} {y0 1 []} {y1 1 []}] ": site.NoneOf("words[]", "c").Filter(repo.Where("words[]", "b"), 100),
	} {
		if got, err := repo.Collect(by.Find(t.Context(), q)); fmt.Sprint(got) != strings.TrimSpace(want) || err != nil {
			t.Errorf("%s: %v, %v; want %s", q, got, err, want)
		}
	}
}

// A filter looks at as many records as it may for all groups together.
func TestGroupsFiltered(t *testing.T) {
	list := drawWares(rand.New(rand.NewPCG(2, 5)), 300)
	for name, r := range wares(t, list) {
		q := repo.All().AnyOf("shop", "s1", "s2", "s3")
		for most, is := range map[int]error{224: repo.ErrNoIndex, 225: nil} {
			q := q.Filter(repo.All().AtLeast("price", 1), most)
			got, err := repo.Collect(r.GroupBy("shop", "kind").Find(t.Context(), q))
			if !errors.Is(err, is) || len(got) < 10 {
				t.Errorf("%s: %s: %d groups, %v; want %v", name, q, len(got), err, is)
			}
		}
	}
}

func sameGroups(got []repo.GroupCount, want []group, g *grouped, sums bool) bool {
	text := func(key []any, n int, sum any) string { return fmt.Sprint(key, n, sum) }
	var a, b []string
	for _, one := range got {
		if sums != (len(one.Sums) == 1) {
			return false
		}
		var sum any
		if sums {
			sum = one.Sums[0]
		}
		a = append(a, text(one.Key, one.Count, sum))
	}
	for _, one := range want {
		var sum any
		if sums {
			sum = one.sum
		}
		b = append(b, text(one.key, one.count, sum))
	}
	if g.any {
		slices.Sort(a)
		slices.Sort(b)
	}
	return slices.Equal(a, b)
}

// sameParts compares what else there is of groups with those that were found.
func sameParts(t *testing.T, r *repo.Repo[ware], g *grouped, want []group, found []repo.GroupCount) {
	t.Helper()
	by := r.GroupBy(g.by...)
	if got, err := repo.Collect(by.Find(t.Context(), g.q)); err != nil || !sameGroups(got, want, g, false) {
		t.Errorf("%s by %v: counted %v, %v; want %v", g.q, g.by, got, err, want)
	}
	some, err := repo.Collect(by.Sum("price").Find(t.Context(), g.q.Offset(1).Limit(3)))
	if part := found[min(1, len(found)):min(4, len(found))]; err != nil || fmt.Sprint(some) != fmt.Sprint(part) {
		t.Errorf("%s by %v: of the groups %v, %v; want %v", g.q, g.by, some, err, part)
	}
	if n, err := by.Count(t.Context(), g.q); n != len(want) || err != nil {
		t.Errorf("%s by %v: %d groups, %v; want %d", g.q, g.by, n, err, len(want))
	}
	if n, err := by.Count(t.Context(), g.q.Offset(1).Limit(3)); n != len(some) || err != nil {
		t.Errorf("%s by %v: %d of the groups, %v; want %d", g.q, g.by, n, err, len(some))
	}
	firsts, err := repo.Collect(by.First(t.Context(), g.q))
	if err != nil || len(firsts) != len(found) {
		t.Fatalf("%s by %v: the first are %v, %v; want %d", g.q, g.by, firsts, err, len(found))
	}
	for i, one := range found {
		at := slices.IndexFunc(want, func(w group) bool { return fmt.Sprint(w.key) == fmt.Sprint([]any(one.Key)) })
		if !slices.ContainsFunc(want[at].list, func(w ware) bool { return w.Code == firsts[i].Code && w.Price == firsts[i].Price }) {
			t.Errorf("%s by %v: the first of %v is %+v", g.q, g.by, one.Key, firsts[i])
		}
	}
}
