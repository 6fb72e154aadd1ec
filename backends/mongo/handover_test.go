package mongo_test

import (
	"testing"

	"github.com/polystore/polystore/repo"
)

// A new record takes a unique value that another record of its group gives up, whichever comes first.
func TestInsertTakesWhatTheGroupGivesUp(t *testing.T) {
	t.Parallel()
	s, _, _ := watched(t)
	parts, err := repo.Open[part](t.Context(), s, repo.Schema{Collection: "parts", Partition: []string{"machine"}, Sort: []string{"id"},
		Indexes: []repo.Index{{Name: "by_plan", Partition: []string{"machine"}, Sort: []string{"plan"}, Unique: true, Kind: "table"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{"insert", "replace"} {
		old := part{"m", "old " + first, "", "plan " + first}
		if err := parts.Insert(t.Context(), &old); err != nil {
			t.Fatal(err)
		}
		owner, next := part{"m", "new " + first, "", old.Plan}, old
		next.Plan = "another " + first
		g := s.Group()
		if first == "insert" {
			parts.In(g).Insert(&owner)
		}
		parts.In(g).Replace(&next)
		if first != "insert" {
			parts.In(g).Insert(&owner)
		}
		err := g.Commit(t.Context())
		found, failed := parts.One(t.Context(), repo.Where("machine", "m").Where("plan", old.Plan))
		if err != nil || failed != nil || found != owner {
			t.Errorf("%s first: %v; the value is that of %+v, %v", first, err, found, failed)
		}
	}
}
