package link_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/link"
)

// A wanted is a set with what it means.
type wanted struct {
	froms          bool
	all, any, none []string
	union          bool // whether any counts
}

func some(d *rand.Rand, most int) (list []string) {
	for range d.IntN(most + 1) {
		list = append(list, hostile[d.IntN(len(hostile))])
	}
	return list
}

func drawWanted(d *rand.Rand) wanted {
	w := wanted{froms: d.IntN(2) == 0, all: some(d, 3), any: some(d, 4), none: some(d, 2)}
	if w.union = len(w.any) > 0; len(w.all) == 0 {
		w.union = true
	}
	return w
}

func values(list []string) (out []any) {
	for _, one := range list {
		out = append(out, one)
	}
	return out
}

func (w wanted) set(links *link.Links[follow]) link.Set {
	s := links.Tos()
	if w.froms {
		s = links.Froms()
	}
	s = s.AllOf(values(w.all)...).NoneOf(values(w.none)...)
	if w.union {
		s = s.AnyOf(values(w.any)...)
	}
	return s
}

// members returns what the set has by a look at all links.
func (w wanted) members(list []follow) (ids []string) {
	linked := map[string]map[string]bool{}
	for _, f := range list {
		member, other := f.Whom, f.Who
		if w.froms {
			member, other = other, member
		}
		if linked[member] == nil {
			linked[member] = map[string]bool{}
		}
		linked[member][other] = true
	}
	for member, others := range linked {
		has := func(other string) bool { return others[other] }
		lacks := func(other string) bool { return !others[other] }
		if !slices.ContainsFunc(w.all, lacks) && !slices.ContainsFunc(w.none, has) && (!w.union || slices.ContainsFunc(w.any, has)) {
			ids = append(ids, member)
		}
	}
	slices.Sort(ids)
	return ids
}

func ids(keys []repo.Key) (list []string) {
	for _, key := range keys {
		list = append(list, key[0].(string))
	}
	return list
}

// checkSet says where a set differs from its members.
func checkSet(t *testing.T, set link.Set, want []string) error {
	t.Helper()
	keys, err := repo.Collect(set.Find(t.Context()))
	if got := ids(keys); err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("%q, %w, want %q", got, err, want)
	}
	if n, err := set.Limit(5).Count(t.Context()); n != min(5, len(want)) || err != nil {
		return fmt.Errorf("counted %d of %d, %w", n, len(want), err)
	}
	var all []string
	for next, n := "", 0; n == 0 || next != ""; n++ {
		page, err := set.Limit(3).Page(t.Context(), next)
		if err != nil || page.Items == nil || len(page.Items) > 3 || page.Next != "" && len(page.Items) < 3 {
			return fmt.Errorf("a page of %d, %q, %w", len(page.Items), page.Next, err)
		}
		all, next = append(all, ids(page.Items)...), page.Next
	}
	if !slices.Equal(all, want) {
		return fmt.Errorf("pages of %q, want %q", all, want)
	}
	return nil
}

// Random sets have the members that a look at all links finds.
func TestSets(t *testing.T) {
	onAll(t, func(t *testing.T, store *repo.Store, schema link.Schema) {
		links, list := open(t, store, schema), random(2)
		add(t, links, list)
		d := rand.New(rand.NewPCG(3, 4))
		some, noticed := 0, 0
		for range 120 {
			w := drawWanted(d)
			want := w.members(list)
			if err := checkSet(t, w.set(links), want); err != nil {
				t.Errorf("%+v: %v", w, err)
			}
			if len(want) > 0 {
				some++
			}
			if checkSet(t, w.set(links), w.members(list[:len(list)-60])) != nil {
				noticed++
			}
		}
		if some < 40 || noticed < 40 {
			t.Errorf("%d sets have members, and of %d wrong members are noticed", some, noticed)
		}
	})
}

