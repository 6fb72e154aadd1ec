package repo_test

import (
	"errors"
	"testing"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

type holder struct {
	ID    string            `repo:"id"`
	List  []any             `repo:"list"`
	Map   map[string]any    `repo:"map"`
	Texts []string          `repo:"texts"`
	Names map[string]string `repo:"names"`
	Ptrs  []*int            `repo:"ptrs"`
	Part  struct {
		A string
		B []any
	} `repo:"part"`
	Rest map[string]any `repo:",extra"`
}

// storedField puts a record with one field, as another program may write it.
func storedField(t *testing.T, store *repo.Store, table *driver.Table, field string, v driver.Value) {
	t.Helper()
	row := driver.Row{Key: driver.Key{Partition: "a#"}, Fields: make([]driver.Value, len(table.Fields))}
	if at := fieldOf(table, field); at >= 0 {
		row.Fields[at] = v
	} else {
		row.Extra = []driver.Pair{{Name: field, Value: v}}
	}
	if _, err := store.Driver().Commit(t.Context(), driver.NewToken(), []driver.Op{{Do: driver.Put, Table: table, Row: row}}); err != nil {
		t.Fatal(err)
	}
}

// A null in a stored list is ErrCorrupt to every reader, and one in a stored map is nothing.
func TestStoredNulls(t *testing.T) {
	store := newNarrow()
	s := repo.NewStore(store, nil)
	schema := repo.Schema{Collection: "holders", Partition: []string{"id"}}
	typed, err := repo.Open[holder](t.Context(), s, schema)
	if err != nil {
		t.Fatal(err)
	}
	found, err := repo.SchemaOf(t.Context(), s, "holders")
	if err != nil {
		t.Fatal(err)
	}
	maps, err := repo.Open[map[string]any](t.Context(), s, found, repo.WithoutDefine())
	if err != nil {
		t.Fatal(err)
	}
	null, text := driver.Value{}, driver.StringValue
	list := func(vs ...driver.Value) driver.Value { return driver.ListValue(vs) }
	object := func(name string, v driver.Value) driver.Value { return driver.MapValue([]driver.Value{text(name), v}) }
	for _, tt := range []struct {
		field string
		value driver.Value
		want  error
	}{
		{"list", list(null), repo.ErrCorrupt},
		{"list", list(text("x"), list(null)), repo.ErrCorrupt},
		{"list", list(driver.MapValue([]driver.Value{text("k"), null, text("l"), text("x")})), nil},
		{"map", object("k", null), nil},
		{"map", object("k", list(null)), repo.ErrCorrupt},
		{"map", object("k", object("l", null)), nil},
		{"texts", list(text("x"), null), repo.ErrCorrupt},
		{"names", object("k", null), nil},
		{"ptrs", list(null), repo.ErrCorrupt},
		{"part", object("a", null), nil},
		{"part", object("b", list(null)), repo.ErrCorrupt},
		{"more", list(null), repo.ErrCorrupt},
		{"more", object("k", null), nil},
	} {
		storedField(t, s, store.tables["holders"], tt.field, tt.value)
		_, typedErr := typed.Get(t.Context(), repo.Key{"a"})
		_, mapsErr := maps.Get(t.Context(), repo.Key{"a"})
		for what, err := range map[string]error{"struct": typedErr, "map": mapsErr} {
			if !errors.Is(err, tt.want) {
				t.Errorf("%s with %s %v: %v, want %v", what, tt.field, tt.value, err, tt.want)
			}
		}
		if _, err := typed.Update(t.Context(), repo.Key{"a"}, func(*holder) error { return nil }); !errors.Is(err, tt.want) {
			t.Errorf("update of %s %v: %v, want %v", tt.field, tt.value, err, tt.want)
		}
	}
}
