package repo_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A common store is one that several programs may have open. Each has a repo.Store of its own.
type common struct {
	*memory.Store
	*knownTables
}

// The knownTables are those that some program has defined.
type knownTables struct {
	mu  sync.Mutex
	all map[*driver.Table]bool
}

func newCommon(opts *memory.Options) common {
	return common{memory.New(opts), &knownTables{all: map[*driver.Table]bool{}}}
}

func (s common) Facts() driver.Facts {
	f := s.Store.Facts()
	f.OneProcess = false
	return f
}

func (common) Close() error { return nil }

func (s common) Define(ctx context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tables {
		s.all[t] = true
	}
	return s.Store.Define(ctx, tables)
}

// Drop leaves the tables known: the programs that have them open are not told.
func (s common) Drop(ctx context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.Store.Drop(ctx, tables)
	for t := range s.all {
		if err == nil && !t.Native && slices.ContainsFunc(tables, func(o *driver.Table) bool { return o.Name == t.Name }) {
			err = s.Store.Define(ctx, []*driver.Table{t})
		}
	}
	return err
}

// program returns the store of a program.
func (s common) program(t *testing.T) *repo.Store {
	t.Helper()
	p := repo.NewStore(s, nil)
	t.Cleanup(func() { p.Close() })
	return p
}

// both runs a test on a store that one process has alone, where both versions are of one
// program, and on one that several programs may have open.
func both(t *testing.T, test func(t *testing.T, older, newer *repo.Store)) {
	t.Helper()
	t.Run("one program", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newStore(t, nil)
			test(t, s, s)
		})
	})
	t.Run("two programs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newCommon(nil)
			test(t, s.program(t), s.program(t))
		})
	})
	t.Run("two programs, rows apart, tombstones", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			scope := driver.ScopePartition
			s := newCommon(&memory.Options{Scope: &scope, Uncertain: true})
			test(t, s.program(t), s.program(t))
		})
	})
}

