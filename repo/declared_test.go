package repo_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo"
)

// What a schema declares of the parts of maps, and of the elements of lists, holds whether an index has it or not, and by
// every way to write it: an integer is taken for a float, and another kind is refused.
func TestDeclaredParts(t *testing.T) {
	ctx := t.Context()
	fields := map[string]string{"id": "string", "m": "map", "m.price": "float", "m.in.n": "int", "m.prices": "list of float", "l": "list of float", "free": "list"}
	for name, indexes := range map[string][]repo.Index{
		"without indexes": nil,
		"with indexes":    {{Partition: []string{"m.price"}}, {Partition: []string{"m.in.n"}}, {Partition: []string{"m.prices[]"}}, {Partition: []string{"l[]"}}},
	} {
		r, err := repo.Open[map[string]any](ctx, newStore(t, nil), repo.Schema{Collection: "maps", Partition: []string{"id"}, Fields: fields, Indexes: indexes})
		if err != nil {
			t.Fatal(err)
		}
		check := func(what, want string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %s: %v", name, what, err)
			}
			m, err := r.Get(ctx, repo.Key{"1"})
			if delete(m, "_version"); err != nil || fmt.Sprintf("%#v", m["m"])+fmt.Sprintf("%#v", m["l"]) != want {
				t.Errorf("%s: %s: %#v, %v, want %s", name, what, m, err, want)
			}
		}
		in := map[string]any{"price": 5, "in": map[string]any{"n": 1}, "prices": []any{1, 2.5}}
		const first = `map[string]interface {}{"in":map[string]interface {}{"n":1}, "price":5, "prices":[]interface {}{1, 2.5}}`
		check("put", first+"[]interface {}{3}", r.Put(ctx, &map[string]any{"id": "1", "m": in, "l": []any{3}, "free": []any{1, "x"}}))
		for _, q := range []repo.Query{repo.Where("m.price", 5), repo.Where("m.price", 5.0), repo.Where("m.prices[]", 1), repo.Where("l[]", 3)} {
			if list, err := repo.Collect(r.Scan(ctx, q)); err != nil || len(list) != 1 {
				t.Errorf("%s: %s: %v, %v", name, q, list, err)
			}
		}
		_, err = r.Patch(ctx, repo.Key{"1"}, repo.Set("m.price", 6), repo.Push("m.prices", 0, 7), repo.Push("l", 0, 4))
		check("patch of parts", `map[string]interface {}{"in":map[string]interface {}{"n":1}, "price":6, "prices":[]interface {}{1, 2.5, 7}}[]interface {}{3, 4}`, err)
		_, err = r.PatchBlind(ctx, repo.Key{"1"}, repo.Set("m", in), repo.Set("l", []any{3}))
		check("patch of fields", first+"[]interface {}{3}", err)
		if list, err := repo.Collect(r.Scan(ctx, repo.Where("m.price", 5.0).Where("l[]", 3.0))); err != nil || len(list) != 1 {
			t.Errorf("%s: after the patch: %v, %v", name, list, err)
		}
		_, partly := r.Patch(ctx, repo.Key{"1"}, repo.Set("m.in.n", "x"))
		_, whole := r.PatchBlind(ctx, repo.Key{"1"}, repo.Set("m", map[string]any{"price": "x"}))
		_, pushed := r.Patch(ctx, repo.Key{"1"}, repo.Push("l", 0, "x"))
		put := r.Put(ctx, &map[string]any{"id": "1", "m": map[string]any{"in": map[string]any{"n": 1.5}}})
		for what, err := range map[string]error{"part": partly, "whole": whole, "element": pushed, "put": put} {
			if !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("%s: %s of another kind: %v, want ErrInvalid", name, what, err)
			}
		}
	}
}
