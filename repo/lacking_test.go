package repo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A mark is what a player has, with a score always.
type mark struct {
	ID     string `repo:"id"`
	Player string `repo:"player"`
	Score  int    `repo:"score"`
}

// A draft is a mark of a program that knows of no score yet.
type draft struct {
	ID     string `repo:"id"`
	Player string `repo:"player"`
}

func markSchema(indexes ...repo.Index) repo.Schema {
	return repo.Schema{Collection: "marks", Partition: []string{"id"}, Indexes: indexes}
}

func byMark(kind string) repo.Index {
	return repo.Index{Partition: []string{"player"}, Sort: []string{"score"}, Kind: kind}
}

// openMaps opens a collection as maps, with what the store says of it.
func openMaps(t *testing.T, store *repo.Store, name string, opts ...repo.OpenOption) *repo.Repo[map[string]any] {
	t.Helper()
	schema, err := repo.SchemaOf(t.Context(), store, name)
	if err != nil {
		t.Fatal(err)
	}
	return must[map[string]any](t, store, schema, opts...)
}

// A looseDraft has a score among its undeclared fields.
type looseDraft struct {
	ID     string         `repo:"id"`
	Player string         `repo:"player"`
	More   map[string]any `repo:",extra"`
}

// waysToLack are the ways in which another program makes a record without a score: each
// opens the collection, and returns what it then does to the record with a key.
func waysToLack(t *testing.T, store *repo.Store, index repo.Index) map[string]func() func(id string) error {
	ctx := t.Context()
	maps := func() *repo.Repo[map[string]any] { return openMaps(t, store, "marks") }
	whole := func(id string) *map[string]any { return &map[string]any{"id": id, "player": "p", "score": 3} }
	list := map[string]func() func(id string) error{
		"a pointer": func() func(string) error {
			r := must[result](t, store, markSchema(index))
			return func(id string) error { return r.Insert(ctx, &result{ID: id, Player: "p"}) }
		},
		"a map": func() func(string) error {
			r := maps()
			return func(id string) error { return r.Put(ctx, &map[string]any{"id": id, "player": "p"}) }
		},
		"a map of a group": func() func(string) error {
			r := maps()
			return func(id string) error {
				g := r.Store().Group()
				in := r.In(g)
				in.Insert(&map[string]any{"id": id, "player": "p"})
				return g.Commit(ctx)
			}
		},
		"a patch of a map": func() func(string) error {
			r := maps()
			return func(id string) error {
				_, err := r.Patch(ctx, repo.Key{id}, repo.Unset("score"))
				return errors.Join(r.Insert(ctx, whole(id+"x")), notFound(err), r.Put(ctx, whole(id)), second(r.Patch(ctx, repo.Key{id}, repo.Set("score", nil))))
			}
		},
		"an update of a map": func() func(string) error {
			r := maps()
			return func(id string) error {
				return errors.Join(r.Insert(ctx, whole(id)), second(r.Update(ctx, repo.Key{id}, func(m *map[string]any) error { delete(*m, "score"); return nil })))
			}
		},
	}
	if index.Kind == "native" {
		list["a struct without the field"] = func() func(string) error {
			r := must[draft](t, store, markSchema())
			return func(id string) error { return r.Insert(ctx, &draft{id, "p"}) }
		}
		list["a patch of a struct without the field"] = func() func(string) error {
			whole, loose := maps(), must[looseDraft](t, store, markSchema())
			return func(id string) error {
				record := map[string]any{"id": id, "player": "p", "score": 3}
				return errors.Join(whole.Insert(ctx, &record), second(loose.Patch(ctx, repo.Key{id}, repo.Unset("score"))))
			}
		}
	}
	return list
}

func notFound(err error) error {
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	return fmt.Errorf("patch of what is not there: %w", err)
}