func must[T any](t *testing.T, store *repo.Store, schema repo.Schema, opts ...repo.OpenOption) *repo.Repo[T] {
	t.Helper()
	r, err := repo.Open[T](t.Context(), store, schema, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A login is a session as an older program knows it.
type login struct {
	ID   string `repo:"id"`
	User string `repo:"user"`
	Seen int64  `repo:"seen"`
}

// A passing is a session as a newer program knows it.
type passing struct {
	ID    string    `repo:"id"`
	User  string    `repo:"user"`
	Seen  int64     `repo:"seen"`
	Until time.Time `repo:",expires"`
}

func loginSchema() repo.Schema {
	return repo.Schema{Collection: "logins", Partition: []string{"id"}, Indexes: []repo.Index{
		{Partition: []string{"user"}}, // key-only
		{Partition: []string{"user"}, Sort: []string{"seen"}, Covers: []string{"*"}},
	}}
}

const waysToMeet = 14

// ways returns by which ways of reading a program meets something of a user, or fails to.
func ways[T any](ctx context.Context, r *repo.Repo[T], id, user string) []string {
	var list []string
	note := func(way string, found bool, err error) {
		if found || err != nil && !errors.Is(err, repo.ErrNotFound) {
			list = append(list, fmt.Sprint(way, " ", err))
		}
	}
	_, err := r.Get(ctx, repo.Key{id})
	note("get", err == nil, err)
	found, err := r.Exists(ctx, repo.Key{id})
	note("exists", found, err)
	_, some, err := r.GetMany(ctx, []repo.Key{{id}})
	note("get many", some != nil && some[0], err)
	for _, q := range []repo.Query{repo.Where("user", user), repo.Where("user", user).Order("seen")} {
		n, err := r.Count(ctx, q)
		note("count "+q.String(), n > 0, err)
		all, err := repo.Collect(r.Find(ctx, q))
		note("find "+q.String(), len(all) > 0, err)
		keys, err := repo.Collect(r.Keys(ctx, q))
		note("keys "+q.String(), len(keys) > 0, err)
		page, err := r.Page(ctx, q, "")
		note("page "+q.String(), len(page.Items) > 0, err)
	}
	all, err := repo.Collect(r.Scan(ctx, repo.Where("user", user)))
	note("scan", len(all) > 0, err)
	for chunk, err := range r.Walk(ctx, "") {
		note("walk", len(chunk.Items) > 0, err)
	}
	_, err = r.Patch(ctx, repo.Key{id}, repo.Set("seen", 9)) // which reads nothing where nothing expires
	note("patch", err == nil, err)
	return list
}

// The expiry that a row carries counts, also for a program that knows of none and has the
// collection open since before there was one.
func TestExpiryOfAnotherProgram(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		ctx := t.Context()
		before := must[login](t, older, loginSchema())
		if err := before.Insert(ctx, &login{ID: "0", User: "bob"}); err != nil {
			t.Fatal(err)
		}
		if got := ways(ctx, before, "0", "bob"); len(got) != waysToMeet {
			t.Fatalf("what lasts is found by %q", got)
		}
		after := must[passing](t, newer, loginSchema())
		if err := after.Insert(ctx, &passing{ID: "1", User: "ann", Until: time.Now().Add(time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Millisecond)
		if err := before.Delete(ctx, repo.Key{"0"}); err != nil {
			t.Fatal(err)
		}
		if got := ways(ctx, before, "1", "ann"); len(got) > 0 {
			t.Errorf("the older program meets an expired record by %q", got)
		}
		if err := before.Insert(ctx, &login{ID: "1", User: "ann"}); err != nil {
			t.Errorf("insert by the older program over an expired record: %v", err)
		}
		if got := ways(ctx, after, "1", "ann"); len(got) != waysToMeet {
			t.Errorf("the newer program finds it by %q", got)
		}
	})
}

// A program that opens a collection as maps keeps nobody from writing, and an expiry that it
// then writes counts for all.
func TestMapsBesideStructs(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		ctx := t.Context()
		before := must[login](t, older, loginSchema())
		if err := before.Insert(ctx, &login{ID: "0", User: "ann"}); err != nil {
			t.Fatal(err)
		}
		schema, err := repo.SchemaOf(ctx, newer, "logins")
		if err != nil {
			t.Fatal(err)
		}
		maps := must[map[string]any](t, newer, schema)
		for i, write := range []func() error{
			func() error { return before.Put(ctx, &login{ID: "1", User: "ann"}) },
			func() error {
				return maps.Put(ctx, &map[string]any{"id": "2", "user": "ann", "seen": 1, "_expires": time.Now().Add(time.Hour)})
			},
			func() error { return before.Put(ctx, &login{ID: "3", User: "ann"}) },
		} {
			if err := write(); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		}
		count := func(want int) {
			t.Helper()
			for name, count := range map[string]func(context.Context, repo.Query) (int, error){"older": before.Count, "maps": maps.Count} {
				if n, err := count(ctx, repo.Where("user", "ann")); n != want || err != nil {
					t.Errorf("%s: %d records, %v; want %d", name, n, err, want)
				}
			}
		}
		count(4)
		time.Sleep(2 * time.Hour)
		count(3)
	})
}

// A tally counts calls of the store beneath.
type tally struct {
	common
	gets, counts atomic.Int64
}

func (s *tally) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.gets.Add(1)
	return s.common.Get(ctx, t, keys, mask, rows)
}

func (s *tally) Count(ctx context.Context, span driver.Span) (int, error) {
	s.counts.Add(1)
	return s.common.Count(ctx, span)
}

// Where nothing expires, the store counts, in one call, and a patch reads nothing. The
// catalog is asked beside the calls, once in a while.
func TestNothingExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), &tally{common: newCommon(nil)}
		store := repo.NewStore(s, nil)
		defer store.Close()
		r := must[login](t, store, loginSchema())
		if err := r.Insert(ctx, &login{ID: "1", User: "ann"}); err != nil {
			t.Fatal(err)
		}
		s.gets.Store(0)
		for range 100 {
			if n, err := r.Count(ctx, repo.Where("user", "ann")); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		if s.counts.Load() != 100 || s.gets.Load() > 10 {
			t.Errorf("in ten seconds the store was asked for %d counts and %d rows, want 100 and 10 at most", s.counts.Load(), s.gets.Load())
		}
	})
}

