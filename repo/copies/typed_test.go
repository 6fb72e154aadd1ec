package copies_test

import (
	"context"
	"errors"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/copies"
)

// Records of several types have copies, too: an id function gets a record of one of them, and nil is refused.
func TestTypedRecords(t *testing.T) {
	type thing struct {
		person
		Type string         `repo:"type"`
		Rest map[string]any `repo:",extra"`
	}
	store, ctx := repo.NewStore(memory.New(nil), nil), t.Context()
	schema := repo.Schema{Collection: "people", Partition: []string{"team"}, Sort: []string{"id"},
		Types: repo.Types{Field: "type", Of: map[string]any{"": thing{}}}}
	id := func(x *any) (repo.Key, repo.Version) { return (*x).(*thing).id() }
	from, err := copies.OpenSource(ctx, store, schema, id)
	must(t, err)
	schema.Collection = "things"
	schema.Indexes = []repo.Index{{Partition: []string{"team", "name"}, Sort: []string{"id"}}}
	to, err := copies.OpenTarget(ctx, store, schema, func(x *any) (repo.Key, repo.Version) {
		if *x == nil {
			return nil, repo.Version{}
		}
		return id(x)
	})
	must(t, err)
	must(t, copies.Declare(to, from, copies.Rule[any, any]{
		By:   []string{"team", "name"},
		Refs: func(*any) []repo.Key { return nil },
		Copy: func(context.Context, *any, []*any) error { return nil },
	}))
	if err := to.Insert(ctx, new(any)); !errors.Is(err, repo.ErrInvalid) {
		t.Errorf("nil as a record: %v", err)
	}
}
