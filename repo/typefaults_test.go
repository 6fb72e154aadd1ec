package repo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
)

// A field of one name has the parts that it has in all types; what is of two kinds is of no known one.
func TestPartsOfTypes(t *testing.T) {
	type fish struct {
		otherAnimal `repo:"-"`
		ID          string `repo:"id"`
		Kind        string `repo:"kind"`
		Home        struct {
			Water struct {
				Salt int `repo:"salt"`
				Size int `repo:"size"`
			} `repo:"water"`
		} `repo:"home"`
	}
	type duck struct {
		otherAnimal `repo:"-"`
		ID          string `repo:"id"`
		Kind        string `repo:"kind"`
		Home        struct {
			Water struct {
				Deep int    `repo:"deep"`
				Size string `repo:"size"`
			} `repo:"water"`
		} `repo:"home"`
	}
	open := func(part string) error {
		_, err := repo.Open[animal](t.Context(), newStore(t, nil), repo.Schema{Collection: "animals", Partition: []string{"id"},
			Types:   repo.Types{Field: "kind", Of: map[string]any{"duck": duck{}, "fish": fish{}, "": otherAnimal{}}},
			Indexes: []repo.Index{{Partition: []string{part}}}})
		return err
	}
	for _, part := range []string{"home.water.deep", "home.water.salt"} {
		if err := open(part); err != nil {
			t.Errorf("%s: %v", part, err)
		}
	}
	if err := open("home.water.size"); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "values of any kind") {
		t.Errorf("a part of two kinds: %v", err)
	}
}

// A schema without types, or with half of them, is told so.
func TestHalfTypes(t *testing.T) {
	_, err := repo.Open[animal](t.Context(), newStore(t, nil), repo.Schema{Collection: "animals", Partition: []string{"id"}})
	if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "name these under Types") || strings.Contains(err.Error(), "unknown") {
		t.Errorf("an interface without types: %v", err)
	}
	_, err = repo.Open[dog](t.Context(), newStore(t, nil), repo.Schema{Collection: "animals", Partition: []string{"id"}, Types: repo.Types{Field: "kind"}})
	if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "has Types") {
		t.Errorf("a struct with the field of types: %v", err)
	}
}
