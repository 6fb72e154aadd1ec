package tree_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/tree"
)

type topic struct {
	tree.Node
	Title string `repo:"title"`
	Votes int    `repo:"votes"`
}

var sorted = tree.Schema{Collection: "topics", Sorted: []string{"-votes", "title"}}

func openTopics(t testing.TB, schema tree.Schema) *tree.Forest[topic] {
	t.Helper()
	f, err := tree.Open[topic](t.Context(), repo.NewStore(memory.New(nil), nil), schema)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Siblings stay in the order of their fields, whatever is inserted, moved, changed and removed.
func TestSortedRandom(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			schema := sorted
			schema.Strategy, schema.Spread = k.Strategy, k.spread
			tr, ctx := openTopics(t, schema).Tree("forum"), t.Context()
			rng, want := rand.New(rand.NewPCG(3, 3)), map[string]*topic{}
			for i := range 800 {
				stepSorted(t, rng, tr, want, i)
				if i%40 == 0 {
					if got, want := titles(t, tr), inOrder(want, "", 1); !slices.Equal(got, want) {
						t.Fatalf("after %d: %q, want %q", i, got, want)
					}
				}
			}
			if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
				t.Error(bad, err)
			}
		})
	}
}

// stepSorted does something to a tree and to a map of its nodes.
func stepSorted(t *testing.T, rng *rand.Rand, tr *tree.Tree[topic], want map[string]*topic, i int) {
	t.Helper()
	ctx := t.Context()
	id := someOf(rng, want)
	switch do := rng.IntN(10); {
	case do < 4 || id == "":
		rec := topic{Node: tree.Node{ID: fmt.Sprint("t", i)}, Votes: rng.IntN(5) - 2, Title: []string{"", "%", "#"}[rng.IntN(3)]}
		switch err := tr.Insert(ctx, tree.Under(id), &rec); {
		case err == nil:
			want[rec.ID] = &rec
		case !errors.Is(err, repo.ErrTooLarge):
			t.Fatal(err)
		}
	case do < 7:
		votes := rng.IntN(5) - 2
		rec, err := tr.Update(ctx, id, func(rec *topic) error { rec.Votes = votes; return nil })
		if err != nil || rec.Votes != votes {
			t.Fatal(rec, err)
		}
		want[id].Votes = votes
	case do < 9:
		to := someOf(rng, want)
		err := tr.Move(ctx, id, tree.Under(to))
		if below(want, to, id) != errors.Is(err, tree.ErrBelowItself) && !errors.Is(err, repo.ErrTooLarge) {
			t.Fatalf("%s under %s: %v", id, to, err)
		}
		if err == nil {
			want[id].Parent = to
		}
	default:
		if err := tr.Delete(ctx, id); err == nil {
			delete(want, id)
		} else if !errors.Is(err, tree.ErrHasChildren) {
			t.Fatal(err)
		}
	}
}

func someOf(rng *rand.Rand, nodes map[string]*topic) string {
	if len(nodes) == 0 {
		return ""
	}
	ids := slices.Sorted(maps.Keys(nodes))
	return ids[rng.IntN(len(ids))]
}

func below(all map[string]*topic, id, above string) bool {
	for ; id != ""; id = all[id].Parent {
		if id == above {
			return true
		}
	}
	return false
}

func titles(t *testing.T, tr *tree.Tree[topic]) (lines []string) {
	t.Helper()
	for item, err := range tr.Descendants(t.Context(), "", 0) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprint(item.Depth, item.Node.ID, item.Node.Votes))
	}
	return lines
}

func inOrder(all map[string]*topic, parent string, depth int) (lines []string) {
	var list []*topic
	for _, rec := range all {
		if rec.Parent == parent {
			list = append(list, rec)
		}
	}
	slices.SortFunc(list, func(a, b *topic) int {
		return cmp.Or(cmp.Compare(b.Votes, a.Votes), cmp.Compare(a.Title, b.Title), cmp.Compare(a.ID, b.ID))
	})
	for _, rec := range list {
		lines = append(append(lines, fmt.Sprint(depth, rec.ID, rec.Votes)), inOrder(all, rec.ID, depth+1)...)
	}
	return lines
}

