package repo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/polystore/polystore/repo"
)

func hostsOf(t *testing.T) *repo.Repo[host] {
	t.Helper()
	hosts, err := repo.Open[host](t.Context(), newStore(t, nil), repo.Schema{Collection: "hosts", Partition: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"tags[]"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return hosts
}

// Edits that go by what is there, and what they come to.
var workedEdits = []struct {
	edits []repo.Edit
	want  string // of tags, part, labels, extra; or an error
}{
	{[]repo.Edit{repo.Push("tags", 0, "c", "d")}, "[a b c d] {five 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Push("tags", 3, "c", "d")}, "[b c d] {five 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.PushFront("tags", 3, "c", "d")}, "[c d a] {five 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.PushFront("tags", 1)}, "[a] {five 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Pull("tags", "b", "z")}, "[a] {five 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Pull("tags", "a", "b")}, "[] {five 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Push("tags", -1, "c")}, "-1 elements"},
	{[]repo.Edit{repo.Push("tags", 0, 7)}, "field tags of the struct"},
	{[]repo.Edit{repo.Push("tags", 0, nil)}, "nil or empty"},
	{[]repo.Edit{repo.Push("note", 0, "c")}, "kind string, not a list"},
	{[]repo.Edit{repo.Push("id", 0, "c")}, "part of the key"},
	{[]repo.Edit{repo.Set("part.name", "six"), repo.Add("part.price", 0.5)}, "[a b] {six 5.5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Add("part.price", -2)}, "[a b] {five 3 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Set("part.next.next.name", "deep")}, "[a b] {five 5 { 0 {deep 0 nil}}} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Unset("part.name")}, "[a b] { 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Set("part.name", 5)}, "field part of the struct"},
	{[]repo.Edit{repo.Set("part.name.x", "y")}, "a string has no part"},
	{[]repo.Edit{repo.Set("part.naem", "x")}, `field part has no part "naem"; the parts there are at, name, next, price`},
	{[]repo.Edit{repo.Unset("part.naem")}, `field part has no part "naem"; the parts there are`},
	{[]repo.Edit{repo.Add("part.next.pirce", 1)}, `field part has no part "next.pirce"; the parts there are`},
	{[]repo.Edit{repo.Set("labels.k.x", "y")}, `a string has no part "x"`},
	{[]repo.Edit{repo.Set("part", part{}), repo.Set("part.name", "x")}, "edited twice"},
	{[]repo.Edit{repo.Set("part.name", "x"), repo.Unset("part")}, "edited twice"},
	{[]repo.Edit{repo.Set("part..name", "x")}, "a part that is empty"},
	{[]repo.Edit{repo.Set("part.", "x")}, "a part that is empty"},
	{[]repo.Edit{repo.Set("part."+strings.Repeat("n.", 40)+"n", "x")}, "over 32 parts"},
	{[]repo.Edit{repo.Set("note.x", "x")}, "kind string, which has no parts"},
	{[]repo.Edit{repo.Set("id.x", "x")}, "part of the key"},
	{[]repo.Edit{repo.Unset("labels.k"), repo.Set("labels.new", "w")}, "[a b] {five 5 nil} map[new:w] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Unset("labels.k")}, "[a b] {five 5 nil} map[] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Unset("labels.none.at.all")}, `a string has no part "at"`},
	{[]repo.Edit{repo.Unset("labels.none")}, "[a b] {five 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Set("tags.1", "z")}, "[a z] {five 5 nil} map[k:v] map[m:map[x:1]]"},
	{[]repo.Edit{repo.Set("tags.2", "z")}, "has none at"},
	{[]repo.Edit{repo.Unset("tags.1")}, "see Pull"},
	{[]repo.Edit{repo.Add("m.x", 2), repo.Add("m.y.z", 0.25), repo.Push("l", 2, 1, 2, 3)}, "[a b] {five 5 nil} map[k:v] map[l:[2 3] m:map[x:3 y:map[z:0.25]]]"},
	{[]repo.Edit{repo.Add("m.x", 0.5)}, "add a fraction to a int"},
	{[]repo.Edit{repo.Add("new", 0.5), repo.Add("newer", 2)}, "[a b] {five 5 nil} map[k:v] map[m:map[x:1] new:0.5 newer:2]"},
	{[]repo.Edit{repo.Add("count", 0.5)}, "count is of kind int, not float"},
	{[]repo.Edit{repo.Add("note", 1)}, "Add is for numbers"},
	{[]repo.Edit{repo.Unset("m.x")}, "[a b] {five 5 nil} map[k:v] map[]"},
}

func TestWorkedEdits(t *testing.T) {
	hosts := hostsOf(t)
	for i, tt := range workedEdits {
		h := host{ID: fmt.Sprint(i), Tags: []string{"a", "b"}, Part: part{Name: "five", Price: 5}, Labels: map[string]string{"k": "v"}, Extra: map[string]any{"m": map[string]any{"x": 1}}}
		if err := hosts.Insert(t.Context(), &h); err != nil {
			t.Fatal(err)
		}
		got, err := hosts.PatchGet(t.Context(), repo.Key{h.ID}, tt.edits...)
		said := told(got)
		if err != nil {
			said = err.Error()
			if !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("edit %d: %v, want ErrInvalid", i, err)
			}
		}
		if said != tt.want && (err == nil || !strings.Contains(said, tt.want)) {
			t.Errorf("edit %d: %s, want %s", i, said, tt.want)
		}
		if is, failed := hosts.Get(t.Context(), repo.Key{h.ID}); failed != nil || err == nil && told(is) != said {
			t.Errorf("edit %d: got %s, and %s is there, %v", i, said, told(is), failed)
		}
	}
	if reports, err := hosts.Verify(t.Context()); err != nil || !reports[0].Clean() {
		t.Error(reports, err)
	}
	found, err := repo.Collect(hosts.Find(t.Context(), repo.Where("tags[]", "d")))
	if err != nil || len(found) != 3 {
		t.Errorf("%d have the tag that was pushed, %v, want 3", len(found), err)
	}
}

func told(h host) string {
	price := func(p part) string { return fmt.Sprintf("%s %v", p.Name, p.Price) }
	inner := "nil"
	if n := h.Part.Next; n != nil {
		inner = "{" + price(*n) + " nil}"
		if n.Next != nil {
			inner = "{" + price(*n) + " {" + price(*n.Next) + " nil}}"
		}
	}
	return fmt.Sprintf("%v {%s %s} %v %v", h.Tags, price(h.Part), inner, h.Labels, h.Extra)
}

// No edit that goes by what is there is lost beside others.
func TestWorkedEditsAtOnce(t *testing.T) {
	hosts := hostsOf(t)
	if err := hosts.Insert(t.Context(), &host{ID: "h"}); err != nil {
		t.Fatal(err)
	}
	const writers, each = 8, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				_, err := hosts.Patch(t.Context(), repo.Key{"h"}, repo.Push("tags", 0, fmt.Sprint(w, n)), repo.Add("part.price", 0.5), repo.Add("m.n", 1))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	h, err := hosts.Get(t.Context(), repo.Key{"h"})
	slices.Sort(h.Tags)
	if m, _ := h.Extra["m"].(map[string]any); err != nil || len(slices.Compact(h.Tags)) != writers*each || h.Part.Price != writers*each/2 || m["n"] != int64(writers*each) {
		t.Errorf("%d tags, price %v, %v, %v", len(h.Tags), h.Part.Price, h.Extra, err)
	}
}

// Edits that go by what is there are those of every patch, of maps too.
func TestWorkedEditsByEveryPatch(t *testing.T) {
	ctx, key := t.Context(), repo.Key{"m"}
	maps, err := repo.Open[map[string]any](ctx, newStore(t, nil), repo.Schema{Collection: "maps", Partition: []string{"id"}, Fields: map[string]string{"id": "string", "list": "list", "n": "int", "f": "float", "m": "map"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Insert(ctx, &map[string]any{"id": "m", "n": 1}); err != nil {
		t.Fatal(err)
	}
	first, err := maps.PatchGet(ctx, key, repo.Push("list", 0, "a"), repo.Add("f", 1.5), repo.Set("m.x.y", true), repo.Add("free.n", 1))
	if err != nil {
		t.Fatal(err)
	}
	version, _ := first["_version"].(repo.Version)
	_, patchIf := maps.PatchIf(ctx, key, version, repo.Push("list", 0, "b"))
	_, stale := maps.PatchIf(ctx, key, version, repo.Push("list", 0, "lost"))
	_, blind := maps.PatchBlind(ctx, key, repo.PushFront("list", 0, "c"))
	n, all := maps.PatchAll(ctx, func(yield func(repo.Key, error) bool) { yield(key, nil) }, repo.Add("f", 1), repo.Pull("list", "a"))
	g := maps.Store().Group()
	maps.In(g).Patch(key, repo.Push("list", 3, "d", "e"), repo.Unset("m.x"))
	if err := errors.Join(patchIf, blind, all, g.Commit(ctx)); err != nil || n != 1 || !errors.Is(stale, repo.ErrConflict) {
		t.Errorf("%v; %d; %v", err, n, stale)
	}
	got, err := maps.Get(ctx, key)
	delete(got, "_version")
	if want := "map[f:2.5 free:map[n:1] id:m list:[b d e] n:1]"; fmt.Sprint(got) != want || err != nil {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
	for what, e := range map[string]repo.Edit{
		"a list in a map": repo.Push("m", 0, 1), "a part of a number": repo.Set("n.x", 1), "a fraction of an integer": repo.Add("n", 0.5), "a map in a list": repo.Set("list.x", 1),
	} {
		if _, err := maps.Patch(ctx, key, e); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", what, err)
		}
	}
}