// A field that all records have is one that some lack as soon as another program writes one
// without it, for who had the collection open, and for who opens it then.
func TestRecordsComeToLackField(t *testing.T) {
	for _, kind := range []string{"table", "native"} {
		both(t, func(t *testing.T, older, newer *repo.Store) {
			for name, way := range waysToLack(t, newer, byMark(kind)) {
				before := must[mark](t, older, markSchema(byMark(kind)))
				if err := before.Insert(t.Context(), &mark{"1", "p", 5}); err != nil {
					t.Fatal(err)
				}
				lack := way()
				if err := lack("2"); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				lacksScore(t, name+", open before", before)
				lacksScore(t, name+", open after", must[mark](t, older, markSchema(byMark(kind))))
				if err := repo.DropCollection(t.Context(), newer, "marks"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A patch, which looks at some fields of a record, takes none of the others for one that it lacks.
func TestPatchLeavesNothingOut(t *testing.T) {
	t.Parallel()
	type item struct {
		ID   string         `repo:"id"`
		Kind string         `repo:"kind"`
		Rank int            `repo:"rank"`
		N    int            `repo:"n"`
		Rest map[string]any `repo:",extra"`
	}
	store := repo.NewStore(memory.New(&memory.Options{Uncertain: true}), nil)
	schema := repo.Schema{Collection: "items", Partition: []string{"id"}}
	if err := must[item](t, store, schema).Insert(t.Context(), &item{ID: "a", Kind: "k", Rank: 1}); err != nil {
		t.Fatal(err)
	}
	maps := openMaps(t, store, "items")
	for _, e := range []repo.Edit{repo.Set("n", 2), repo.Add("n", 1), repo.Set("note", "x")} {
		if _, err := maps.Patch(t.Context(), repo.Key{"a"}, e); err != nil {
			t.Fatal(err)
		}
	}
	schema.Indexes = []repo.Index{{Partition: []string{"kind"}, Sort: []string{"rank"}}}
	r := built[item](t, store, schema)
	found, err := repo.Collect(r.Find(t.Context(), repo.Where("kind", "k")))
	if err != nil || len(found) != 1 || found[0].N != 3 {
		t.Errorf("records of the kind: %+v, %v; want one with n 3", found, err)
	}
}

// askings are the ways to ask for the records of a player.
func askings(t *testing.T, r *repo.Repo[mark]) map[string]func() error {
	t.Helper()
	ctx, q := t.Context(), repo.Where("player", "p")
	view, err := repo.ViewOf[draft](r)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func() error{
		"find":      func() error { return second(repo.Collect(r.Find(ctx, q))) },
		"keys":      func() error { return second(repo.Collect(r.Keys(ctx, q))) },
		"count":     func() error { return second(r.Count(ctx, q)) },
		"page":      func() error { return second(r.Page(ctx, q, "")) },
		"one":       func() error { return second(r.One(ctx, q)) },
		"view":      func() error { return second(repo.Collect(view.Find(ctx, q))) },
		"view page": func() error { return second(view.Page(ctx, q, "")) },
	}
}

// lacksScore sees that no query is answered that would miss the records without a score.
func lacksScore(t *testing.T, what string, r *repo.Repo[mark]) {
	t.Helper()
	ctx, q := t.Context(), repo.Where("player", "p")
	for way, ask := range askings(t, r) {
		if err := ask(); !errors.Is(err, repo.ErrNoIndex) || !strings.Contains(err.Error(), `by_player_score lacks records without score; add {Partition: ["player"]}`) {
			t.Errorf("%s: %s: %v, want ErrNoIndex with the remedy", what, way, err)
		}
	}
	if _, err := r.Explain(q); !errors.Is(err, repo.ErrNoIndex) {
		t.Errorf("%s: explain: %v, want ErrNoIndex", what, err)
	}
	all, err := repo.Collect(r.Scan(ctx, q))
	if err != nil {
		t.Fatal(err)
	}
	some, err := repo.Collect(r.Find(ctx, q.AtLeast("score", 1)))
	if len(some) != len(all)-1 || err != nil {
		t.Errorf("%s: %d of %d records have a score, %v; want all but one", what, len(some), len(all), err)
	}
}

// A program that was idle is told by the first thing that it asks, whatever that is and
// however the index is read.
func TestIdleProgramsAreTold(t *testing.T) {
	scope := driver.ScopePartition
	for name, tt := range map[string]struct {
		opts    *memory.Options
		kind    string
		expires time.Duration
	}{
		"rows": {}, "rows of what expires": {expires: time.Hour}, "rows apart": {opts: &memory.Options{Scope: &scope, Uncertain: true}},
		"native": {kind: "native"}, "native, of what expires": {kind: "native", expires: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, schema := newCommon(tt.opts), markSchema(byMark(tt.kind))
				asks := map[string]func() error{}
				for way := range askings(t, must[mark](t, s.program(t), schema)) {
					asks[way] = askings(t, must[mark](t, s.program(t), schema))[way]
				}
				maps := openMaps(t, s.program(t), "marks")
				first := map[string]any{"id": "1", "player": "p", "score": 1, "_expires": time.Now().Add(tt.expires)}
				if tt.expires == 0 {
					delete(first, "_expires")
				}
				if err := maps.Insert(t.Context(), &first); err != nil {
					t.Fatal(err)
				}
				for way, ask := range asks {
					if err := ask(); err != nil {
						t.Errorf("%s, while all have the field: %v", way, err)
					}
				}
				if err := maps.Insert(t.Context(), &map[string]any{"id": "2", "player": "p"}); err != nil {
					t.Fatal(err)
				}
				for way, ask := range asks {
					if err := ask(); !errors.Is(err, repo.ErrNoIndex) {
						t.Errorf("%s: %v, want ErrNoIndex", way, err)
					}
				}
			})
		})
	}
}

// Maps that leave nothing out, and programs that only read, are in nobody's way.
func TestWholeMapsBesideStructs(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		ctx := t.Context()
		before := must[mark](t, older, markSchema(byMark("native")))
		maps, began := openMaps(t, newer, "marks"), time.Now()
		must[draft](t, newer, markSchema())
		if err := errors.Join(maps.Insert(ctx, &map[string]any{"id": "1", "player": "p", "score": 1}),
			second(maps.Patch(ctx, repo.Key{"1"}, repo.Add("score", 1))), second(maps.Patch(ctx, repo.Key{"1"}, repo.Set("player", "p")))); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s, and nobody was to be told", took)
		}
		time.Sleep(10 * time.Second)
		if n, err := before.Count(ctx, repo.Where("player", "p")); n != 1 || err != nil {
			t.Errorf("%d, %v; want the record of the map", n, err)
		}
	})
}

