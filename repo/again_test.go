package repo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A lodging lasts until a time.
type lodging struct {
	Room  string    `repo:"room"`
	ID    string    `repo:"id"`
	User  string    `repo:"user"`
	Until time.Time `repo:",expires"`
}

// A record that expired before an index was filled has no rows in it. Whatever is written over it, or removes it, leaves
// the rows and claims that others have since.
func TestIndexBesideExpiredRecords(t *testing.T) {
	schema := repo.Schema{Collection: "lodgings", Partition: []string{"room"}, Sort: []string{"id"}}
	with := schema
	with.Indexes = []repo.Index{
		{Name: "by_user", Partition: []string{"user"}, Kind: "table"},
		{Name: "user_once", Partition: []string{"user"}, Unique: true, Kind: "table"},
		{Name: "once_a_room", Partition: []string{"room"}, Sort: []string{"user"}, Unique: true, Kind: "table"},
	}
	for name, newStore := range liveStores() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, store := t.Context(), programOf(t, newStore())
				defer store.Close()
				old := must[lodging](t, store, schema)
				for i := range 5 {
					succeeds(t, old.Insert(ctx, &lodging{"r", fmt.Sprint("e", i), fmt.Sprint("u", i), time.Now().Add(time.Second)}))
				}
				time.Sleep(2 * time.Second)
				now := built[lodging](t, store, with)
				for i := range 3 {
					succeeds(t, now.Insert(ctx, &lodging{"r", fmt.Sprint("n", i), fmt.Sprint("u", i), time.Time{}}))
				}
				succeeds(t, now.Put(ctx, &lodging{"r", "e0", "other", time.Time{}}))
				succeeds(t, now.Delete(ctx, repo.Key{"r", "e1"}))
				succeeds(t, now.Insert(ctx, &lodging{"r", "e3", "u3", time.Time{}}))
				_, err := now.Maintain(ctx)
				succeeds(t, err)
				for i := range 4 {
					user := fmt.Sprint("u", i)
					if err := now.Insert(ctx, &lodging{"r", "second", user, time.Time{}}); !errors.Is(err, repo.ErrExists) {
						t.Errorf("a second record of %s: %v, want ErrExists", user, err)
					}
					if list, err := repo.Collect(now.Find(ctx, repo.Where("user", user))); err != nil || len(list) != 1 {
						t.Errorf("%s: %v, %v, want one record", user, list, err)
					}
				}
				checkClean(t, now)
			})
		})
	}
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An index is dropped, and another one is added under its name, while a program runs that declares the former one. That
// program neither reads nor writes the rows of the other one.
func TestNameOfAnotherIndex(t *testing.T) {
	was := repo.Index{Name: "x", Partition: []string{"user"}, Sort: []string{"id"}, Buckets: 3, Kind: "table"}
	order, covers, buckets := was, was, was
	order.Sort, covers.Covers, buckets.Buckets = []string{"-id"}, []string{"*"}, 7
	for name, is := range map[string]repo.Index{"order": order, "covers": covers, "buckets": buckets} {
		for store, newStore := range liveStores() {
			t.Run(store+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { otherUnderName(t, newStore(), was, is) })
			})
		}
	}
}

func otherUnderName(t *testing.T, s driver.Store, was, is repo.Index) {
	ctx, store := t.Context(), programOf(t, s)
	defer store.Close()
	idle := built[login](t, store, indexed(was))
	for i := range 6 {
		succeeds(t, idle.Insert(ctx, &login{fmt.Sprint(i), "ann", 1}))
	}
	succeeds(t, repo.DropIndex(ctx, store, "logins", was.Name))
	now := built[login](t, store, indexed(is))
	_, findErr := repo.Collect(idle.Find(ctx, repo.Where("user", "ann")))
	_, patchErr := idle.Patch(ctx, repo.Key{"1"}, repo.Set("user", "bob"))
	for call, err := range map[string]error{"find": findErr, "insert": idle.Insert(ctx, &login{"n", "ann", 1}), "patch": patchErr} {
		if !errors.Is(err, repo.ErrSchema) || !strings.Contains(err.Error(), "index x is declared otherwise than it is in the store") {
			t.Errorf("%s of the program with the former index: %v, want ErrSchema", call, err)
		}
	}
	succeeds(t, now.Insert(ctx, &login{"n", "ann", 1}))
	agrees(t, now)
}

