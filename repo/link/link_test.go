package link_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repo/link"
)

type follow struct {
	Who   string `repo:"who"`
	Whom  string `repo:"whom"`
	Since int64  `repo:"since"`
	Note  string `repo:"note,omitempty"`
}

// schemas are the ways to order the links, all of which answer sets.
var schemas = map[string]link.Schema{
	"by ID": {Collection: "follows", From: "who", To: "whom"},
	"by time": {Collection: "follows", From: "who", To: "whom", FromOrder: []string{"-since"}, ToOrder: []string{"since"},
		Indexes: []repo.Index{{Name: "by_id", Partition: []string{"whom"}, Sort: []string{"who"}}}},
	"backwards": {Collection: "follows", From: "who", To: "whom", FromOrder: []string{"-whom"}, ToOrder: []string{"-who"}},
}

// stores are memory, and memory that says of itself what other stores say.
var stores = []string{"memory", "partition", "record"}

func newStore(t testing.TB, name string, opts *repo.Options) *repo.Store {
	t.Helper()
	partition, record := driver.ScopePartition, driver.ScopeRecord
	o := map[string]memory.Options{
		"partition": {Scope: &partition, Uncertain: true},            // as Cassandra and a cluster of Redis
		"record":    {Scope: &record, Uncertain: true, Native: true}, // as MongoDB, where the store keeps indexes
	}[name]
	store := repo.NewStore(memory.New(&o), opts)
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func open(t testing.TB, store *repo.Store, schema link.Schema) *link.Links[follow] {
	t.Helper()
	links, err := link.Open[follow](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	return links
}

func add(t testing.TB, links *link.Links[follow], list []follow) {
	t.Helper()
	for _, f := range list {
		if err := links.Add(t.Context(), &f); err != nil {
			t.Fatal(err)
		}
	}
}

func onAll(t *testing.T, test func(t *testing.T, store *repo.Store, schema link.Schema)) {
	t.Helper()
	for _, name := range stores {
		for order, schema := range schemas {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				test(t, newStore(t, name, nil), schema)
			})
		}
	}
}

// hostile are IDs that a careless key would mix up.
var hostile = []string{"", "a", "a/b", "a/", "/a", "b/a", "a\x00", "a\x00b", "\x00", "\x01", "\u00ff", "ß", "日本", "'\"", "{a}", "a:b",
	"%2F", "0", "00", "-1", "\U0010ffff", strings.Repeat("x", 200), strings.Repeat("x", 200) + "y"}

