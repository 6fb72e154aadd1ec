package repo_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

type thing struct {
	ID    string         `repo:"id"`
	Group string         `repo:"group"`
	Size  int            `repo:"size"`
	List  []string       `repo:"list"`
	Mixed []any          `repo:"mixed"`
	Attr  map[string]any `repo:"attr"`
}

func newStore(t *testing.T, opts *repo.Options) *repo.Store {
	t.Helper()
	s := repo.NewStore(memory.New(nil), opts)
	t.Cleanup(func() { s.Close() })
	return s
}

func thingSchema(indexes ...repo.Index) repo.Schema {
	return repo.Schema{Collection: "things", Partition: []string{"id"}, Indexes: indexes}
}

// Every fault of a schema is one line that names the place and the remedy.
func TestSchemaFaults(t *testing.T) {
	tests := []struct {
		name   string
		schema repo.Schema
		want   []string
	}{
		{"collection name", repo.Schema{Collection: "Things!", Partition: []string{"id"}}, []string{`collection name "Things!"`, "a–z"}},
		{"no partition", repo.Schema{Collection: "things"}, []string{"no partition", "name the fields"}},
		{"unknown field", repo.Schema{Collection: "things", Partition: []string{"nope"}}, []string{`partition field "nope" is unknown`, "the fields are id, group"}},
		{"key twice", repo.Schema{Collection: "things", Partition: []string{"id"}, Sort: []string{"-id"}}, []string{"id is in the key twice"}},
		{"list in a key", repo.Schema{Collection: "things", Partition: []string{"list"}}, []string{"list is a list", `"list[]"`}},
		{"map in an index", thingSchema(repo.Index{Partition: []string{"attr"}}), []string{"attr is a map"}},
		{"elements of a scalar", thingSchema(repo.Index{Partition: []string{"size[]"}}), []string{"size is of kind int", "leave out the []"}},
		{"elements of many kinds", thingSchema(repo.Index{Partition: []string{"mixed[]"}}), []string{"not of one kind"}},
		{"no partition in an index", thingSchema(repo.Index{Sort: []string{"-size"}}), []string{`index on "size" has no partition`, "Buckets (16 is a fair start)"}},
		{"unique buckets", thingSchema(repo.Index{Partition: []string{"size"}, Unique: true, Buckets: 4}), []string{"leave Buckets out"}},
		{"too many buckets", thingSchema(repo.Index{Partition: []string{"size"}, Buckets: 257}), []string{"257 buckets", "1 to 256"}},
		{"too many indexes", thingSchema(make([]repo.Index, 50_000)...), []string{"50000 indexes; at most 63", "drop those"}},
		{"two of one name", thingSchema(repo.Index{Partition: []string{"size"}}, repo.Index{Partition: []string{"size"}}), []string{`named "by_size"`, "give one of them a Name"}},
		{"kind", thingSchema(repo.Index{Partition: []string{"size"}, Kind: "btree"}), []string{`kind "btree"`, "auto, table, native"}},
		{"covers", thingSchema(repo.Index{Partition: []string{"size"}, Covers: []string{"nope"}}), []string{`covers field "nope"`}},
		{"several at once", repo.Schema{Collection: "X", Indexes: []repo.Index{{}, {Partition: []string{"no1", "no2"}}}},
			[]string{`collection name "X"`, "no partition", `"no1" is unknown`, `"no2" is unknown`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := repo.Open[thing](t.Context(), newStore(t, nil), tt.schema)
			if !errors.Is(err, repo.ErrSchema) {
				t.Fatalf("Open: %v, want ErrSchema", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error lacks %q:\n%v", want, err)
				}
			}
			if err := repo.Check[thing](newStore(t, nil).Facts(), tt.schema); !errors.Is(err, repo.ErrSchema) {
				t.Errorf("Check: %v, want ErrSchema", err)
			}
		})
	}
}

