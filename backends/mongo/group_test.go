package mongo_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/polystore/polystore/repo"
)

// The server groups by itself, by one command, and the groups are those that the library finds by an index that is a
// table.
func TestGroup(t *testing.T) {
	t.Parallel()
	s, seen, _ := watched(t)
	open := func(kind string) *repo.Repo[part] {
		r, err := repo.Open[part](t.Context(), s, repo.Schema{Collection: "parts_" + kind, Partition: []string{"machine"}, Sort: []string{"id"},
			Indexes: []repo.Index{{Name: "below", Partition: []string{"machine"}, Sort: []string{"of", "-plan", "id"}, Kind: kind}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	native, table := open("native"), open("table")
	for i := range 600 {
		p := part{fmt.Sprint("m", i%2), fmt.Sprintf("%03d", i), []string{"", "a", "á", "A", "a b"}[i%5], fmt.Sprint(i % 7)}
		if err := errors.Join(native.Put(t.Context(), &p), table.Put(t.Context(), &p)); err != nil {
			t.Fatal(err)
		}
	}
	q := repo.Where("machine", "m1")
	for _, q := range []repo.Query{
		q, q.Limit(3), q.Offset(2).Limit(2), q.Order("-of", "plan"), q.AtLeast("of", "a"), q.Prefix("of", "a"), q.Where("of", "A"), q.Where("of", "none"),
	} {
		for _, by := range [][]string{{"of"}, {"of", "plan"}, {"machine", "of"}} {
			want, err1 := repo.Collect(table.GroupBy(by...).Find(t.Context(), q))
			seen.take(t)
			got, err2 := repo.Collect(native.GroupBy(by...).Find(t.Context(), q))
			if err := errors.Join(err1, err2); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v by %v: %v, %v; want %v", q, by, got, err, want)
			}
			if cmds := seen.take(t); len(cmds) != 1 || cmds[0][0].Key != "aggregate" {
				t.Errorf("%v by %v: commands %v", q, by, cmds)
			}
		}
	}
}