// random returns links between hostile IDs, with few different times.
func random(seed uint64) (list []follow) {
	d := rand.New(rand.NewPCG(seed, 1))
	for _, who := range hostile {
		for _, whom := range hostile {
			if d.IntN(3) > 0 {
				list = append(list, follow{Who: who, Whom: whom, Since: d.Int64N(5) - 2})
			}
		}
	}
	d.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// compare compares links by fields of an order, and then by their ends.
func compare(a, b follow, order []string) int {
	n := 0
	for _, name := range append(slices.Clone(order), "who", "whom") {
		bare, desc := strings.CutPrefix(name, "-")
		one := map[string]int{"who": cmp.Compare(a.Who, b.Who), "whom": cmp.Compare(a.Whom, b.Whom), "since": cmp.Compare(a.Since, b.Since)}[bare]
		if desc {
			one = -one
		}
		n = cmp.Or(n, one)
	}
	return n
}

// difference says where one side of an end differs from a list of links.
func difference(ctx context.Context, links *link.Links[follow], q repo.Query, want []follow) error {
	got, err := repo.Collect(links.Find(ctx, q))
	if err != nil || !slices.Equal(got, want) {
		return fmt.Errorf("find %s: got %+v, %w, want %+v", q, got, err, want)
	}
	if n, err := links.Count(ctx, q); n != len(want) || err != nil {
		return fmt.Errorf("count %s: got %d, %w, want %d", q, n, err, len(want))
	}
	q = q.Limit(4)
	var all []follow
	var page repo.Page[follow]
	for next, n := "", 0; n == 0 || next != ""; n++ {
		if page, err = links.Page(ctx, q, next); err != nil {
			return err
		}
		all, next = append(all, page.Items...), page.Next
	}
	if !slices.Equal(all, want) {
		return fmt.Errorf("pages of %s: got %+v, want %+v", q, all, want)
	}
	back := slices.Clone(page.Items)
	for page.Prev != "" {
		if page, err = links.Page(ctx, q, page.Prev); err != nil {
			return err
		}
		back = append(slices.Clone(page.Items), back...)
	}
	if !slices.Equal(back, want) {
		return fmt.Errorf("pages of %s backwards: got %+v, want %+v", q, back, want)
	}
	return nil
}

// differences says where links differ from a list.
func differences(ctx context.Context, links *link.Links[follow], schema link.Schema, list []follow) (bad []error) {
	defaults := func(order []string, id string) []string {
		if order == nil {
			return []string{id}
		}
		return order
	}
	for _, one := range hostile {
		for _, side := range []struct {
			q     repo.Query
			order []string
			has   func(f follow) bool
		}{
			{links.From(one), defaults(schema.FromOrder, "whom"), func(f follow) bool { return f.Who == one }},
			{links.To(one), defaults(schema.ToOrder, "who"), func(f follow) bool { return f.Whom == one }},
		} {
			want := slices.DeleteFunc(slices.Clone(list), func(f follow) bool { return !side.has(f) })
			slices.SortFunc(want, func(a, b follow) int { return compare(a, b, side.order) })
			if err := difference(ctx, links, side.q, want); err != nil {
				bad = append(bad, err)
			}
		}
	}
	return bad
}

// Both ends find their links in the order of the schema, in pages both ways, and counted; after changes and removals, too.
func TestOrders(t *testing.T) {
	onAll(t, func(t *testing.T, store *repo.Store, schema link.Schema) {
		links, list, ctx := open(t, store, schema), random(1), t.Context()
		add(t, links, list)
		for i := range list {
			f := &list[i]
			switch i % 5 {
			case 0: // passes to another place
				got, err := links.Update(ctx, f.Who, f.Whom, func(f *follow) error { f.Since += 3; f.Note = "changed"; return nil })
				if *f = got; err != nil {
					t.Fatal(err)
				}
			case 1:
				f.Since--
				if err := links.Put(ctx, f); err != nil {
					t.Fatal(err)
				}
			case 2:
				if err := links.Remove(ctx, f.Who, f.Whom); err != nil {
					t.Fatal(err)
				}
			}
		}
		n := 0
		list = slices.DeleteFunc(list, func(follow) bool { n++; return n%5 == 3 })
		for _, err := range differences(ctx, links, schema, list) {
			t.Error(err)
		}
		// The comparison notices what is wrong.
		changed := slices.Clone(list)
		changed[7].Since += 9
		for what, wrong := range map[string][]follow{"a link too many": list[1:], "a lost link": append(slices.Clone(list), follow{Who: "a", Whom: "nobody"}), "a change": changed} {
			if len(differences(ctx, links, schema, wrong)) == 0 {
				t.Errorf("%s was not noticed", what)
			}
		}
	})
}

// A link that is there is not added, one that is not there is not removed or changed, and links of both directions are two.
func TestTold(t *testing.T) {
	onAll(t, func(t *testing.T, store *repo.Store, schema link.Schema) {
		links, ctx := open(t, store, schema), t.Context()
		isKind(t, links.Remove(ctx, "a", "b"), repo.ErrNotFound)
		add(t, links, []follow{{Who: "a", Whom: "b", Since: 1}})
		isKind(t, links.Add(ctx, &follow{Who: "a", Whom: "b", Since: 2}), repo.ErrExists)
		if f, err := links.Get(ctx, "a", "b"); f.Since != 1 || err != nil {
			t.Errorf("got %v, %v", f, err)
		}
		isKind(t, links.Remove(ctx, "b", "a"), repo.ErrNotFound)
		_, err := links.Update(ctx, "b", "a", func(*follow) error { return nil })
		isKind(t, err, repo.ErrNotFound)
		_, err = links.Get(ctx, "b", "a")
		isKind(t, err, repo.ErrNotFound)
		add(t, links, []follow{{Who: "b", Whom: "a"}, {Who: "a", Whom: "a"}})
		if err := links.Remove(ctx, "a", "b"); err != nil {
			t.Error(err)
		}
		isKind(t, links.Remove(ctx, "a", "b"), repo.ErrNotFound)
		for _, err := range differences(ctx, links, schema, []follow{{Who: "b", Whom: "a"}, {Who: "a", Whom: "a"}}) {
			t.Error(err)
		}
	})
}

func isKind(t *testing.T, err, kind error) {
	t.Helper()
	if _, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, kind) {
		t.Errorf("got %v, want %v", err, kind)
	}
}