func TestStructFaults(t *testing.T) {
	type badOption struct {
		ID string `repo:"id,unique"`
	}
	type badVersion struct {
		ID string `repo:"id"`
		V  string `repo:",version"`
	}
	type badType struct {
		ID string     `repo:"id"`
		F  func()     `repo:"f"`
		C  complex128 `repo:"c"`
	}
	type badName struct {
		ID string `repo:"_id"`
	}
	type twice struct {
		ID  string `repo:"id"`
		ID2 string `repo:"id"`
	}
	open := map[string]func(repo.Schema) error{
		`"unique" is none of`:              func(s repo.Schema) error { return repo.Check[badOption](newStore(t, nil).Facts(), s) },
		"of type repo.Version, not string": func(s repo.Schema) error { return repo.Check[badVersion](newStore(t, nil).Facts(), s) },
		"type func() cannot be stored":     func(s repo.Schema) error { return repo.Check[badType](newStore(t, nil).Facts(), s) },
		"field C: type complex128":         func(s repo.Schema) error { return repo.Check[badType](newStore(t, nil).Facts(), s) },
		`name "_id"`:                       func(s repo.Schema) error { return repo.Check[badName](newStore(t, nil).Facts(), s) },
		`both named "id"`:                  func(s repo.Schema) error { return repo.Check[twice](newStore(t, nil).Facts(), s) },
		"neither a struct nor":             func(s repo.Schema) error { return repo.Check[int](newStore(t, nil).Facts(), s) },
	}
	for want, check := range open {
		err := check(repo.Schema{Collection: "things", Partition: []string{"id"}})
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("Check: %v, want ErrSchema with %q", err, want)
		}
	}
}

func TestReopen(t *testing.T) {
	store, ctx := newStore(t, nil), t.Context()
	base := thingSchema(repo.Index{Partition: []string{"group"}})
	things, err := repo.Open[thing](ctx, store, base)
	if err != nil {
		t.Fatal(err)
	}
	if err := things.Insert(ctx, &thing{ID: "a", Group: "g", Size: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.Open[thing](ctx, store, base, repo.WithoutDefine()); err != nil {
		t.Errorf("Open again without define: %v", err)
	}
	if _, err := repo.Open[thing](ctx, store, thingSchema()); err != nil {
		t.Errorf("Open with an index less: %v", err)
	}
	refused := []struct {
		name, want string
		schema     repo.Schema
		opts       []repo.OpenOption
	}{
		{"another key", "a key cannot change", repo.Schema{Collection: "things", Partition: []string{"group"}, Indexes: base.Indexes}, nil},
		{"an index more", "repo.WithBuild()", thingSchema(base.Indexes[0], repo.Index{Partition: []string{"size"}}), nil},
		{"a covering index", "another name", thingSchema(repo.Index{Partition: []string{"group"}, Covers: []string{"size"}}), nil},
		{"no collection", "WithoutDefine", repo.Schema{Collection: "others", Partition: []string{"id"}}, []repo.OpenOption{repo.WithoutDefine()}},
	}
	for _, tt := range refused {
		if _, err := repo.Open[thing](ctx, store, tt.schema, tt.opts...); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want ErrSchema with %q", tt.name, err, tt.want)
		}
	}
	type otherKind struct {
		ID    string `repo:"id"`
		Group int    `repo:"group"`
	}
	if _, err := repo.Open[otherKind](ctx, store, base); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "group is stored as string and declared as int") {
		t.Errorf("another kind: %v, want ErrSchema", err)
	}
}