// Who opens without being allowed to change the catalog cannot let records expire.
func TestExpiryWithoutDefine(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		ctx := t.Context()
		before := must[login](t, older, loginSchema())
		attached := must[passing](t, newer, loginSchema(), repo.WithoutDefine())
		fades := passing{ID: "1", User: "ann", Until: time.Now().Add(time.Hour)}
		if err := attached.Insert(ctx, &fades); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("insert of what expires: %v, want ErrInvalid", err)
		}
		if err := attached.Insert(ctx, &passing{ID: "2", User: "ann"}); err != nil {
			t.Error(err)
		}
		must[passing](t, older, loginSchema())
		if err := attached.Insert(ctx, &fades); err != nil {
			t.Errorf("insert of what expires when another program lets it: %v", err)
		}
		if got, err := repo.Collect(before.Keys(ctx, repo.Where("user", "ann"))); len(got) != 2 || err != nil {
			t.Errorf("keys: %v, %v", got, err)
		}
		if !slices.Contains(ways(ctx, before, "1", "ann"), "get <nil>") {
			t.Error("the older program does not find what has not expired")
		}
	})
}

func indexed(x ...repo.Index) repo.Schema {
	return repo.Schema{Collection: "logins", Partition: []string{"id"}, Indexes: x}
}

func byUser() repo.Index { return repo.Index{Partition: []string{"user"}} }

// refuses reports whether every way to read and write is ErrSchema.
func refuses(t *testing.T, what string, r *repo.Repo[login]) {
	t.Helper()
	ctx := t.Context()
	_, getErr := r.Get(ctx, repo.Key{"1"})
	_, existsErr := r.Exists(ctx, repo.Key{"1"})
	_, _, manyErr := r.GetMany(ctx, []repo.Key{{"1"}})
	_, findErr := repo.Collect(r.Find(ctx, repo.Where("user", "ann")))
	_, keysErr := repo.Collect(r.Keys(ctx, repo.Where("user", "ann")))
	_, countErr := r.Count(ctx, repo.Where("user", "ann"))
	_, pageErr := r.Page(ctx, repo.Where("user", "ann"), "")
	_, scanErr := repo.Collect(r.Scan(ctx, repo.Where("user", "ann")))
	var walkErr error
	for _, err := range r.Walk(ctx, "") {
		walkErr = err
	}
	putErr := r.Put(ctx, &login{ID: "9", User: "ann"})
	_, patchErr := r.Patch(ctx, repo.Key{"1"}, repo.Set("seen", 1))
	_, blindErr := r.PatchBlind(ctx, repo.Key{"1"}, repo.Set("seen", 1))
	replaceErr := r.Replace(ctx, &login{ID: "1", User: "ann"})
	_, updateErr := r.Update(ctx, repo.Key{"1"}, func(*login) error { return nil })
	for way, err := range map[string]error{"get": getErr, "exists": existsErr, "get many": manyErr, "find": findErr, "keys": keysErr,
		"count": countErr, "page": pageErr, "scan": scanErr, "walk": walkErr, "put": putErr, "patch": patchErr,
		"patch blind": blindErr, "replace": replaceErr, "update": updateErr} {
		if !errors.Is(err, repo.ErrSchema) {
			t.Errorf("%s: %s: %v, want ErrSchema", what, way, err)
		}
	}
}

// leftIndex sees that a program goes on without an index that was dropped.
func leftIndex(t *testing.T, r *repo.Repo[login]) {
	t.Helper()
	ctx := t.Context()
	l, getErr := r.Get(ctx, repo.Key{"1"})
	err := errors.Join(getErr, r.Put(ctx, &l), second(r.Update(ctx, repo.Key{"1"}, func(*login) error { return nil })))
	if err != nil {
		t.Errorf("without the index: %v", err)
	}
	if _, err := repo.Collect(r.Find(ctx, repo.Where("user", "ann"))); !errors.Is(err, repo.ErrNoIndex) {
		t.Errorf("a query by an index that was dropped: %v, want ErrNoIndex", err)
	}
}

// finds ends the test unless an index finds as many records as there are, or fails.
func finds(t *testing.T, r *repo.Repo[login], want int) (ok bool) {
	t.Helper()
	all, err := repo.Collect(r.Find(t.Context(), repo.Where("user", "ann")))
	if err == nil && len(all) != want {
		t.Fatalf("the index finds %d of %d records, and there is no error", len(all), want)
	}
	return err == nil
}

