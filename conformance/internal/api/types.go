package api

import (
	"context"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// A head is what records of several types have in common.
type head struct {
	ID   string `repo:"id"`
	Kind string `repo:"kind"`
}

type circle struct {
	head
	Radius float64        `repo:"radius"`
	Center map[string]int `repo:"center"`
}

type polygon struct {
	head
	Corners []int64 `repo:"corners"`
}

// An unknown is a record of a type that a program does not know.
type unknown struct {
	head
	Fields map[string]any `repo:",extra"`
}

func figureSchema(of map[string]any) repo.Schema {
	of[""] = unknown{}
	return repo.Schema{Collection: "figures", Partition: []string{"id"}, Types: repo.Types{Field: "kind", Of: of}}
}

func severalTypes(ctx context.Context, e *env) {
	figures := rule.Shared[any](ctx, e, figureSchema(map[string]any{"circle": circle{}, "polygon": polygon{}}))
	one := &circle{head{ID: e.name("1")}, 0.5, map[string]int{"x": 1, "y": 2}}
	two := &polygon{head{ID: e.name("2")}, []int64{0, 1, 2}}
	e.OK("insert", figures.Insert(ctx, new(any(one))))
	e.OK("insert", figures.Insert(ctx, new(any(two))))
	for _, want := range []any{&circle{head{one.ID, "circle"}, 0.5, one.Center}, &polygon{head{two.ID, "polygon"}, two.Corners}} {
		id := one.ID
		if _, ok := want.(*polygon); ok {
			id = two.ID
		}
		got, err := figures.Get(ctx, repo.Key{id})
		e.OK("get", err)
		rule.Equal(e, "the figure", got, want)
	}
	schema := figureSchema(map[string]any{"polygon": polygon{}})
	schema.Collection = e.ID + "_" + schema.Collection
	older, err := repo.Open[any](ctx, e.Repo, schema)
	e.OK("open as an older program does", err)
	got, err := older.Get(ctx, repo.Key{one.ID})
	e.OK("get", err)
	rest := map[string]any{"radius": 0.5, "center": map[string]any{"x": int64(1), "y": int64(2)}}
	rule.Equal(e, "a figure of a type that a program does not know", got, any(&unknown{head{one.ID, "circle"}, rest}))
	e.OK("replace", older.Replace(ctx, &got))
	back, err := figures.Get(ctx, repo.Key{one.ID})
	e.OK("get", err)
	rule.Equal(e, "the figure that it wrote back", back, any(one))
	patched, err := figures.PatchGet(ctx, repo.Key{two.ID}, repo.Push("corners", 0, 3))
	e.OK("patch", err)
	rule.Equal(e, "the patched polygon", patched.(*polygon).Corners, []int64{0, 1, 2, 3})
}
