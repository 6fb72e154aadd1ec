package repo_test

import (
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo"
)

// openPages opens map records with two lists in one field.
func openPages(t *testing.T, fields map[string]string) (*repo.Repo[map[string]any], error) {
	t.Helper()
	kinds := map[string]string{"id": "string", "page": "map", "page.words": "list", "page.tags": "list", "seen": "list"}
	for name, kind := range fields {
		kinds[name] = kind
	}
	return repo.Open[map[string]any](t.Context(), newStore(t, nil), repo.Schema{Collection: "pages", Partition: []string{"id"},
		Fields: kinds, Indexes: []repo.Index{{Partition: []string{"page.words[]"}}, {Partition: []string{"page.tags[]"}}}})
}

// Best counts the elements of a list in a field.
func TestBestOfParts(t *testing.T) {
	r, err := openPages(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for id, words := range [][]any{{"a"}, {"b", "c"}, {"c", "a", "b"}} {
		if err := r.Put(t.Context(), &map[string]any{"id": fmt.Sprint(id), "page": map[string]any{"words": words}}); err != nil {
			t.Fatal(err)
		}
	}
	best, err := repo.Best(t.Context(), r, repo.All().AnyOf("page.words[]", "a", "b", "c").Limit(2))
	if err != nil || len(best) != 2 || best[0].Count != 3 || best[0].Record["id"] != "2" || best[1].Count != 2 || best[1].Record["id"] != "1" {
		t.Errorf("best: %v, %v", best, err)
	}
}