// An index that is dropped while another program reads by it finds all, and then is an
// error, at every moment in between.
func TestDropIndexBesideReaders(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		ctx := t.Context()
		r := must[login](t, older, indexed(byUser()))
		for i := range 4 {
			if err := r.Insert(ctx, &login{ID: fmt.Sprint(i), User: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() { done <- repo.DropIndex(ctx, newer, "logins", "by_user") }()
		for wait := 0; wait < 40; wait++ {
			finds(t, r, 4)
			time.Sleep(70 * time.Millisecond)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		leftIndex(t, r)
		again := must[login](t, newer, indexed())
		if n, err := repo.Collect(again.Scan(ctx, repo.All())); len(n) != 4 || err != nil {
			t.Errorf("what is left: %v, %v", n, err)
		}
	})
}

// A reader that sleeps while an index goes, and is woken in the middle of a reading, does not
// take what it finds for all there is.
func TestDropIndexBesideSleeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), newCommon(nil)
		older, newer := s.program(t), s.program(t)
		r := must[login](t, older, indexed(byUser()))
		for i := range 600 {
			if err := r.Insert(ctx, &login{ID: fmt.Sprint(i), User: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		var last error
		for _, err := range r.Find(ctx, repo.Where("user", "ann")) {
			if last = err; err == nil {
				n++
			}
			if n == 10 {
				if err := repo.DropIndex(ctx, newer, "logins", "by_user"); err != nil {
					t.Fatal(err)
				}
			}
		}
		if e, ok := errors.AsType[*repo.Error](last); n == 600 || !ok || !e.Retryable {
			t.Errorf("%d records, %v; want fewer than 600 and an error after which a program may ask again", n, last)
		}
	})
}

// A collection that is dropped, and made anew, with or without the index, is not the one
// that another program has open.
func TestMadeAnewBesideReaders(t *testing.T) {
	for name, schema := range map[string]repo.Schema{"with the index": indexed(byUser()), "without": indexed()} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, older, newer *repo.Store) {
				ctx := t.Context()
				r := must[login](t, older, indexed(byUser()))
				if err := r.Insert(ctx, &login{ID: "1", User: "ann"}); err != nil {
					t.Fatal(err)
				}
				if err := repo.DropCollection(ctx, newer, "logins"); err != nil {
					t.Fatal(err)
				}
				refuses(t, "after the drop", r)
				anew := must[login](t, newer, schema)
				if err := anew.Insert(ctx, &login{ID: "1", User: "ann"}); err != nil {
					t.Fatal(err)
				}
				refuses(t, "made anew", r)
			})
		})
	}
}

// A drop that was stopped in the middle is told by Open, which does not take what is left for
// the collection, and can be done again.
func TestDropStoppedWhileOthersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCommon(nil)
		older, newer := s.program(t), s.program(t)
		r := must[login](t, older, indexed())
		if err := r.Insert(t.Context(), &login{ID: "1"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := repo.DropCollection(ctx, newer, "logins"); !errors.Is(err, repo.ErrTimeout) {
			t.Fatalf("a drop without the time for it: %v, want ErrTimeout", err)
		}
		if _, err := repo.Open[login](t.Context(), newer, indexed()); !errors.Is(err, repo.ErrSchema) {
			t.Errorf("open: %v, want ErrSchema", err)
		}
		if err := repo.DropCollection(t.Context(), newer, "logins"); err != nil {
			t.Error(err)
		}
		must[login](t, newer, indexed())
	})
}

// A mute store does not answer for the catalog.
type mute struct {
	common
	silent atomic.Bool
}

func (s *mute) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	if s.silent.Load() && t.Name == "_catalog" {
		<-ctx.Done()
		return fmt.Errorf("mute: %w: %w", driver.ErrUnavailable, ctx.Err())
	}
	return s.common.Get(ctx, t, keys, mask, rows)
}

