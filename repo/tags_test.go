package repo_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
)

// A user need not have a mail address, and no two have the same.
type user struct {
	ID      string       `repo:"id"`
	Mail    string       `repo:"mail,omitempty"`
	Rank    int          `repo:"rank,omitempty"`
	Seen    time.Time    `repo:"seen,omitempty"`
	Version repo.Version `repo:",version"`
}

func openUsers(t *testing.T) *repo.Repo[user] {
	t.Helper()
	r, err := repo.Open[user](t.Context(), repo.NewStore(memory.New(nil), nil), repo.Schema{
		Collection: "users", Partition: []string{"id"},
		Indexes: []repo.Index{{Name: "mails", Partition: []string{"mail"}, Unique: true}, {Name: "ranks", Partition: []string{"rank"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A field that is tagged omitempty is absent where it is empty: however it came to be so it has no
// row in an index and takes no unique value, and it is empty when it is read.
func TestOmitEmpty(t *testing.T) {
	ctx, users := t.Context(), openUsers(t)
	for _, id := range []string{"a", "b", "c"} {
		if err := users.Insert(ctx, &user{ID: id}); err != nil {
			t.Fatalf("insert of %s without a mail address: %v", id, err)
		}
	}
	if _, err := users.Patch(ctx, repo.Key{"a"}, repo.Set("mail", "x"), repo.Set("rank", 3)); err != nil {
		t.Fatal(err)
	}
	if err := users.Insert(ctx, &user{ID: "d", Mail: "x"}); !errors.Is(err, repo.ErrExists) {
		t.Errorf("insert of a mail address that is taken: %v, want ErrExists", err)
	}
	if got, err := users.One(ctx, repo.Where("mail", "x")); got.ID != "a" || err != nil {
		t.Errorf("who has the mail address: %v, %v", got, err)
	}
	for name, empty := range map[string]func() error{
		"set": func() error {
			_, err := users.Patch(ctx, repo.Key{"a"}, repo.Set("mail", ""), repo.Set("rank", 0))
			return err
		},
		"unset": func() error {
			_, err := users.Patch(ctx, repo.Key{"a"}, repo.Unset("mail"), repo.Unset("rank"))
			return err
		},
		"add": func() error {
			_, err := users.Patch(ctx, repo.Key{"a"}, repo.Set("mail", ""), repo.Add("rank", -3))
			return err
		},
		"put": func() error { return users.Put(ctx, &user{ID: "a"}) },
		"update": func() error {
			_, err := users.Update(ctx, repo.Key{"a"}, func(u *user) error { u.Mail, u.Rank = "", 0; return nil })
			return err
		},
	} {
		if err := users.Put(ctx, &user{ID: "a", Mail: "x", Rank: 3}); err != nil {
			t.Fatal(err)
		}
		if err := empty(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := users.Get(ctx, repo.Key{"a"})
		got.Version = repo.Version{}
		if diff := cmp.Diff(user{ID: "a"}, got); diff != "" || err != nil {
			t.Errorf("%s: %v, %s", name, err, diff)
		}
		for _, q := range []repo.Query{repo.Where("mail", ""), repo.Where("rank", 0)} {
			if n, err := users.Count(ctx, q); n != 0 || err != nil {
				t.Errorf("%s: %v finds %d, %v", name, q, n, err)
			}
		}
	}
	checkClean(t, users)
}

// What is wrong with tags is told all at once, and together with what is wrong with the schema; a
// field that cannot be stored is not told of a second time.
func TestAllFaultsOfTags(t *testing.T) {
	type faulty struct {
		ID    string       `repo:"id,omitempty"`
		Mail  string       `repo:"mail,unique"`
		Ranks []int        `repo:"ranks,omitempty"`
		Call  func()       `repo:"call"`
		Again func()       `repo:"again"`
		Calls []func()     `repo:"calls"`
		Made  string       `repo:",version"`
		Bad   int          `repo:"bad name"`
		Twice int          `repo:"mail"`
		Fine  repo.Version `repo:"fine"`
	}
	_, err := repo.Open[faulty](t.Context(), repo.NewStore(memory.New(nil), nil), repo.Schema{
		Collection: "Faulty", Partition: []string{"id"}, Sort: []string{"none"},
		Indexes: []repo.Index{{Partition: []string{"mail"}}, {Partition: []string{"call"}, Kind: "native"}},
	})
	if !errors.Is(err, repo.ErrSchema) {
		t.Fatalf("open: %v, want ErrSchema", err)
	}
	text := strings.ReplaceAll(err.Error(), ": "+repo.ErrSchema.Error(), "")
	for _, want := range []string{"field id is part of the key", `field Mail: tag option "unique"`, `field Ranks: tag option "omitempty"`, "field Call: type func()", "field Again: type func()", "field Calls: type func()",
		`field Made: tag option "version"`, `field Bad: name "bad name"`, `field Twice: it and field Mail are both named "mail"`,
		`collection name "Faulty"`, `sort field "none" is unknown`} {
		if !strings.Contains(text, want) {
			t.Errorf("the error does not say %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n") + 1; n != 11 || strings.Contains(text, "call is") {
		t.Errorf("%d faults are told, want 11:\n%s", n, text)
	}
}

// A list of times is one of a record's own.
type visits struct {
	ID      string             `repo:"id"`
	Made    time.Time          `repo:"made"`
	Exact   time.Time          `repo:"exact,nanos"`
	Last    *time.Time         `repo:"last"`
	All     []time.Time        `repo:"all"`
	By      map[string]stay    `repo:"by"`
	Any     []any              `repo:"any"`
	Never   time.Time          `repo:"never"`
	Until   time.Time          `repo:",expires"`
	Version repo.Version       `repo:",version"`
	More    map[string]any     `repo:",extra"`
	Nested  struct{ At []any } `repo:"nested"`
}

type stay struct {
	At   time.Time
	Own  int       `repo:"-"` // is not stored, and stays
	Fine time.Time `repo:"fine,nanos"`
}

// A record that was written is what it is when it is read. What its fields refer to, and others may, too,
// is not touched.
func TestWrittenIsWhatIsRead(t *testing.T) {
	ctx := t.Context()
	r, err := repo.Open[visits](ctx, repo.NewStore(memory.New(nil), nil), repo.Schema{Collection: "visits", Partition: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(time.Hour).In(time.FixedZone("far", 7*3600)).Truncate(time.Millisecond).Add(123456)
	fresh := func() visits {
		last := now
		return visits{ID: "a", Made: now, Exact: now, Last: &last, All: []time.Time{now}, By: map[string]stay{"x": {At: now, Own: 7, Fine: now}}, Any: []any{now, "x"},
			Until: now, More: map[string]any{"at": now, "n": int64(1)}, Nested: struct{ At []any }{[]any{now}}}
	}
	key := repo.Key{"a"}
	for _, tt := range []struct {
		name string
		do   func(*visits) error
	}{
		{"insert", func(v *visits) error { return r.Insert(ctx, v) }},
		{"put", func(v *visits) error { return r.Put(ctx, v) }},
		{"replace", func(v *visits) error { return r.Replace(ctx, v) }},
		{"update", func(v *visits) (err error) {
			*v, err = r.Update(ctx, key, func(old *visits) error { *old = *v; return nil })
			return err
		}},
		{"group", func(v *visits) error {
			g := r.Store().Group()
			in := r.In(g)
			in.Put(v)
			return g.Commit(ctx)
		}},
	} {
		v := fresh()
		was := v
		if err := tt.do(&v); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if v.By["x"].Own != 7 {
			t.Errorf("%s: what is not stored is gone", tt.name)
		}
		v.By = map[string]stay{"x": {At: v.By["x"].At, Fine: v.By["x"].Fine}}
		got, err := r.Get(ctx, key)
		if diff := cmp.Diff(got, v); diff != "" || err != nil {
			t.Errorf("%s: %v; what is read (-) and what was handed in (+):\n%s", tt.name, err, diff)
		}
		if v.Made.Location() != time.UTC || v.Made.Nanosecond()%1e6 != 0 || v.Exact.Nanosecond()%1e6 == 0 {
			t.Errorf("%s: times are %v and %v", tt.name, v.Made, v.Exact)
		}
		if !was.Last.Equal(now) || !was.All[0].Equal(now) || !was.By["x"].At.Equal(now) || !was.Any[0].(time.Time).Equal(now) {
			t.Errorf("%s: what the fields of the record referred to was changed", tt.name)
		}
	}
	other := fresh()
	if err := r.Insert(ctx, &other); !errors.Is(err, repo.ErrExists) || !other.Made.Equal(now) {
		t.Errorf("insert of what is there: %v, and the time is %v", err, other.Made)
	}
}

// A record that has a version is not new.
func TestInsertOfAVersion(t *testing.T) {
	ctx, users := t.Context(), openUsers(t)
	u := user{ID: "a"}
	if err := users.Insert(ctx, &u); err != nil {
		t.Fatal(err)
	}
	u.ID = "b"
	g := users.Store().Group()
	in := users.In(g)
	in.Insert(&u)
	for what, err := range map[string]error{"insert": users.Insert(ctx, &u), "group": g.Commit(ctx)} {
		if !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s of a record with a version: %v, want ErrInvalid", what, err)
		}
	}
	u.Version = repo.Version{}
	if err := users.Insert(ctx, &u); err != nil {
		t.Error(err)
	}
}
