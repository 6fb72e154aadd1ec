package repo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

// What is told of lists in fields names what helps.
func TestFaultsOfLists(t *testing.T) {
	r, err := openPages(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, q := range map[string]repo.Query{
		"elements of one list; ask for": repo.Where("page.words[]", "a").Where("page.tags[]", "x"),
		"by its number, as seen.0":      repo.Where("seen[].at", 5),
		"seen is a list, whose parts":   repo.Where("seen.at", 5),
		"whose parts are its elements":  repo.Where("seen.01", "x"), // an element has one name
		"by their numbers, as seen.0":   repo.Where("seen.+1", "x"),
	} {
		if _, err := repo.Collect(r.Scan(t.Context(), q)); !strings.Contains(want, "one list") && (!errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("scan %s: %v, want ErrInvalid with %q", q, err, want)
		}
		if _, err := repo.Collect(r.Find(t.Context(), q)); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("find %s: %v, want ErrInvalid with %q", q, err, want)
		}
	}
	if _, err := repo.FieldsOf(r, "seen[]"); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("a view of all elements: %v", err)
	}
	if err := r.Put(t.Context(), &map[string]any{"id": "1", "seen": []any{"x", "y"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Patch(t.Context(), repo.Key{"1"}, repo.Set("seen.01", "z")); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("a patch of an element by another name: %v", err)
	}
	if _, err := openPages(t, map[string]string{"page.words[]": "string"}); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "without the []") {
		t.Errorf("kinds of elements: %v", err)
	}
	_, err = repo.Open[map[string]any](t.Context(), newStore(t, nil), repo.Schema{Collection: "pages", Partition: []string{"id"},
		Fields: map[string]string{"id": "string", "page": "map"}, Indexes: []repo.Index{{Partition: []string{"page.words[]"}}}})
	if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), `{"page.words": "list"}`) {
		t.Errorf("an index of elements without a kind: %v", err)
	}
}