// Where the catalog cannot be read while the records can, a program goes on, and does not
// wait for the catalog more than once.
func TestCatalogOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), &mute{common: newCommon(nil)}
		store := repo.NewStore(s, nil)
		defer store.Close()
		r := must[login](t, store, indexed(byUser()))
		if err := r.Insert(ctx, &login{ID: "1", User: "ann"}); err != nil {
			t.Fatal(err)
		}
		s.silent.Store(true)
		began, slow := time.Now(), 0
		for time.Since(began) < time.Minute {
			at := time.Now()
			if !finds(t, r, 1) {
				t.Fatal("the index does not answer")
			}
			if time.Since(at) > 100*time.Millisecond {
				slow++
			}
			time.Sleep(500 * time.Millisecond)
		}
		if slow > 1 {
			t.Errorf("%d readings waited for the catalog", slow)
		}
		s.silent.Store(false)
		if err := repo.DropIndex(ctx, s.program(t), "logins", "by_user"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		_ = finds(t, r, 1)
		synctest.Wait()
		leftIndex(t, r)
	})
}

// A richer login has what only a newer program knows of.
type richer struct {
	ID    string         `repo:"id"`
	User  string         `repo:"user"`
	Seen  int64          `repo:"seen"`
	Mail  string         `repo:"mail"`
	Roles []string       `repo:"roles"`
	Attr  map[string]any `repo:"attr"`
	Until time.Time      `repo:",expires"`
	More  map[string]any `repo:",extra"`
}

// rewrites are the ways in which a program writes a record again that it has read.
func rewrites(ctx context.Context, r *repo.Repo[login]) map[string]func(l login) error {
	return map[string]func(l login) error{
		"put":     func(l login) error { return r.Put(ctx, &l) },
		"replace": func(l login) error { return r.Replace(ctx, &l) },
		"update": func(l login) error {
			_, err := r.Update(ctx, repo.Key{l.ID}, func(old *login) error { *old = l; return nil })
			return err
		},
		"group put": func(l login) error {
			g := r.Store().Group()
			in := r.In(g)
			in.Put(&l)
			return g.Commit(ctx)
		},
		"group replace": func(l login) error {
			g := r.Store().Group()
			in := r.In(g)
			in.Replace(&l)
			return g.Commit(ctx)
		},
		"patch": func(l login) error {
			_, err := r.Patch(ctx, repo.Key{l.ID}, repo.Set("seen", l.Seen))
			return err
		},
	}
}

