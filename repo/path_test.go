package repo_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/repo"
)

// byParts is a collection with indexes of parts of fields.
var byParts = repo.Schema{Collection: "hosts", Partition: []string{"id"}, Indexes: []repo.Index{
	{Name: "by_name", Partition: []string{"part.name"}, Sort: []string{"-part.price"}, Covers: []string{"part"}},
	{Name: "by_next", Partition: []string{"part.next.name"}, Sort: []string{"note"}},
	{Name: "by_label", Partition: []string{"labels.env"}, Sort: []string{"count"}},
	{Name: "by_owner", Partition: []string{"labels.owner"}, Unique: true},
	{Name: "by_tag", Partition: []string{"tags[]"}, Sort: []string{"part.name"}},
}}

func openByParts(t *testing.T) *repo.Repo[host] {
	t.Helper()
	r, err := repo.Open[host](t.Context(), newStore(t, nil), byParts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A hostQuery is a query with what it is to find: a function that says of a record that it does.
type hostQuery struct {
	q     repo.Query
	finds func(*host) bool
}

func hostQueries() []hostQuery {
	next := func(h *host) string {
		if h.Part.Next == nil {
			return "\x00"
		}
		return h.Part.Next.Name
	}
	env := func(h *host) string {
		if v, ok := h.Labels["env"]; ok {
			return v
		}
		return "\x00"
	}
	return []hostQuery{
		{repo.Where("part.name", "a").Order("-part.price"), func(h *host) bool { return h.Part.Name == "a" }},
		{repo.Where("part.name", "b").AtLeast("part.price", 2.0).Order("-part.price"), func(h *host) bool { return h.Part.Name == "b" && h.Part.Price >= 2 }},
		{repo.Where("part.next.name", "c"), func(h *host) bool { return next(h) == "c" }},
		{repo.Where("labels.env", "").Order("count"), func(h *host) bool { return env(h) == "" }},
		{repo.Where("labels.env", "a").Above("count", 1), func(h *host) bool { return env(h) == "a" && h.Count > 1 }},
		{repo.All().AnyOf("labels.env", "a", "b"), func(h *host) bool { return env(h) == "a" || env(h) == "b" }},
		{repo.Where("tags[]", "x").Order("part.name"), func(h *host) bool { return slices.Contains(h.Tags, "x") }},
		{repo.Where("tags[]", "y").Where("part.name", "c"), func(h *host) bool { return slices.Contains(h.Tags, "y") && h.Part.Name == "c" }},
		{repo.Where("part.name", "a").Order("-part.price").Filter(repo.Where("labels.env", "b"), 1000), func(h *host) bool { return h.Part.Name == "a" && env(h) == "b" }},
		{repo.Where("part.name", "c").Order("-part.price").NoneOf("labels.env", "b", ""), func(h *host) bool { return h.Part.Name == "c" && env(h) != "b" && env(h) != "" }},
		{repo.Where("part.name", "c").Order("-part.price").Filter(repo.All().Below("part.next.price", 2.0), 1000), func(h *host) bool { return h.Part.Name == "c" && h.Part.Next != nil && h.Part.Next.Price < 2 }},
		{repo.Where("part.name", "b").Order("-part.price").Filter(repo.Where("tags.0", "x"), 1000), func(h *host) bool { return h.Part.Name == "b" && len(h.Tags) > 0 && h.Tags[0] == "x" }},
	}
}

// agreeOn holds what queries find against what a sequential loop over all records finds.
func agreeOn(t *testing.T, r *repo.Repo[host], all map[string]host) {
	t.Helper()
	for _, hq := range hostQueries() {
		var want []string
		for id, h := range all {
			if hq.finds(&h) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		found, err := repo.Collect(r.Find(t.Context(), hq.q))
		if err != nil {
			t.Fatalf("%s: %v", hq.q, err)
		}
		var got []string
		for _, h := range found {
			got = append(got, h.ID)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", hq.q, got, want)
		}
	}
}

func someHost(rnd *rand.Rand, id int) host {
	letter := func() string { return []string{"a", "b", "c"}[rnd.IntN(3)] }
	h := host{ID: fmt.Sprint(id), Count: int64(rnd.IntN(4)), Part: part{Name: letter(), Price: float64(rnd.IntN(4))}}
	if rnd.IntN(2) == 0 {
		h.Part.Next = &part{Name: letter(), Price: float64(rnd.IntN(4))}
	}
	if rnd.IntN(3) > 0 {
		h.Labels = map[string]string{"env": []string{"", "a", "b"}[rnd.IntN(3)], "z": "z"}
	}
	for range rnd.IntN(3) {
		h.Tags = append(h.Tags, []string{"x", "y", "z"}[rnd.IntN(3)])
	}
	return h
}

// Indexes, conditions and order by parts of fields agree with what the records say, through every kind of write.
func TestParts(t *testing.T) {
	r, rnd, all := openByParts(t), rand.New(rand.NewPCG(1, 2)), map[string]host{}
	for range 400 {
		h := someHost(rnd, rnd.IntN(30))
		var err error
		switch old, there := all[h.ID]; {
		case rnd.IntN(8) == 0:
			err = r.Delete(t.Context(), repo.Key{h.ID})
			delete(all, h.ID)
		case there && rnd.IntN(2) == 0:
			edits := []repo.Edit{repo.Set("part.name", h.Part.Name), repo.Add("part.price", 1.0), repo.Set("labels.env", "b"), repo.Unset("part.next")}
			_, err = r.Patch(t.Context(), repo.Key{h.ID}, edits...)
			old.Part = part{Name: h.Part.Name, Price: old.Part.Price + 1}
			labels := map[string]string{"env": "b"}
			for k, v := range old.Labels {
				if k != "env" {
					labels[k] = v
				}
			}
			old.Labels = labels
			all[h.ID] = old
		default:
			err = r.Put(t.Context(), &h)
			all[h.ID] = h
		}
		if err != nil && !errors.Is(err, repo.ErrNotFound) {
			t.Fatal(err)
		}
	}
	agreeOn(t, r, all)
	reports, err := r.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, report := range reports {
		if !report.Clean() {
			t.Errorf("verify: %+v", report)
		}
	}
}

// A unique index of a part refuses a second record with its value, and records without it are not in it.
func TestUniquePart(t *testing.T) {
	r := openByParts(t)
	for id, labels := range map[string]map[string]string{"1": {"owner": "ann"}, "2": nil, "3": {"env": "a"}} {
		if err := r.Put(t.Context(), &host{ID: id, Labels: labels}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Patch(t.Context(), repo.Key{"2"}, repo.Set("labels.owner", "ann")); !errors.Is(err, repo.ErrExists) {
		t.Errorf("a second owner: %v", err)
	}
	if h, err := r.One(t.Context(), repo.Where("labels.owner", "ann")); err != nil || h.ID != "1" {
		t.Errorf("one: %v, %v", h.ID, err)
	}
}

// Views, groups and scans take parts of fields, too.
func TestPartsAreRead(t *testing.T) {
	r := openByParts(t)
	for i, name := range []string{"a", "a", "b"} {
		h := host{ID: fmt.Sprint(i), Tags: []string{"x", "y"}, Part: part{Name: name, Price: float64(i + 1)}, Extra: map[string]any{"m": map[string]any{"k": i}}}
		if i == 1 {
			h.Part.Next = &part{Name: "n"}
		}
		if err := r.Put(t.Context(), &h); err != nil {
			t.Fatal(err)
		}
	}
	type some struct {
		ID    string  `repo:"id"`
		Name  string  `repo:"part.name"`
		Price float64 `repo:"part.price"`
		Next  string  `repo:"part.next.name"`
		First string  `repo:"tags.0"`
	}
	view, err := repo.ViewOf[some](r)
	if err != nil {
		t.Fatal(err)
	}
	found, err := repo.Collect(view.Find(t.Context(), repo.Where("part.name", "a").Order("-part.price")))
	if want := []some{{"1", "a", 2, "n", "x"}, {"0", "a", 1, "", "x"}}; err != nil || !slices.Equal(found, want) {
		t.Errorf("view: %v, %v, want %v", found, err, want)
	}
	maps, err := repo.FieldsOf(r, "id", "part.next.name", "m.k", "tags.1")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := maps.Get(t.Context(), repo.Key{"1"}); err != nil || fmt.Sprint(m) != "map[id:1 m.k:1 part.next.name:n tags.1:y]" {
		t.Errorf("fields: %v, %v", m, err)
	}
	if m, err := maps.Get(t.Context(), repo.Key{"0"}); err != nil || fmt.Sprint(m) != "map[id:0 m.k:0 tags.1:y]" {
		t.Errorf("fields: %v, %v", m, err)
	}
	groups, err := repo.Collect(r.GroupBy("part.name").Sum("part.price").Find(t.Context(), repo.All().AnyOf("part.name", "a", "b").Order("-part.price")))
	if err != nil || fmt.Sprint(groups) != "[{a 2 [3]} {b 1 [3]}]" {
		t.Errorf("groups: %v, %v", groups, err)
	}
	if list, err := repo.Collect(r.Scan(t.Context(), repo.Where("m.k", 1))); err != nil || len(list) != 1 || list[0].ID != "1" {
		t.Errorf("scan of an undeclared field: %v, %v", list, err)
	}
	if list, err := repo.Collect(r.Scan(t.Context(), repo.All().AtLeast("m.k", 1).Order("-m.k"))); err != nil || len(list) != 2 || list[0].ID != "2" {
		t.Errorf("scan in order of an undeclared field: %v, %v", list, err)
	}
}

// Map records declare the kinds of parts that indexes have.
func TestPartsOfMaps(t *testing.T) {
	schema := repo.Schema{Collection: "maps", Partition: []string{"id"},
		Fields:  map[string]string{"id": "string", "address": "map", "address.city": "string", "address.codes": "list of int", "address.at": "time"},
		Indexes: []repo.Index{{Partition: []string{"address.city"}, Sort: []string{"address.at"}}, {Partition: []string{"address.codes[]"}}}}
	r, err := repo.Open[map[string]any](t.Context(), newStore(t, nil), schema)
	if err != nil {
		t.Fatal(err)
	}
	address := map[string]any{"city": "Bern", "codes": []any{3000, 3001}, "at": time.UnixMilli(5)}
	if err := r.Put(t.Context(), &map[string]any{"id": "1", "address": address}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []repo.Query{repo.Where("address.city", "Bern").Order("address.at"), repo.Where("address.codes[]", 3001)} {
		if list, err := repo.Collect(r.Find(t.Context(), q)); err != nil || len(list) != 1 {
			t.Errorf("%s: %v, %v", q, list, err)
		}
	}
	err = r.Put(t.Context(), &map[string]any{"id": "2", "address": map[string]any{"city": 5, "at": time.UnixMilli(5)}})
	if !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "address.city") {
		t.Errorf("a city that is a number: %v", err)
	}
}

// What names no part of a field is told with the field and the remedy.
func TestPartFaults(t *testing.T) {
	r := openByParts(t)
	for want, q := range map[string]repo.Query{
		"field part has no part \"nam\"":          repo.Where("part.nam", "x"),
		"field note is of kind string, which has": repo.Where("note.x", "x"),
		"a part that is empty":                    repo.Where("part..name", "x"),
		"part.price is of kind float, not string": repo.Where("part.name", "a").Where("part.price", "x"),
		"cannot be ordered by part.next":          repo.Where("part.name", "a").Order("part.next"),
		"part.name is of kind string and has no":  repo.Where("part.name[]", "x"),
	} {
		if _, err := repo.Collect(r.Find(t.Context(), q)); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrInvalid with %q", q, err, want)
		}
	}
	for want, x := range map[string]repo.Index{
		"field part has no part \"nam\"":      {Partition: []string{"part.nam"}},
		"field \"bart.name\" is unknown":      {Partition: []string{"bart.name"}},
		"part.next is a map, which has no":    {Partition: []string{"part.next"}},
		"covers \"part.name\", a part of":     {Partition: []string{"note"}, Covers: []string{"part.name"}},
		"values of any kind may lie at any.x": {Partition: []string{"any.x"}},
		"keeps no index of":                   {Partition: []string{"part.name"}, Kind: "native"},
	} {
		type record struct {
			host
			Any map[string]any `repo:"any"`
		}
		_, err := repo.Open[record](t.Context(), newStore(t, nil), repo.Schema{Collection: "hosts", Partition: []string{"id"}, Indexes: []repo.Index{x}})
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want ErrSchema with %q", x, err, want)
		}
	}
	_, err := repo.Open[host](t.Context(), newStore(t, nil), repo.Schema{Collection: "hosts", Partition: []string{"part.name"}})
	if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "whole fields") {
		t.Errorf("a key of a part: %v", err)
	}
	for _, names := range [][]string{nil, {"id", "id"}, {"part.nam"}, {"_version"}, {"x..y"}} {
		if _, err := repo.FieldsOf(r, names...); !errors.Is(err, repo.ErrSchema) {
			t.Errorf("a view of %q: %v", names, err)
		}
	}
	type wrong struct {
		Price int `repo:"part.price"`
	}
	if _, err := repo.ViewOf[wrong](r); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "int in the view and float") {
		t.Errorf("a view of another kind: %v", err)
	}
	type named struct {
		ID   string `repo:"id"`
		Name string `repo:"part.name"`
	}
	if _, err := repo.Open[named](t.Context(), newStore(t, nil), repo.Schema{Collection: "named", Partition: []string{"id"}}); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("a record with a field that is a part: %v", err)
	}
}

// The catalog has the kinds of parts that indexes have, so that programs without the type maintain the collection, and
// those with another kind are refused.
func TestPartsInCatalog(t *testing.T) {
	store := newStore(t, nil)
	r, err := repo.Open[host](t.Context(), store, byParts)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Put(t.Context(), &host{ID: "1", Part: part{Name: "a", Price: 2}, Tags: []string{"x"}}); err != nil {
		t.Fatal(err)
	}
	if err := store.Maintain(t.Context(), nil); err != nil {
		t.Errorf("maintain: %v", err)
	}
	schema, err := repo.SchemaOf(t.Context(), store, "hosts")
	if err != nil || schema.Fields["part.price"] != "float" {
		t.Fatalf("schema: %v, %v", schema.Fields, err)
	}
	maps, err := repo.Open[map[string]any](t.Context(), store, schema)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := repo.Collect(maps.Find(t.Context(), repo.Where("part.name", "a").AtLeast("part.price", 2.0))); err != nil || len(list) != 1 {
		t.Errorf("find: %v, %v", list, err)
	}
	schema.Fields["part.price"] = "string"
	if _, err := repo.Open[map[string]any](t.Context(), store, schema); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "part.price is stored as float") {
		t.Errorf("another kind: %v", err)
	}
}