func TestSortedRefusals(t *testing.T) {
	tr, ctx := openTopics(t, sorted).Tree("forum"), t.Context()
	if err := tr.Insert(ctx, tree.Under(""), &topic{Node: tree.Node{ID: "a"}}); err != nil {
		t.Fatal(err)
	}
	for _, pos := range []tree.Position{tree.FirstUnder(""), tree.Before("a"), tree.After("a")} {
		if err := tr.Insert(ctx, pos, &topic{Node: tree.Node{ID: "b"}}); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "want Under") {
			t.Errorf("insert %s: %v", pos, err)
		}
	}
	for _, by := range []string{"nothing", "-", "place", "ancestors"} {
		schema := tree.Schema{Collection: "others", Sorted: []string{by}}
		if _, err := tree.Open[topic](ctx, repo.NewStore(memory.New(nil), nil), schema); !errors.Is(err, repo.ErrSchema) {
			t.Errorf("sorted by %q: %v, want %v", by, err, repo.ErrSchema)
		}
	}
}

// An update by which something below the node would lie too deep is refused, and nothing of it is there.
func TestSortedTooDeep(t *testing.T) {
	schema := sorted
	schema.Strategy = tree.Path
	tr, ctx := openTopics(t, schema).Tree("forum"), t.Context()
	under := ""
	for i := range 8 {
		rec := topic{Node: tree.Node{ID: fmt.Sprint(strings.Repeat("x", 80), i)}, Votes: i, Title: "short"}
		if err := tr.Insert(ctx, tree.Under(under), &rec); err != nil {
			t.Fatal(err)
		}
		under = rec.ID
	}
	top := strings.Repeat("x", 80) + "0"
	before := titles(t, tr)
	if _, err := tr.Update(ctx, top, func(rec *topic) error { rec.Title = strings.Repeat("long", 100); return nil }); !errors.Is(err, repo.ErrTooLarge) {
		t.Fatalf("update: %v, want %v", err, repo.ErrTooLarge)
	}
	if rec, err := tr.Get(ctx, top); err != nil || rec.Title != "short" {
		t.Errorf("%+v, %v after an update that was refused", rec, err)
	}
	if got := titles(t, tr); !slices.Equal(got, before) {
		t.Errorf("%q after an update that was refused, want %q", got, before)
	}
	if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
		t.Error(bad, err)
	}
}

// An update that is taken back leaves alone what others have changed since.
func TestTakenBackUpdateKeepsOthers(t *testing.T) {
	h, ctx := &hooked{Store: memory.New(nil)}, t.Context()
	schema := tree.Schema{Collection: "topics", Strategy: tree.Path, Sorted: []string{"title"}}
	var trees [2]*tree.Tree[topic]
	for i, store := range []driver.Store{h, h.Store} {
		f, err := tree.Open[topic](ctx, repo.NewStore(store, nil), schema)
		if err != nil {
			t.Fatal(err)
		}
		trees[i] = f.Tree("forum")
	}
	dies, tr := trees[0], trees[1]
	under := ""
	for i := range 8 {
		rec := topic{Node: tree.Node{ID: fmt.Sprint(strings.Repeat("x", 80), i)}, Votes: 1, Title: "short"}
		if err := tr.Insert(ctx, tree.Under(under), &rec); err != nil {
			t.Fatal(err)
		}
		under = rec.ID
	}
	top := strings.Repeat("x", 80) + "0"
	h.diesAt(2)
	if _, err := dies.Update(ctx, top, func(rec *topic) error { rec.Title, rec.Votes = strings.Repeat("long", 100), 2; return nil }); !isUnsure(err) {
		t.Errorf("the update: %v", err)
	}
	if rec, err := tr.Update(ctx, top, func(rec *topic) error { rec.Votes += 7; return nil }); err != nil || rec.Votes != 9 {
		t.Errorf("another update: %+v, %v", rec, err)
	}
	if err := tr.Settle(ctx); err != nil {
		t.Error(err)
	}
	if rec, err := tr.Get(ctx, top); err != nil || rec.Title != "short" || rec.Votes != 9 {
		t.Errorf("%.20q with %d votes, %v; want the title that it had, and the votes of who came later", rec.Title, rec.Votes, err)
	}
	if bad, err := tr.Verify(ctx); len(bad) > 0 || err != nil {
		t.Error(bad, err)
	}
}

