package tree_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/tree"
)

// An Open that is refused leaves the store as it was.
func TestRefusedOpenMakesNothing(t *testing.T) {
	ctx, long := t.Context(), strings.Repeat("c", 45)
	for name, tt := range map[string]struct {
		before func(s *repo.Store) error
		schema tree.Schema
	}{
		"guards with too long a name": {func(*repo.Store) error { return nil }, tree.Schema{Collection: long}},
		"guards that are other records": {func(s *repo.Store) error {
			_, err := repo.Open[plain](ctx, s, repo.Schema{Collection: "c_trees", Partition: []string{"id"}})
			return err
		}, tree.Schema{Collection: "c"}},
		"guards of a forest that is sorted, without its nodes": {func(s *repo.Store) error {
			_, err := tree.Open[category](ctx, s, tree.Schema{Collection: "c", Sorted: []string{"name"}, Spread: true})
			return errors.Join(err, repo.DropCollection(ctx, s, "c"))
		}, tree.Schema{Collection: "c", Spread: true}},
		"nodes that are other records": {func(s *repo.Store) error {
			_, err := repo.Open[plain](ctx, s, repo.Schema{Collection: "c", Partition: []string{"id"}})
			return err
		}, tree.Schema{Collection: "c"}},
		"a forest that is sorted, and would get an index": {func(s *repo.Store) error {
			_, err := tree.Open[category](ctx, s, tree.Schema{Collection: "c", Sorted: []string{"name"}})
			return err
		}, tree.Schema{Collection: "c", Strategy: tree.Path}},
		"a strategy too few": {func(s *repo.Store) error {
			_, err := tree.Open[category](ctx, s, tree.Schema{Collection: "c", Strategy: tree.Path})
			return err
		}, tree.Schema{Collection: "c"}},
	} {
		s := repo.NewStore(memory.New(nil), nil)
		if err := tt.before(s); err != nil {
			t.Fatal(name, err)
		}
		before := catalogued(t, s)
		if _, err := tree.Open[laterCategory](ctx, s, tt.schema); !errors.Is(err, repo.ErrSchema) && !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if after := catalogued(t, s); !slices.Equal(after, before) {
			t.Errorf("%s: the store has %q, had %q", name, after, before)
		}
	}
}

type plain struct {
	ID string `repo:"id"`
}

// catalogued returns the collections of a store with their fields and indexes.
func catalogued(t *testing.T, s *repo.Store) (list []string) {
	t.Helper()
	names, err := repo.Collections(t.Context(), s)
	for _, name := range names {
		schema, failed := repo.SchemaOf(t.Context(), s, name)
		if err = errors.Join(err, failed); len(schema.Fields) == 0 {
			t.Errorf("%s has no fields", name)
		}
		list = append(list, name)
		for field := range schema.Fields {
			list = append(list, name+"."+field)
		}
		for _, x := range schema.Indexes {
			list = append(list, name+"/"+x.Name)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}