func TestAddIndexToFilledCollection(t *testing.T) {
	store, ctx := newStore(t, nil), t.Context()
	old, err := repo.Open[thing](ctx, store, thingSchema())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := old.Insert(ctx, &thing{ID: id, Group: "g"}); err != nil {
			t.Fatal(err)
		}
	}
	more := thingSchema(repo.Index{Partition: []string{"group"}, Covers: []string{"*"}})
	things := built[thing](t, store, more)
	if n, err := things.Count(ctx, repo.Where("group", "g")); err != nil || n != 3 {
		t.Errorf("Count by the new index = %d, %v, want 3", n, err)
	}
	if err := old.Insert(ctx, &thing{ID: "d", Group: "g"}); err != nil {
		t.Errorf("a program without the new index: %v", err)
	}
	if n, err := things.Count(ctx, repo.Where("group", "g")); err != nil || n != 4 {
		t.Errorf("Count by the new index = %d, %v, want 4", n, err)
	}
	unique := thingSchema(more.Indexes[0], repo.Index{Partition: []string{"group"}, Name: "one_a_group", Unique: true})
	if err := must[thing](t, store, unique, repo.WithBuild()).Ready(ctx, "one_a_group"); !errors.Is(err, repo.ErrExists) {
		t.Errorf("a unique index over equal values: %v, want ErrExists", err)
	}
	if _, err := repo.Open[thing](ctx, store, unique); !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "WithBuild") {
		t.Errorf("Open with an index that could not be built: %v, want ErrSchema", err)
	}
	again, err := repo.Open[thing](ctx, store, more)
	if err != nil {
		t.Fatalf("Open without it: %v", err)
	}
	if err := again.Insert(ctx, &thing{ID: "e", Group: "g"}); err != nil {
		t.Errorf("Insert: %v", err)
	}
}

