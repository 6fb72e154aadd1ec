package repo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A record that another program wrote, with values that an index cannot have, is named as
// such by whatever meets it, and never as a mistake of the caller.
func TestStoredMisfits(t *testing.T) {
	store := newNarrow()
	s := repo.NewStore(store, nil)
	type tagged struct {
		P    string   `repo:"p"`
		ID   string   `repo:"id"`
		Tags []string `repo:"tags"`
		Slug string   `repo:"slug"`
	}
	for _, local := range []bool{true, false} {
		schema := repo.Schema{Collection: "elsewhere", Partition: []string{"p"}, Sort: []string{"id"},
			Indexes: []repo.Index{{Name: "by_tag", Partition: []string{"tags[]"}}, {Partition: []string{"slug"}, Unique: true}}}
		query := repo.Where("tags[]", "x")
		if local {
			schema.Collection, query = "near", query.Where("p", "a")
			schema.Indexes[0] = repo.Index{Name: "by_tag", Partition: []string{"p"}, Sort: []string{"tags[]"}}
		}
		r, err := repo.Open[tagged](t.Context(), s, schema)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"1", "2"} {
			if err := r.Insert(t.Context(), &tagged{"a", id, []string{"x"}, id}); err != nil {
				t.Fatal(err)
			}
		}
		table := store.tables[schema.Collection]
		op := driver.Op{Do: driver.Patch, Table: table, If: driver.Present, Row: driver.Row{Key: driver.Key{Partition: "a#", Sort: "1#"}},
			Edits: []driver.Edit{{Do: driver.Set, Field: fieldOf(table, "tags"), Value: driver.ListValue([]driver.Value{driver.StringValue("x"), driver.IntValue(1)})}}}
		if _, err := store.Commit(t.Context(), driver.NewToken(), []driver.Op{op}); err != nil {
			t.Fatal(err)
		}
		reports, verify := r.Verify(t.Context())
		if len(reports) != 2 || reports[1].Records != 2 {
			t.Errorf("%s: %+v, want reports of both indexes", schema.Collection, reports)
		}
		errs := map[string]error{
			"put":     r.Put(t.Context(), &tagged{"a", "1", []string{"y"}, "1"}),
			"delete":  r.Delete(t.Context(), repo.Key{"a", "1"}),
			"verify":  verify,
			"rebuild": r.Rebuild(t.Context(), "by_tag"),
		}
		if !local {
			_, errs["find"] = repo.Collect(r.Find(t.Context(), query))
			errs["insert of its slug"] = r.Insert(t.Context(), &tagged{"a", "3", nil, "1"})
		}
		for what, err := range errs {
			isTaken := what == "insert of its slug" && errors.Is(err, repo.ErrExists)
			if !isTaken && (!errors.Is(err, repo.ErrSchema) || errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), `"a#1#"`)) {
				t.Errorf("%s of %s: %v, want ErrSchema that names the record", what, schema.Collection, err)
			}
		}
		if _, err := r.Update(t.Context(), repo.Key{"a", "2"}, func(x *tagged) error { x.Tags = []string{"z"}; return nil }); err != nil {
			t.Errorf("its neighbour in %s: %v", schema.Collection, err)
		}
		if list, err := repo.Collect(r.Find(t.Context(), repo.Where("slug", "2"))); err != nil || len(list) != 1 {
			t.Errorf("its neighbour in %s: %v, %v", schema.Collection, list, err)
		}
	}
}

// A claim whose base is no version is corrupt.
func TestClaimWithoutBase(t *testing.T) {
	store := newNarrow()
	one, two := openMembers(t, store, nil), openMembers(t, store, nil)
	if err := one.Insert(t.Context(), &member{ID: "a", Mail: mail("x")}); err != nil {
		t.Fatal(err)
	}
	table := store.tables["members.by_mail"]
	fields := []driver.Value{driver.StringValue("a#"), driver.StringValue("none")}
	op := driver.Op{Do: driver.Put, Table: table, If: driver.Present, Row: driver.Row{Key: driver.Key{Partition: "x#"}, Fields: fields}}
	if _, err := store.Commit(t.Context(), driver.NewToken(), []driver.Op{op}); err != nil {
		t.Fatal(err)
	}
	if err := two.Insert(t.Context(), &member{ID: "b", Mail: mail("x")}); !errors.Is(err, repo.ErrCorrupt) || errors.Is(err, repo.ErrInvalid) {
		t.Errorf("insert: %v, want ErrCorrupt", err)
	}
}

func fieldOf(t *driver.Table, name string) int {
	for i, f := range t.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}