// While other programs come to know of it, what an index answers is whole or an error.
func TestLackingBesideReaders(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		ctx := t.Context()
		r := must[mark](t, older, markSchema(byMark("")))
		if err := r.Insert(ctx, &mark{"1", "p", 5}); err != nil {
			t.Fatal(err)
		}
		maps := openMaps(t, newer, "marks")
		var there atomic.Bool
		done := make(chan error, 1)
		go func() {
			err := maps.Insert(ctx, &map[string]any{"id": "2", "player": "p"})
			there.Store(true)
			done <- err
		}()
		for range 60 {
			lacking := there.Load()
			n, err := r.Count(ctx, repo.Where("player", "p"))
			if err == nil && (lacking || n != 1) || err != nil && !errors.Is(err, repo.ErrNoIndex) {
				t.Fatalf("%d records, %v; a second one without the field is there: %v", n, err, lacking)
			}
			time.Sleep(70 * time.Millisecond)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

// A reading that began before a record lacked the field does not end as if it were whole.
func TestLackingBesideSleeper(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		ctx := t.Context()
		r := must[mark](t, older, markSchema(byMark("")))
		for i := range 600 {
			if err := r.Insert(ctx, &mark{fmt.Sprint(i), "p", i}); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		var last error
		for _, err := range r.Find(ctx, repo.Where("player", "p")) {
			if last = err; err == nil {
				n++
			}
			if n == 10 {
				if err := openMaps(t, newer, "marks").Insert(ctx, &map[string]any{"id": "x", "player": "p"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n != 600 || !errors.Is(last, repo.ErrNoIndex) {
			t.Errorf("%d records, %v; want 600 and then ErrNoIndex", n, last)
		}
	})
}

// Calls that have less time than it takes to tell other programs get there together.
func TestShortCallsThatTellOthers(t *testing.T) {
	for name, record := range map[string]map[string]any{
		"a field is left out": {"id": "2", "player": "p"},
		"it expires":          {"id": "2", "player": "p", "score": 1, "_expires": time.Now().Add(100 * 365 * 24 * time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newCommon(nil)
				must[mark](t, s.program(t), markSchema(byMark("")))
				maps := openMaps(t, s.program(t), "marks")
				calls := 0
				for err := repo.ErrTimeout; err != nil; calls++ {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					err = maps.Insert(ctx, &record)
					cancel()
					if err != nil && (!errors.Is(err, repo.ErrTimeout) || calls > 5) {
						t.Fatalf("call %d: %v", calls, err)
					}
				}
				if calls != 3 {
					t.Errorf("done after %d calls of a second, want 3", calls)
				}
			})
		})
	}
}

// A program whose type allows a field to be absent has told others when it is open.
func TestPointerIsToldAtOpen(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		before := must[mark](t, older, markSchema(byMark("")))
		after := must[result](t, newer, markSchema(byMark("")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := after.Insert(ctx, &result{ID: "1", Player: "p"}); err != nil {
			t.Error(err)
		}
		if n, err := before.Count(ctx, repo.Where("player", "p")); !errors.Is(err, repo.ErrNoIndex) {
			t.Errorf("%d, %v; want ErrNoIndex", n, err)
		}
	})
}

// A program that is stopped while it tells others leaves the rest to the next one.
func TestStoppedWhileOthersAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCommon(nil)
		before := must[mark](t, s.program(t), markSchema(byMark("")))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		record := map[string]any{"id": "2", "player": "p"}
		if err := openMaps(t, s.program(t), "marks").Insert(ctx, &record); !errors.Is(err, repo.ErrTimeout) {
			t.Fatalf("%v, want ErrTimeout", err)
		}
		began := time.Now()
		if err := openMaps(t, s.program(t), "marks").Insert(t.Context(), &record); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < 2*time.Second {
			t.Errorf("another program wrote after %s, when others may not know yet", took)
		}
		if n, err := before.Count(t.Context(), repo.Where("player", "p")); !errors.Is(err, repo.ErrNoIndex) {
			t.Errorf("%d, %v; want ErrNoIndex", n, err)
		}
	})
}

// Who opens without being allowed to change the catalog leaves no field out that all records
// have.
func TestLackingWithoutDefine(t *testing.T) {
	both(t, func(t *testing.T, older, newer *repo.Store) {
		must[mark](t, older, markSchema(byMark("")))
		maps := openMaps(t, newer, "marks", repo.WithoutDefine())
		record := map[string]any{"id": "1", "player": "p"}
		if err := maps.Insert(t.Context(), &record); !errors.Is(err, repo.ErrInvalid) || !strings.Contains(err.Error(), "score") {
			t.Errorf("insert without the field: %v, want ErrInvalid that names it", err)
		}
		record["score"] = 1
		if err := maps.Insert(t.Context(), &record); err != nil {
			t.Error(err)
		}
	})
}