// A Set is a value: narrowing it leaves it as it was.
func TestSetsAreValues(t *testing.T) {
	links := open(t, newStore(t, "memory", nil), schemas["by ID"])
	add(t, links, []follow{{Who: "a", Whom: "x"}, {Who: "b", Whom: "x"}, {Who: "b", Whom: "y"}, {Who: "c", Whom: "z"}})
	x := links.Froms().AllOf("x").NoneOf("q")
	y, z := x.AllOf("y").NoneOf("n"), x.AnyOf("z").NoneOf("m")
	for set, want := range map[*link.Set][]string{&x: {"a", "b"}, &y: {"b"}, &z: nil} {
		if err := checkSet(t, *set, want); err != nil {
			t.Error(err)
		}
	}
}

// An order that is not that of the IDs needs an index for sets on its side, which the error names.
func TestSetsWithoutIndex(t *testing.T) {
	schema := schemas["by time"]
	schema.Indexes = nil
	links := open(t, newStore(t, "memory", nil), schema)
	add(t, links, []follow{{Who: "a", Whom: "b"}})
	_, err := links.Froms().AllOf("b").Page(t.Context(), "")
	if isKind(t, err, repo.ErrNoIndex); err == nil || !contains(err, `{Partition: ["whom"], Sort: ["who"]}`) {
		t.Error(err)
	}
	if err := checkSet(t, links.Tos().AllOf("a"), []string{"b"}); err != nil {
		t.Error(err)
	}
}

// A cursor is of its set alone, and a page continues where links come and go.
func TestCursors(t *testing.T) {
	links, ctx := open(t, newStore(t, "memory", nil), schemas["by ID"]), t.Context()
	for i := range 10 {
		add(t, links, []follow{{Who: fmt.Sprint(i), Whom: "x"}, {Who: fmt.Sprint(i), Whom: "y"}})
	}
	set := links.Froms().AllOf("x", "y").Limit(4)
	first, err := set.Page(ctx, "")
	if err != nil || !slices.Equal(ids(first.Items), []string{"0", "1", "2", "3"}) {
		t.Fatal(first, err)
	}
	for _, who := range []string{"3", "5"} {
		if err := links.Remove(ctx, who, "y"); err != nil {
			t.Fatal(err)
		}
	}
	second, err := set.Limit(3).Page(ctx, first.Next)
	if err != nil || !slices.Equal(ids(second.Items), []string{"4", "6", "7"}) {
		t.Error(second, err)
	}
	for name, s := range map[string]link.Set{"more": set.NoneOf("z"), "fewer": links.Froms().AllOf("x"), "other side": links.Tos().AllOf("x", "y"), "any": links.Froms().AnyOf("x", "y")} {
		if _, err := s.Page(ctx, first.Next); !errors.Is(err, repo.ErrCursor) || !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := range first.Next {
		for _, bad := range []string{first.Next[:i], first.Next[:i] + "~" + first.Next[i+1:], first.Next[:i] + "A" + first.Next[i:]} {
			if _, err := set.Page(ctx, bad); bad != "" && !errors.Is(err, repo.ErrCursor) {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	}
}

// Ends that are integers, and types with texts of their own, are compared as the store orders them.
func TestKindsOfIDs(t *testing.T) {
	links, err := link.Open[like](t.Context(), newStore(t, "memory", nil), link.Schema{Collection: "likes", From: "user", To: "post"})
	if err != nil {
		t.Fatal(err)
	}
	for user := int32(-50); user < 50; user++ {
		for post := range 4 {
			if user%int32(post+1) == 0 {
				if err := links.Add(t.Context(), &like{user, code(post)}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	set := links.Froms().AllOf(code(1), "code 2").NoneOf(code(3)).Limit(3)
	var got []int64
	for next, n := "", 0; n == 0 || next != ""; n++ {
		page, err := set.Page(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range page.Items {
			got = append(got, key[0].(int64))
		}
		next = page.Next
	}
	if want := []int64{-42, -30, -18, -6, 6, 18, 30, 42}; !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
	keys, err := repo.Collect(links.Tos().AllOf(int8(-2), uint16(6)).Find(t.Context()))
	if got := ids(keys); err != nil || !slices.Equal(got, []string{"code 0", "code 1"}) {
		t.Errorf("got %q, %v", got, err)
	}
}