// A program that lacks a field takes it back, too.
func TestTakenBackByAnEarlierProgram(t *testing.T) {
	h, ctx := &hooked{Store: memory.New(nil)}, t.Context()
	schema := tree.Schema{Collection: "c", Strategy: tree.Path, Sorted: []string{"name"}}
	old := shopOn(t, h.Store, schema)
	f, err := tree.Open[laterCategory](ctx, repo.NewStore(h, nil), schema)
	if err != nil {
		t.Fatal(err)
	}
	now, last := f.Tree("shop"), ""
	since := time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)
	for i := 0; err == nil; i++ {
		rec := laterCategory{Node: tree.Node{ID: fmt.Sprint("n", i)}, Name: "12345678", Color: "red", Since: since}
		err = now.Insert(ctx, tree.Under(last), &rec)
		last = rec.ID
	}
	was, err := now.Get(ctx, "n0")
	if err != nil {
		t.Fatal(err)
	}
	h.diesAt(2)
	_, err = now.Update(ctx, "n0", func(c *laterCategory) error {
		c.Name, c.Color, c.Since = strings.Repeat("long", 20), "blue", since.AddDate(1, 0, 0)
		return nil
	})
	if !isUnsure(err) {
		t.Errorf("the update: %v", err)
	}
	if err := old.Settle(ctx); err != nil {
		t.Error(err)
	}
	is, err := now.Get(ctx, "n0")
	was.Version, is.Version = repo.Version{}, repo.Version{}
	if err != nil || !reflect.DeepEqual(is, was) {
		t.Errorf("%+v, %v, want %+v", is, err, was)
	}
	if bad, err := old.Verify(ctx); len(bad) > 0 || err != nil {
		t.Error(bad, err)
	}
}

// The same of an update that changes other fields, too, of all kinds.
func TestRefusedUpdateChangesNothing(t *testing.T) {
	type rich struct {
		tree.Node
		Title string         `repo:"title"`
		Votes int            `repo:"votes"`
		Note  *string        `repo:"note"`
		Some  string         `repo:"some,omitempty"`
		Tags  []string       `repo:"tags"`
		At    time.Time      `repo:"at"`
		Price float64        `repo:"price"`
		Raw   []byte         `repo:"raw"`
		On    bool           `repo:"on"`
		More  map[string]any `repo:",extra"`
	}
	ctx := t.Context()
	f, err := tree.Open[rich](ctx, repo.NewStore(memory.New(nil), nil), tree.Schema{Collection: "c", Strategy: tree.Path, Sorted: []string{"title"}})
	if err != nil {
		t.Fatal(err)
	}
	tr, last := f.Tree("shop"), ""
	for i := 0; err == nil; i++ {
		rec := rich{Node: tree.Node{ID: fmt.Sprint("n", i)}, Title: "12345678", Votes: 3, Tags: []string{"a", "b"}, At: time.UnixMilli(1_600_000_000_001).UTC(), Price: 1.5, Raw: []byte("r"), More: map[string]any{"x": int64(1), "y": "z"}}
		err = tr.Insert(ctx, tree.Under(last), &rec)
		last = rec.ID
	}
	was, err := tr.Get(ctx, "n0")
	if err != nil {
		t.Fatal(err)
	}
	_, err = tr.Update(ctx, "n0", func(rec *rich) error {
		text := "new"
		rec.Title, rec.Votes, rec.Note, rec.Some, rec.Tags[0] = strings.Repeat("long", 20), 5, &text, "new", "c"
		rec.At, rec.Price, rec.Raw, rec.On = time.UnixMilli(1_700_000_000_123).UTC(), -0.25, []byte{0, 255}, true
		rec.More = map[string]any{"x": int64(2), "new": true}
		return nil
	})
	if !errors.Is(err, repo.ErrTooLarge) {
		t.Errorf("%v, want %v", err, repo.ErrTooLarge)
	}
	is, err := tr.Get(ctx, "n0")
	was.Version, is.Version = repo.Version{}, repo.Version{}
	if err != nil || !reflect.DeepEqual(is, was) {
		t.Errorf("%+v, %v, want %+v", is, err, was)
	}
}
