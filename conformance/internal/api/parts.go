package api

import (
	"context"
	"fmt"

	"github.com/polystore/polystore/conformance/internal/rule"
	"github.com/polystore/polystore/repo"
)

// dwellers are map records whose indexes have parts of a map.
func (e *env) dwellers(ctx context.Context) *repo.Repo[thing] {
	return rule.Shared[thing](ctx, e, repo.Schema{Collection: "dwellers", Partition: []string{"id"},
		Fields: map[string]string{"id": "string", "address": "map", "address.city": "string", "address.number": "int", "address.names": "list"},
		Indexes: []repo.Index{
			{Name: "by_city", Partition: []string{"address.city"}, Sort: []string{"address.number"}, Covers: []string{"address"}},
			{Name: "by_name", Partition: []string{"address.names[]"}},
		}})
}

func partsOfFields(ctx context.Context, e *env) {
	dwellers := e.dwellers(ctx)
	bern, ids := e.name("Bern"), func(q repo.Query) []string {
		return find(ctx, e, dwellers, q, func(d thing) string { return d["id"].(string) })
	}
	key := func(i int) string { return e.name(fmt.Sprint(i)) }
	for i, address := range []map[string]any{
		{"city": bern, "number": 7, "names": []any{e.name("a"), e.name("b")}},
		{"city": bern, "number": -7, "names": []any{e.name("b")}},
		{"city": bern},
		{"number": 1},
		{"city": e.name("Basel"), "number": 0},
		nil,
	} {
		d := thing{"id": key(i)}
		if address != nil {
			d["address"] = address
		}
		e.OK("insert", dwellers.Insert(ctx, &d))
	}
	in := repo.Where("address.city", bern).Order("address.number")
	rule.Equal(e, "who dwells in Bern", ids(in), []string{key(1), key(0)})
	rule.Equal(e, "who dwells there, from number 0", ids(in.AtLeast("address.number", 0)), []string{key(0)})
	rule.Equal(e, "who dwells there and has a name", ids(in.Filter(repo.Where("address.names.0", e.name("a")), 10)), []string{key(0)})
	rule.Equal(e, "who has the name b", ids(repo.Where("address.names[]", e.name("b")).Limit(5)), []string{key(0), key(1)})
	_, err := dwellers.Patch(ctx, repo.Key{key(2)}, repo.Set("address.number", 0), repo.Push("address.names", 0, e.name("b")))
	e.OK("patch of parts", err)
	_, err = dwellers.Patch(ctx, repo.Key{key(0)}, repo.Unset("address.names"), repo.Set("address.city", e.name("Basel")))
	e.OK("patch of parts", err)
	rule.Equal(e, "who dwells in Bern now", ids(in), []string{key(1), key(2)})
	rule.Equal(e, "who has the name b now", ids(repo.Where("address.names[]", e.name("b"))), []string{key(1), key(2)})
	view, err := repo.FieldsOf(dwellers, "address.number", "address.names.0")
	e.OK("view of parts", err)
	for _, d := range collect(e, "find a view", view.Find(ctx, in.Limit(1))) {
		rule.Equal(e, "the view of the first", d, map[string]any{"address.number": int64(-7), "address.names.0": e.name("b")})
	}
	clean(ctx, e, dwellers)
}