// IDs that are too long are told, and nothing is written.
func TestLongIDs(t *testing.T) {
	onAll(t, func(t *testing.T, store *repo.Store, schema link.Schema) {
		links, ctx, long := open(t, store, schema), t.Context(), strings.Repeat("x", 1024)
		for _, f := range []follow{{Who: long, Whom: "a"}, {Who: "a", Whom: long}, {Who: long[:600], Whom: long[:600]}} {
			isKind(t, links.Add(ctx, &f), repo.ErrTooLarge)
			if _, err := links.Get(ctx, f.Who, f.Whom); !errors.Is(err, repo.ErrTooLarge) {
				t.Error(err)
			}
		}
		if page, err := links.Froms().AnyOf(long, "a").Page(ctx, ""); len(page.Items) > 0 || err != nil {
			t.Error(page, err)
		}
		for _, err := range differences(ctx, links, schema, nil) {
			t.Error(err)
		}
	})
}

func TestSchemas(t *testing.T) {
	type lacking struct {
		Who   string  `repo:"who"`
		Whom  float64 `repo:"whom"`
		Since *int64  `repo:"since"`
	}
	store, ctx := newStore(t, "memory", nil), t.Context()
	for text, s := range map[string]link.Schema{
		"names no From":            {Collection: "c", To: "whom"},
		"no To":                    {Collection: "c", From: "who"},
		`no field "whose"`:         {Collection: "c", From: "whose", To: "whom"},
		"who is in the key twice":  {Collection: "c", From: "who", To: "who"},
		`no field "note" that no`:  {Collection: "c", From: "who", To: "whom", FromOrder: []string{"-note"}},
		`no field "nothing" that`:  {Collection: "c", From: "who", To: "whom", ToOrder: []string{"nothing"}},
		"the name of a collection": {From: "who", To: "whom"},
	} {
		links, err := link.Open[follow](ctx, store, s)
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), text) && text != "the name of a collection" || links != nil {
			t.Errorf("%v; want %q", err, text)
		}
	}
	_, err := link.Open[lacking](ctx, store, link.Schema{Collection: "c", From: "who", To: "whom", ToOrder: []string{"since"}})
	for _, text := range []string{`no field "whom" that is a text`, `no field "since" that no link lacks`} {
		if isKind(t, err, repo.ErrSchema); !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%v; want %q", err, text)
		}
	}
	_, err = link.Open[map[string]any](ctx, store, schemas["by ID"])
	isKind(t, err, repo.ErrSchema)
	_, err = link.Open[follow](ctx, nil, schemas["by ID"])
	isKind(t, err, repo.ErrInvalid)
	_, err = link.Open[follow](nil, store, schemas["by ID"]) //nolint:staticcheck // it is what is tested
	isKind(t, err, repo.ErrInvalid)
}

// Calls on nothing, and with nothing, are ErrInvalid.
func TestNothing(t *testing.T) {
	links, ctx := open(t, newStore(t, "memory", nil), schemas["by ID"]), t.Context()
	var none *link.Links[follow]
	for name, l := range map[string]*link.Links[follow]{"nil": none, "zero": {}, "no context": links} {
		ctx := ctx
		if l == links {
			ctx = nil
		}
		_, got := l.Get(ctx, "a", "b")
		_, updated := l.Update(ctx, "a", "b", func(*follow) error { return nil })
		_, removed := l.RemoveAll(ctx, l.From("a"))
		_, found := repo.Collect(l.Find(ctx, l.To("a")))
		_, page := l.Page(ctx, l.From("a"), "")
		_, count := l.Count(ctx, l.From("a"))
		_, froms := l.Froms().AllOf("a").Page(ctx, "")
		_, tos := repo.Collect(l.Tos().AnyOf("a").Find(ctx))
		_, counted := l.Tos().AnyOf().Count(ctx)
		for i, err := range []error{l.Add(ctx, &follow{}), l.Put(ctx, &follow{}), l.Remove(ctx, "a", "b"), got, updated, removed, found, page, count, froms, tos, counted} {
			if _, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("%s: call %d: %v", name, i, err)
			}
		}
	}
	_, updated := links.Update(ctx, "a", "b", nil)
	_, kind := links.Get(ctx, 7, "b")
	_, empty := links.Froms().Page(ctx, "")
	_, alone := links.Froms().NoneOf("a").Count(ctx)
	_, odd := links.Froms().AllOf("a", 1.5).Count(ctx)
	_, nothing := links.Tos().AnyOf(nil).Count(ctx)
	_, other := links.Tos().AnyOf(7).Count(ctx)
	_, negative := links.Tos().AnyOf("a").Limit(-1).Page(ctx, "")
	for i, err := range []error{links.Add(ctx, nil), links.Put(ctx, nil), updated, kind, empty, alone, odd, nothing, other, negative} {
		if _, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}