// What a program says nothing of stays when it writes a record: by records, and by rows that
// cover. A record that begins anew has nothing of the one before it.
func TestFieldsOfAnotherProgram(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		for _, schema := range []repo.Schema{indexed(), loginSchema()} {
			fieldsOfAnother(t, older, newer, schema)
			if err := repo.DropCollection(t.Context(), newer, schema.Collection); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func fieldsOfAnother(t *testing.T, older, newer *repo.Store, schema repo.Schema) {
	t.Helper()
	ctx := t.Context()
	before := must[login](t, older, schema)
	after := must[richer](t, newer, schema)
	all := func() (list []richer) {
		t.Helper()
		list, err := repo.Collect(after.Scan(ctx, repo.Where("user", "ann")))
		if len(schema.Indexes) > 0 {
			covered, err := repo.Collect(after.Find(ctx, repo.Where("user", "ann").Order("seen")))
			if !reflect.DeepEqual(covered, list) || err != nil {
				t.Errorf("the index that covers all has %+v, %v, the records %+v", covered, err, list)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for name, write := range rewrites(ctx, before) {
		for _, seen := range []int64{1, 2} { // as it was, and changed
			want := richer{ID: "1", User: "ann", Seen: 1, Mail: "a@x", Roles: []string{"b", "a"}, Attr: map[string]any{"k": int64(1)},
				Until: time.Now().Add(time.Hour).Truncate(time.Millisecond).UTC(), More: map[string]any{"z": "y"}}
			if err := after.Insert(ctx, &want); err != nil {
				t.Fatal(err)
			}
			if err := write(login{ID: "1", User: "ann", Seen: seen}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want.Seen = seen
			if got := all(); !reflect.DeepEqual(got, []richer{want}) {
				t.Errorf("after a %s by the older program there is %+v, want %+v", name, got, want)
			}
			if err := before.Delete(ctx, repo.Key{"1"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, begin := range map[string]func(*login) error{
		"insert": func(l *login) error { return before.Insert(ctx, l) },
		"put":    func(l *login) error { return before.Put(ctx, l) },
	} {
		for what, end := range map[string]func() error{
			"deleted": func() error { return before.Delete(ctx, repo.Key{"1"}) },
			"expired": func() error { time.Sleep(time.Hour); return nil },
		} {
			old := richer{ID: "1", User: "ann", Mail: "a@x", Until: time.Now().Add(time.Minute), More: map[string]any{"z": "y"}}
			if err := errors.Join(after.Insert(ctx, &old), end(), begin(&login{ID: "1", User: "ann", Seen: 3})); err != nil {
				t.Fatalf("%s over one that is %s: %v", name, what, err)
			}
			if got := all(); len(got) != 1 || !reflect.DeepEqual(got[0], richer{ID: "1", User: "ann", Seen: 3}) {
				t.Errorf("%s over one that is %s leaves %+v", name, what, got)
			}
			if err := before.Delete(ctx, repo.Key{"1"}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func nativeByUser() repo.Index {
	return repo.Index{Partition: []string{"user"}, Sort: []string{"seen"}, Kind: "native"}
}

// A native index cannot be left behind, so a program that does not know of it goes on, and
// may be started anew.
func TestNativeIndexOfAnotherProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), newCommon(nil)
		before := must[login](t, s.program(t), indexed())
		if err := before.Insert(ctx, &login{ID: "1", User: "ann", Seen: 1}); err != nil {
			t.Fatal(err)
		}
		after := must[login](t, s.program(t), indexed(nativeByUser(), repo.Index{Partition: []string{"seen"}, Unique: true, Kind: "native"}), repo.WithBuild())
		time.Sleep(10 * time.Second)
		for i, r := range []*repo.Repo[login]{before, must[login](t, s.program(t), indexed())} {
			n := int64(2 + i)
			if err := r.Put(ctx, &login{ID: fmt.Sprint(n), User: "ann", Seen: n}); err != nil {
				t.Errorf("program %d, which does not know of the index: %v", i, err)
			}
			if _, err := r.Get(ctx, repo.Key{"1"}); err != nil {
				t.Errorf("program %d: %v", i, err)
			}
			err := r.Insert(ctx, &login{ID: "9", User: "ann", Seen: 1})
			if e, ok := errors.AsType[*repo.Error](err); !ok || !errors.Is(err, repo.ErrExists) || e.Index != "by_seen" {
				t.Errorf("program %d: insert of a value that is taken in the other index: %v", i, err)
			}
		}
		if got, err := repo.Collect(after.Find(ctx, repo.Where("user", "ann").Order("seen"))); len(got) != 3 || err != nil {
			t.Errorf("the index finds %v, %v", got, err)
		}
	})
}

// A unique value that another program's index keeps is free when its owner has expired.
func TestNativeOwnerExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), newCommon(nil)
		unique := indexed(repo.Index{Partition: []string{"user"}, Unique: true, Kind: "native"})
		after := must[passing](t, s.program(t), unique)
		before := must[login](t, s.program(t), indexed())
		if err := after.Insert(ctx, &passing{ID: "1", User: "ann", Until: time.Now().Add(time.Minute)}); err != nil {
			t.Fatal(err)
		}
		if err := before.Insert(ctx, &login{ID: "2", User: "ann"}); !errors.Is(err, repo.ErrExists) {
			t.Errorf("insert of a value that is taken: %v", err)
		}
		time.Sleep(time.Hour)
		if err := before.Insert(ctx, &login{ID: "2", User: "ann"}); err != nil {
			t.Errorf("insert of a value whose owner has expired: %v", err)
		}
	})
}

// Replicas of a new program that start at once all come to have its indexes, new ones and
// those that are declared otherwise; the older program is told.
func TestReplicasBuildAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), newCommon(nil)
		older := nativeByUser()
		older.Name = "x"
		before := must[login](t, s.program(t), indexed(older))
		for i := range 300 {
			if err := before.Insert(ctx, &login{ID: fmt.Sprint(i), User: "ann", Seen: int64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		newer := repo.Index{Name: "y", Partition: []string{"user"}, Sort: []string{"-seen"}, Kind: "native"}
		opened := make(chan error)
		for range 4 {
			p := s.program(t)
			go func() {
				r, err := repo.Open[login](ctx, p, indexed(newer, nativeByUser()), repo.WithBuild())
				if err == nil {
					var got []login
					if got, err = repo.Collect(r.Find(ctx, repo.Where("user", "ann"))); err == nil && len(got) != 300 {
						err = fmt.Errorf("%d of 300 records", len(got))
					}
				}
				opened <- err
			}()
		}
		for range 4 {
			if err := <-opened; err != nil {
				t.Errorf("a replica: %v", err)
			}
		}
		if got, err := repo.Collect(before.Find(ctx, repo.Where("user", "ann"))); len(got) != 300 || err != nil {
			t.Errorf("the older program: %d records, %v", len(got), err)
		}
	})
}

// A meddler lets something happen before a commit that looks at a record, once.
type meddler struct {
	common
	before func()
}

func (s *meddler) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if before := s.before; before != nil && len(ops) > 1 && ops[0].Do == driver.Check {
		s.before = nil
		before()
	}
	return s.common.Commit(ctx, token, ops)
}

// A record that another program changes while its index is mended is looked at again: its
// rows are as it is then.
func TestRebuildBesideWriters(t *testing.T) {
	for name, spoil := range map[string]func(op *driver.Op){
		"a row is missing":  func(op *driver.Op) { op.Do = driver.Delete },
		"a row is too many": func(op *driver.Op) { op.Row.Key.Sort = strings.Replace(op.Row.Key.Sort, "1", "7", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := t.Context(), &meddler{common: newCommon(nil)}
			store := repo.NewStore(s, nil)
			defer store.Close()
			r := must[login](t, store, indexed(byUser()))
			other := must[login](t, s.program(t), indexed(byUser()))
			if err := r.Insert(ctx, &login{ID: "1", User: "ann"}); err != nil {
				t.Fatal(err)
			}
			var rows *driver.Table
			for table := range s.all {
				if table.Name == "logins.by_user" {
					rows = table
				}
			}
			for chunk, err := range s.Walk(ctx, rows, "") {
				for i := range chunk.Rows {
					op := driver.Op{Do: driver.Put, Table: rows, Row: driver.Row{Key: chunk.Rows[i].Key}}
					spoil(&op)
					if _, err := s.common.Commit(ctx, driver.NewToken(), []driver.Op{op}); err != nil {
						t.Fatal(err)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			met := false
			s.before = func() {
				met = true
				for _, id := range []string{"1", "7"} {
					if err := other.Put(ctx, &login{ID: id, User: "ann", Seen: 5}); err != nil {
						t.Error(err)
					}
				}
			}
			if err := r.Rebuild(ctx, "by_user"); err != nil || !met {
				t.Fatalf("rebuild: %v, a record was changed meanwhile: %v", err, met)
			}
			reports, err := r.Verify(ctx)
			if err != nil || len(reports) != 1 || !reports[0].Clean() || reports[0].Rows != 2 {
				t.Errorf("verify: %+v, %v", reports, err)
			}
		})
	}
}

// opener returns what opens a schema with records of a type.
func opener[T any](t *testing.T) func(repo.Schema) func(*repo.Store) error {
	return func(s repo.Schema) func(*repo.Store) error {
		return func(store *repo.Store) error {
			return second(repo.Open[T](t.Context(), store, s, repo.WithBuild()))
		}
	}
}

// The elements of a list are of one kind, whether or not an index has them and this program
// knows of it: to a store that keeps the index they are all alike.
func TestOtherElements(t *testing.T) {
	type texts struct {
		ID   string   `repo:"id"`
		Tags []string `repo:"tags"`
	}
	type numbers struct {
		ID   string  `repo:"id"`
		Tags []int64 `repo:"tags"`
	}
	type anything struct {
		ID   string `repo:"id"`
		Tags []any  `repo:"tags"`
	}
	table, native := indexed(repo.Index{Partition: []string{"tags[]"}, Kind: "table"}), indexed(repo.Index{Partition: []string{"tags[]"}, Kind: "native"})
	maps := indexed()
	maps.Fields = map[string]string{"id": "string", "tags": "list"}
	openTexts, openNumbers := opener[texts](t), opener[numbers](t)
	openAny, openMaps := opener[anything](t)(indexed()), opener[map[string]any](t)(maps)
	for name, tt := range map[string]struct {
		first, second func(*repo.Store) error
		refused       bool
	}{
		"numbers after texts":                           {openTexts(table), openNumbers(table), true},
		"numbers after texts, native":                   {openTexts(native), openNumbers(native), true},
		"texts after numbers":                           {openNumbers(table), openTexts(table), true},
		"numbers after numbers":                         {openNumbers(table), openNumbers(table), false},
		"numbers that know of no index":                 {openTexts(native), openNumbers(indexed()), true},
		"an index of texts after numbers without one":   {openNumbers(indexed()), openTexts(native), true},
		"an index of numbers after texts without one":   {openTexts(indexed()), openNumbers(table), true},
		"numbers after texts without an index":          {openTexts(indexed()), openNumbers(indexed()), true},
		"anything after an index of texts":              {openTexts(native), openAny, true},
		"anything after texts":                          {openTexts(indexed()), openAny, false},
		"texts after anything":                          {openAny, openTexts(indexed()), false},
		"maps beside texts":                             {openTexts(indexed()), openMaps, false},
		"maps beside numbers":                           {openNumbers(indexed()), openMaps, false},
		"maps beside an index of texts":                 {openTexts(native), openMaps, false},
		"maps that know nothing of an index of numbers": {openNumbers(native), openMaps, true},
		"numbers after maps":                            {openMaps, openNumbers(indexed()), false},
	} {
		store := newStore(t, nil)
		if err := tt.first(store); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err := tt.second(store)
		if told := err != nil && strings.Contains(err.Error(), "the elements of list tags are stored as"); errors.Is(err, repo.ErrSchema) != tt.refused || told != tt.refused {
			t.Errorf("%s: %v, refused is to be %v", name, err, tt.refused)
		}
		if err := tt.first(store); err != nil {
			t.Errorf("%s: the first again: %v", name, err)
		}
	}
}

// A slowBuild takes a minute to make an index that the store keeps.
type slowBuild struct{ common }

func (s slowBuild) Define(ctx context.Context, tables []*driver.Table) error {
	if tables[0].Native {
		time.Sleep(time.Minute)
	}
	return s.common.Define(ctx, tables)
}

// While a store makes an index, the program that waits for it writes as others do, also by repositories that it opened
// before.
func TestWritesWhileAStoreMakesAnIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), repo.NewStore(slowBuild{newCommon(nil)}, nil)
		defer s.Close()
		before := must[login](t, s, indexed())
		if err := before.Insert(ctx, &login{ID: "first", User: "ann"}); err != nil {
			t.Fatal(err)
		}
		opened := make(chan error, 1)
		var after *repo.Repo[login]
		go func() {
			var err error
			after, err = repo.Open[login](ctx, s, indexed(nativeByUser()), repo.WithBuild())
			opened <- err
		}()
		n, done := int64(1), false
		for ; !done; n++ {
			began := time.Now()
			if err := before.Insert(ctx, &login{ID: fmt.Sprint(n), User: "ann", Seen: n}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 100*time.Millisecond {
				t.Errorf("insert %d took %s", n, took)
			}
			select {
			case err := <-opened:
				if done = true; err != nil {
					t.Fatal(err)
				}
			case <-time.After(100 * time.Millisecond):
			}
		}
		got, err := repo.Collect(after.Find(ctx, repo.Where("user", "ann")))
		if n < 600 || int64(len(got)) != n || err != nil {
			t.Errorf("of %d records the index finds %d, %v", n, len(got), err)
		}
	})
}

// Who waits while an index is rebuilt writes then, however long that takes.
func TestWriteBehindARebuild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), repo.NewStore(slowBuild{newCommon(nil)}, nil)
		defer s.Close()
		r := must[login](t, s, indexed(nativeByUser()))
		rebuilt := make(chan error)
		go func() { rebuilt <- r.Rebuild(ctx, "by_user_seen") }()
		time.Sleep(time.Second)
		began := time.Now()
		if err := r.Insert(ctx, &login{ID: "1", User: "ann"}); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 50*time.Second {
			t.Errorf("insert beside a rebuild took %s", took)
		}
		if err := <-rebuilt; err != nil {
			t.Error(err)
		}
	})
}