// An index whose removal was stopped is never ready, and the error says what to do.
func TestReadyAfterAStoppedDrop(t *testing.T) {
	x := repo.Index{Name: "x", Partition: []string{"user"}}
	for name, newStore := range liveStores() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := programOf(t, newStore())
				defer store.Close()
				built[login](t, store, indexed(x))
				soon, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer stop()
				if err := repo.DropIndex(soon, store, "logins", "x"); !errors.Is(err, repo.ErrTimeout) {
					t.Fatalf("a drop that is stopped: %v", err)
				}
				r := must[login](t, store, indexed(x), repo.WithBuild())
				err := r.Ready(t.Context(), "x")
				_, findErr := r.First(t.Context(), repo.Where("user", "ann"))
				if !errors.Is(err, repo.ErrContention) || !errors.Is(findErr, repo.ErrNoIndex) {
					t.Errorf("Ready: %v, want ErrContention; First: %v, want ErrNoIndex", err, findErr)
				}
				for _, err := range []error{err, findErr} {
					if text := fmt.Sprint(err); !strings.Contains(text, "with repo.DropIndex") || !strings.Contains(text, "it is leaving since 2000-01-01 00:00:0") {
						t.Errorf("%v; want the state, since when it lasts, and the remedy", err)
					}
				}
				succeeds(t, repo.DropIndex(t.Context(), store, "logins", "x"))
				agrees(t, built[login](t, store, indexed(x)))
			})
		})
	}
}

// Errors about an index that is not ready say in which state it is, and since when.
func TestErrorsSaySinceWhen(t *testing.T) {
	x := repo.Index{Name: "x", Partition: []string{"user"}}
	for name, newStore := range liveStores() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := programOf(t, newStore())
				defer store.Close()
				old := must[login](t, store, indexed())
				for i := range 100 {
					succeeds(t, old.Insert(t.Context(), &login{fmt.Sprint(i), "ann", 1}))
				}
				time.Sleep(time.Minute)
				r := must[login](t, store, indexed(x), repo.WithBuildRate(1))
				time.Sleep(10 * time.Second)
				soon, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				_, findErr := r.First(t.Context(), repo.Where("user", "ann"))
				for _, err := range []error{findErr, r.Ready(soon, "x")} {
					if !strings.Contains(fmt.Sprint(err), "is not ready: it is written since 2000-01-01 00:01:0") {
						t.Errorf("%v; want the state, and since when it lasts", err)
					}
				}
				states, err := repo.IndexStates(t.Context(), store, "logins")
				if err != nil || len(states) != 1 || states[0].State != "written" || time.Since(states[0].Since) > 11*time.Second {
					t.Errorf("states %+v, %v", states, err)
				}
				succeeds(t, r.Ready(t.Context(), "x"))
				if states, err = repo.IndexStates(t.Context(), store, "logins"); err != nil || states[0].State != "ready" || !states[0].Since.IsZero() {
					t.Errorf("states %+v, %v", states, err)
				}
			})
		})
	}
}

// taking is under which a context says how long a commit takes.
type taking struct{}

// A lateStore is a memory store whose commits take as long as their contexts say.
type lateStore struct{ *memory.Store }

func (s *lateStore) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	took, _ := ctx.Value(taking{}).(time.Duration)
	time.Sleep(took)
	return s.Store.Commit(ctx, token, ops)
}

// Where one process has the store alone, an index is filled when the commits have ended that do not know it.
func TestFillingWaitsForSlowCommits(t *testing.T) {
	for name, covers := range map[string][]string{"key": nil, "record": {"*"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := repo.NewStore(&lateStore{memory.New(nil)}, nil)
				defer store.Close()
				old := must[login](t, store, indexed())
				for i := range 100 {
					succeeds(t, old.Insert(t.Context(), &login{fmt.Sprint(i), "a", 1}))
				}
				slow := context.WithValue(t.Context(), taking{}, 3*time.Second)
				var all sync.WaitGroup
				for i := range 100 {
					all.Go(func() {
						time.Sleep(time.Duration(i) * 4 * time.Millisecond)
						_, _ = old.Patch(slow, repo.Key{fmt.Sprint(i)}, repo.Set("user", "b"))
						_ = old.Insert(slow, &login{fmt.Sprint("n", i), "b", 1}) // one whose view was over has not been sent
					})
				}
				time.Sleep(50 * time.Millisecond)
				now := built[login](t, store, indexed(repo.Index{Name: "x", Partition: []string{"user"}, Covers: covers}))
				agrees(t, now)
				all.Wait()
				agrees(t, now)
			})
		})
	}
}

// A group that has writes of before and of after a change of indexes is to be made anew, and says so.
func TestGroupOverAChangeOfIndexes(t *testing.T) {
	for name, newStore := range liveStores() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				schema := repo.Schema{Collection: "logins", Partition: []string{"user"}, Sort: []string{"id"}}
				store := programOf(t, newStore())
				defer store.Close()
				old := must[login](t, store, schema)
				g := store.Group()
				old.In(g).Insert(&login{"a", "ann", 1})
				schema.Indexes = []repo.Index{{Name: "x", Partition: []string{"seen"}, Kind: "table"}}
				now := built[login](t, store, schema)
				old.In(g).Insert(&login{"b", "ann", 1})
				if err := g.Commit(t.Context()); !errors.Is(err, repo.ErrContention) || !strings.Contains(err.Error(), "made anew") {
					t.Errorf("Commit: %v, want ErrContention", err)
				}
				agrees(t, now)
			})
		})
	}
}
