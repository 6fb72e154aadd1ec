package everystore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo"
)

// A ware is a record of one of several types, of which each has fields that the others lack, or keeps when they are empty.
type ware interface{ price() int }

type book struct {
	ID    string `repo:"id"`
	Kind  string `repo:"kind"`
	Price int    `repo:"price"`
	Note  string `repo:"note,omitempty"`
	Pages int    `repo:"pages"`
	Size  struct {
		Spine int `repo:"spine"`
	} `repo:"size"`
}

type lamp struct {
	ID    string `repo:"id"`
	Kind  string `repo:"kind"`
	Price int    `repo:"price,omitempty"`
	Note  string `repo:"note"`
	Watt  int    `repo:"watt,omitempty"`
	Size  struct {
		Height float64 `repo:"height"`
	} `repo:"size"`
}

type otherWare struct {
	ID   string         `repo:"id"`
	Kind string         `repo:"kind"`
	Rest map[string]any `repo:",extra"`
}

func (b *book) price() int    { return b.Price }
func (l *lamp) price() int    { return l.Price }
func (*otherWare) price() int { return 0 }

func openWares(t *testing.T, store *repo.Store) *repo.Repo[ware] {
	t.Helper()
	by := func(fields ...string) (list []repo.Index) {
		for _, f := range fields {
			list = append(list, repo.Index{Name: f, Sort: []string{f, "id"}, Buckets: 1})
		}
		return list
	}
	return good(repo.Open[ware](t.Context(), store, repo.Schema{Collection: "wares", Partition: []string{"id"}, Indexes: by("price", "note", "pages", "watt"),
		Types: repo.Types{Field: "kind", Of: map[string]any{"book": book{}, "lamp": lamp{}, "": otherWare{}}}}))(t)
}

// rowsOf returns which records have a row in each index of wares.
func rowsOf(t *testing.T, wares *repo.Repo[ware]) (rows string) {
	t.Helper()
	type numbered struct {
		ID string `repo:"id"`
	}
	view := good(repo.ViewOf[numbered](wares))(t)
	for _, name := range []string{"price", "note", "pages", "watt"} {
		rows += name
		for _, w := range good(repo.Collect(view.Find(t.Context(), repo.All().Order(name))))(t) {
			rows += " " + w.ID
		}
		rows += "; "
	}
	for _, report := range good(wares.Verify(t.Context()))(t) {
		if !report.Clean() {
			t.Errorf("verify: %+v", report)
		}
	}
	return rows
}

// An edit leaves what a write of the type of the record would leave: nothing where that type leaves out an empty value, and
// an empty value where it does not. A record has rows by the fields of its own type.
func TestEditsOfTypes(t *testing.T) {
	run(t, func(t *testing.T, store *repo.Store) {
		ctx, wares := t.Context(), openWares(t, store)
		for _, w := range []ware{&book{ID: "b"}, &lamp{ID: "l"}, &otherWare{ID: "o", Kind: "rug", Rest: map[string]any{"watt": 5}}} {
			must(t, wares.Put(ctx, &w))
		}
		const empty = "price b; note l; pages b; watt o; "
		check := func(what, want string) {
			t.Helper()
			if rows := rowsOf(t, wares); rows != want {
				t.Errorf("%s: the rows are %s, want %s", what, rows, want)
			}
		}
		patch := func(edits map[string][]repo.Edit) {
			t.Helper()
			for id, list := range edits {
				good(wares.Patch(ctx, repo.Key{id}, list...))(t)
			}
		}
		check("put", empty)
		full := map[string][]repo.Edit{"b": {repo.Set("price", 1), repo.Set("note", "n"), repo.Set("pages", 1)}, "l": {repo.Add("price", 2), repo.Set("note", "n"), repo.Set("watt", 1)}}
		patch(full)
		check("set", "price b l; note b l; pages b; watt l o; ")
		patch(map[string][]repo.Edit{"b": {repo.Unset("price"), repo.Unset("note"), repo.Unset("pages")}, "l": {repo.Unset("price"), repo.Unset("note"), repo.Unset("watt")}})
		check("unset", empty)
		patch(full)
		patch(map[string][]repo.Edit{"b": {repo.Add("price", -1), repo.Set("note", ""), repo.Set("pages", 0)}, "l": {repo.Add("price", -2), repo.Set("note", ""), repo.Set("watt", 0)}})
		check("set to what is empty", empty)
		for id, e := range map[string]repo.Edit{"b": repo.Unset("watt"), "l": repo.Set("size.spine", 1)} {
			if _, err := wares.Patch(ctx, repo.Key{id}, e); !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("an edit of what the type of %s lacks: %v, want ErrInvalid", id, err)
			}
		}
		patch(map[string][]repo.Edit{"l": {repo.Set("size.height", 3)}, "o": {repo.Unset("watt"), repo.Set("size.spine", 1)}})
		if l := good(wares.Get(ctx, repo.Key{"l"}))(t).(*lamp); l.Size.Height != 3 {
			t.Errorf("the height is %v", l.Size.Height)
		}
		check("an unknown type", "price b; note l; pages b; watt; ")
		for _, w := range []ware{&lamp{ID: "b", Price: 4}, &book{ID: "l"}} {
			must(t, wares.Replace(ctx, &w))
		}
		check("of the other type", "price l b; note b; pages l; watt; ")
		some := good(repo.FieldsOf(wares, "id", "price", "pages", "watt"))(t)
		if got := fmt.Sprint(good(some.Get(ctx, repo.Key{"b"}))(t), good(some.Get(ctx, repo.Key{"l"}))(t)); got != "map[id:b price:4] map[id:l pages:0 price:0]" {
			t.Errorf("the fields are %s", got)
		}
	})
}
