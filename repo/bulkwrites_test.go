package repo_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// manyMembers calls do with repositories of members on stores of each scope.
func manyMembers(t *testing.T, do func(t *testing.T, r *repo.Repo[member])) {
	for _, scope := range []driver.Scope{driver.ScopeRecord, driver.ScopePartition, driver.ScopeStore} {
		t.Run(scope.String(), func(t *testing.T) {
			schema := memberSchema
			if scope == driver.ScopeRecord {
				schema = nativeMembers
			}
			store := repo.NewStore(memory.New(&memory.Options{Scope: &scope, Native: scope == driver.ScopeRecord}), nil)
			t.Cleanup(func() { store.Close() })
			r, err := repo.Open[member](t.Context(), store, schema)
			if err != nil {
				t.Fatal(err)
			}
			do(t, r)
			if reports, err := r.Verify(t.Context()); err != nil || slices.ContainsFunc(reports, func(p repo.Report) bool { return !p.Clean() }) {
				t.Errorf("verified: %v, %v", reports, err)
			}
		})
	}
}

func countTeam(t *testing.T, r *repo.Repo[member], team string) int {
	t.Helper()
	n, err := r.Count(t.Context(), repo.Where("team", team))
	if err != nil {
		t.Error(err)
	}
	return n
}

// PutAll writes over what is there; the last of two records with one key stays, and index rows follow.
func TestPutAll(t *testing.T) {
	manyMembers(t, func(t *testing.T, r *repo.Repo[member]) {
		if n, err := r.InsertAll(t.Context(), numbered(300, nil)); n != 300 || err != nil {
			t.Fatal(n, err)
		}
		n, err := r.PutAll(t.Context(), numbered(400, func(i int, m *member) {
			m.Team = "blue"
			switch i {
			case 7:
				m.Note = "\xff"
			case 350:
				m.ID, m.Team = "003", "green"
			}
		}))
		batch, ok := errors.AsType[*repo.BatchError](err)
		if n != 399 || !ok || batch.Done != 399 || len(batch.Failed) != 1 || batch.Failed[0].Index != 7 || !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("PutAll = %d, %v", n, err)
		}
		if red, blue, green := countTeam(t, r, "red"), countTeam(t, r, "blue"), countTeam(t, r, "green"); red != 1 || blue != 397 || green != 1 {
			t.Errorf("%d are red, %d blue, %d green", red, blue, green)
		}
	})
}

// DeleteAll removes what a query finds while it is read.
func TestDeleteAll(t *testing.T) {
	manyMembers(t, func(t *testing.T, r *repo.Repo[member]) {
		n, err := r.InsertAll(t.Context(), numbered(700, func(i int, m *member) {
			if i%7 == 0 {
				m.Team, m.Mail = "blue", mail(fmt.Sprint(i, "@x"))
			}
		}))
		if n != 700 || err != nil {
			t.Fatal(n, err)
		}
		if n, err := r.DeleteAll(t.Context(), r.Keys(t.Context(), repo.Where("team", "red"))); n != 600 || err != nil {
			t.Errorf("DeleteAll = %d, %v", n, err)
		}
		if red, blue := countTeam(t, r, "red"), countTeam(t, r, "blue"); red != 0 || blue != 100 {
			t.Errorf("%d are red, %d blue", red, blue)
		}
		keys := func(yield func(repo.Key, error) bool) {
			_ = yield(repo.Key{"000"}, nil) && yield(repo.Key{"none"}, nil) && yield(repo.Key{"000", 1}, nil) && yield(repo.Key{"007"}, nil)
		}
		n, err = r.DeleteAll(t.Context(), keys)
		if batch, ok := errors.AsType[*repo.BatchError](err); n != 3 || !ok || batch.Failed[0].Index != 2 {
			t.Errorf("DeleteAll of a bad key = %d, %v", n, err)
		}
		if found := membersOf(t, r, repo.Where("mail", "7@x")); found != "" || countTeam(t, r, "blue") != 98 {
			t.Errorf("the value of a deleted record leads to %q, and %d are blue", found, countTeam(t, r, "blue"))
		}
	})
}

// PatchAll makes the same edits to many records; one that is not there is reported.
func TestPatchAll(t *testing.T) {
	manyMembers(t, func(t *testing.T, r *repo.Repo[member]) {
		if n, err := r.InsertAll(t.Context(), numbered(200, nil)); n != 200 || err != nil {
			t.Fatal(n, err)
		}
		keys := func(yield func(repo.Key, error) bool) {
			for i := range 150 {
				id := fmt.Sprintf("%03d", i)
				if i == 20 {
					id = "none"
				}
				if !yield(repo.Key{id}, nil) {
					return
				}
			}
		}
		n, err := r.PatchAll(t.Context(), keys, repo.Add("score", 1000), repo.Set("team", "blue"))
		if batch, ok := errors.AsType[*repo.BatchError](err); n != 149 || !ok || len(batch.Failed) != 1 || batch.Failed[0].Index != 20 || !errors.Is(batch.Failed[0].Err, repo.ErrNotFound) {
			t.Errorf("PatchAll = %d, %v", n, err)
		}
		blue, err := repo.Collect(r.Find(t.Context(), repo.Where("team", "blue").Order("score")))
		if len(blue) != 149 || err != nil || blue[0].Score != 1000 || blue[148].Score != 1149 || countTeam(t, r, "red") != 51 {
			t.Errorf("%d are blue, %v", len(blue), err)
		}
		if n, err := r.PatchAll(t.Context(), keys, repo.Set("none", 1)); n != 0 || !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("PatchAll of no field = %d, %v", n, err)
		}
	})
}
