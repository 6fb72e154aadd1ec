package repo_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
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
	}[d.IntN(22)]
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
		found := 0
		for range 200 {
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
		if found < 150 {
			t.Errorf("%s: %d groupings", name, found)
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