func TestDropCollection(t *testing.T) {
	store, ctx := newStore(t, nil), t.Context()
	things, err := repo.Open[thing](ctx, store, thingSchema())
	if err != nil {
		t.Fatal(err)
	}
	if err := things.Insert(ctx, &thing{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	if err := repo.DropCollection(ctx, store, "things"); err != nil {
		t.Fatal(err)
	}
	if err := things.Insert(ctx, &thing{ID: "b"}); !errors.Is(err, repo.ErrSchema) {
		t.Errorf("Insert into a dropped collection: %v, want ErrSchema", err)
	}
	things, err = repo.Open[thing](ctx, store, repo.Schema{Collection: "things", Partition: []string{"group"}})
	if err != nil {
		t.Fatalf("Open with another key after the drop: %v", err)
	}
	if ok, err := things.Exists(ctx, repo.Key{"a"}); ok || err != nil {
		t.Errorf("Exists after the drop = %v, %v", ok, err)
	}
}

type session struct {
	ID      string    `repo:"id"`
	User    string    `repo:"user"`
	Expires time.Time `repo:",expires"`
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	store, ctx := newStore(t, &repo.Options{Now: func() time.Time { return now }}), t.Context()
	sessions, err := repo.Open[session](ctx, store, repo.Schema{Collection: "sessions", Partition: []string{"id"},
		Indexes: []repo.Index{{Partition: []string{"user"}, Unique: true}, {Name: "all", Partition: []string{"user"}, Covers: []string{"*"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := sessions.Insert(ctx, &session{ID: "s1", User: "ann", Expires: now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		n, err := sessions.Count(ctx, repo.Where("user", "ann"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	now = now.Add(59 * time.Second)
	if _, err := sessions.Patch(ctx, repo.Key{"s1"}, repo.ExpireAt(now.Add(time.Minute))); err != nil || count() != 1 {
		t.Fatalf("renewal: %v, count %d", err, count())
	}
	now = now.Add(59 * time.Second)
	if n := count(); n != 1 {
		t.Errorf("before the renewed expiry: count %d, want 1", n)
	}
	now = now.Add(2 * time.Second)
	if _, err := sessions.Get(ctx, repo.Key{"s1"}); !errors.Is(err, repo.ErrNotFound) || count() != 0 {
		t.Errorf("after the expiry: Get %v, count %d", err, count())
	}
	for name, err := range map[string]error{
		"Update":  second(sessions.Update(ctx, repo.Key{"s1"}, func(*session) error { return nil })),
		"Patch":   second(sessions.Patch(ctx, repo.Key{"s1"}, repo.Set("user", "x"))),
		"Replace": sessions.Replace(ctx, &session{ID: "s1", User: "x"}),
	} {
		if !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("%s of an expired record: %v, want ErrNotFound", name, err)
		}
	}
	if err := sessions.Insert(ctx, &session{ID: "s2", User: "ann", Expires: now.Add(time.Minute)}); err != nil {
		t.Errorf("Insert with the unique value of an expired record: %v", err)
	}
	if err := sessions.Insert(ctx, &session{ID: "s1", User: "bob", Expires: now.Add(time.Second)}); err != nil {
		t.Errorf("Insert over an expired record: %v", err)
	}
	now = now.Add(time.Hour)
	done, err := sessions.Maintain(ctx)
	if err != nil || done.Expired != 2 {
		t.Errorf("Maintain = %+v, %v, want 2 expired", done, err)
	}
	reports, err := sessions.Verify(ctx)
	if err != nil || reports[0].Rows+reports[1].Rows != 0 {
		t.Errorf("rows after Maintain: %+v, %v", reports, err)
	}
}

func second[T any](_ T, err error) error { return err }

// A claim without its record is the only row of its partition: a limited search
// ends there.
func TestFindByClaimWithoutRecord(t *testing.T) {
	store, ctx := newStore(t, nil), t.Context()
	things, err := repo.Open[thing](ctx, store, thingSchema(repo.Index{Partition: []string{"group"}, Unique: true}))
	if err != nil {
		t.Fatal(err)
	}
	if err := things.Insert(ctx, &thing{ID: "s1", Group: "ann"}); err != nil {
		t.Fatal(err)
	}
	// The record is gone although its claim is not: what a reader may meet between
	// reading the one and the other.
	key, stray := driver.Key{Partition: "s1#"}, &driver.Table{Name: "things", Partition: []driver.Column{{Name: "id", Kind: driver.String}}}
	if err := store.Driver().Attach(ctx, []*driver.Table{stray}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Driver().Commit(ctx, driver.NewToken(), []driver.Op{{Do: driver.Delete, Table: stray, Row: driver.Row{Key: key}}}); err != nil {
		t.Fatal(err)
	}
	for _, order := range []string{"group", "-group"} {
		if list, err := repo.Collect(things.Find(ctx, repo.Where("group", "ann").Order(order).Limit(1))); err != nil || len(list) != 0 {
			t.Errorf("Find = %v, %v, want nothing", list, err)
		}
	}
	if _, err := things.One(ctx, repo.Where("group", "ann")); !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("One: %v, want ErrNotFound", err)
	}
}

// DropIndex that ends in the middle can be done again, and leaves nothing that a
// later index of the name, or a later collection, would find.
func TestDropIndexInterrupted(t *testing.T) {
	const index = "by_category_created_desc"
	for nth := 1; ; nth++ {
		store, faults := faulty(t, nil)
		posts, err := repo.Open[post](t.Context(), store, blogSchema())
		if err != nil {
			t.Fatal(err)
		}
		fillBlog(t, posts)
		if err := faults.Set(repotest.Rule{Nth: nth, Fault: repotest.Unavailable}); err != nil {
			t.Fatal(err)
		}
		failed := repo.DropIndex(t.Context(), store, "posts", index)
		if err := faults.Set(); err != nil {
			t.Fatal(err)
		}
		if failed == nil {
			if nth < 5 {
				t.Errorf("DropIndex makes %d calls; this test wants more", nth-1)
			}
			return
		}
		if err := repo.DropIndex(t.Context(), store, "posts", index); err != nil {
			t.Errorf("call %d failed, then DropIndex = %v", nth, err)
		}
		if err := repo.DropCollection(t.Context(), store, "posts"); err != nil {
			t.Fatal(err)
		}
		if posts, err = repo.Open[post](t.Context(), store, blogSchema()); err != nil {
			t.Fatal(err)
		}
		if n, err := posts.Count(t.Context(), repo.Where("category", "IT")); n != 0 || err != nil {
			t.Errorf("call %d failed, and a new collection has %d records, %v", nth, n, err)
		}
	}
}
