package repo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// built opens a collection, and waits for the indexes that are built for it.
func built[T any](t *testing.T, s *repo.Store, schema repo.Schema) *repo.Repo[T] {
	t.Helper()
	r := must[T](t, s, schema, repo.WithBuild())
	stored, err := repo.SchemaOf(t.Context(), s, schema.Collection)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range stored.Indexes {
		if err := r.Ready(t.Context(), x.Name); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// liveStores are the ways in which indexes lie: with their records, apart from them, in a store that one process has.
func liveStores() map[string]func() driver.Store {
	partition := driver.ScopePartition
	return map[string]func() driver.Store{
		"one store":     func() driver.Store { return newCommon(nil) },
		"uncertain":     func() driver.Store { return newCommon(&memory.Options{Uncertain: true}) },
		"by partitions": func() driver.Store { return newCommon(&memory.Options{Scope: &partition, Uncertain: true}) },
		"one process":   func() driver.Store { return memory.New(nil) },
	}
}

func programOf(t *testing.T, s driver.Store) *repo.Store {
	if c, ok := s.(common); ok {
		return c.program(t)
	}
	return repo.NewStore(s, nil)
}

// An index is added, dropped and added again while programs that declare it, and one that does not, write. It has all
// records whenever a query may use it.
func TestIndexOnLiveData(t *testing.T) {
	indexes := map[string]repo.Index{
		"sorted":   {Name: "x", Partition: []string{"user"}, Sort: []string{"-seen"}},
		"covering": {Name: "x", Partition: []string{"user"}, Covers: []string{"*"}},
		"unique":   {Name: "x", Partition: []string{"seen"}, Unique: true},
	}
	for name, newStore := range liveStores() {
		for kind, x := range indexes {
			t.Run(name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { liveIndex(t, newStore(), x) })
			})
		}
	}
}

func liveIndex(t *testing.T, s driver.Store, x repo.Index) {
	one := programOf(t, s)
	two := one
	if !s.Facts().OneProcess {
		two = programOf(t, s)
	}
	older, newer := must[login](t, one, indexed()), must[login](t, two, indexed())
	for i := range 50 {
		if err := older.Insert(t.Context(), &login{fmt.Sprint(i), fmt.Sprint("u", i%5), int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	for i, r := range []*repo.Repo[login]{older, newer, older, newer} {
		all.Go(func() { writesOn(ctx, t, r, i) })
	}
	for range 3 {
		newer = built[login](t, two, indexed(x))
		all.Go(func() { writesOn(ctx, t, newer, 4) })
		time.Sleep(5 * time.Second)
		agrees(t, newer)
		if err := repo.DropIndex(t.Context(), one, "logins", "x"); err != nil {
			t.Fatal(err)
		}
		if _, err := repo.Collect(newer.Find(t.Context(), repo.Where(x.Partition[0], "u1"))); !errors.Is(err, repo.ErrNoIndex) && !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("a query by an index that was dropped: %v", err)
		}
	}
	newer = built[login](t, two, indexed(x))
	stop()
	all.Wait()
	agrees(t, newer)
}

// writesOn writes until its context ends.
func writesOn(ctx context.Context, t *testing.T, r *repo.Repo[login], me int) {
	rnd := rand.New(rand.NewPCG(1, uint64(me)))
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprint(rnd.IntN(100))
		of, _ := strconv.ParseInt(id, 10, 64)
		l := login{id, fmt.Sprint("u", rnd.IntN(5)), 1000*(of+1) + rnd.Int64N(3)} // no two records have one
		var err error
		switch rnd.IntN(5) {
		case 0:
			err = r.Put(ctx, &l)
		case 1:
			_, err = r.Update(ctx, repo.Key{id}, func(o *login) error { o.User = l.User; return nil })
		case 2:
			_, err = r.Patch(ctx, repo.Key{id}, repo.Set("seen", l.Seen))
		case 3:
			err = r.Delete(ctx, repo.Key{id})
		default:
			err = r.Insert(ctx, &l)
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, repo.ErrExists) && !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("writer %d: %v", me, err)
			return
		}
		time.Sleep(time.Duration(rnd.IntN(30)) * time.Millisecond)
	}
}

// agrees sees that an index finds what a scan finds, while others write.
func agrees(t *testing.T, r *repo.Repo[login]) {
	t.Helper()
	reports, err := r.Verify(t.Context())
	if err != nil || len(reports) != 1 {
		t.Errorf("verify: %v, %v", reports, err)
	}
	for _, rep := range reports {
		if !rep.Clean() {
			t.Errorf("verify: %+v", rep)
		}
	}
}

// A filling reads no faster than its rate, and tells how far it is.
func TestBuildRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := repo.NewStore(memory.New(nil), nil)
		defer store.Close()
		before := must[login](t, store, indexed())
		for i := range 100 {
			if err := before.Insert(t.Context(), &login{fmt.Sprint(i), "u", int64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		schema := indexed(repo.Index{Name: "x", Partition: []string{"user"}, Sort: []string{"seen"}})
		if _, err := repo.Open[login](t.Context(), store, schema, repo.WithBuildRate(0)); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("rate 0: %v, want ErrInvalid", err)
		}
		began := time.Now()
		after := must[login](t, store, schema, repo.WithBuildRate(5))
		var seen []int
		for ready := false; !ready; {
			ctx, stop := context.WithTimeout(t.Context(), 4*time.Second)
			ready = after.Ready(ctx, "x") == nil
			stop()
			states, err := repo.IndexStates(t.Context(), store, schema.Collection)
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, states[0].Filled)
		}
		if took := time.Since(began); took < 15*time.Second || took > 30*time.Second || seen[len(seen)-2] >= 100 {
			t.Errorf("100 records at 5 a second took %s, seen %v", took, seen)
		}
		checkClean(t, after)
	})
}

// A refusing store fails for once when a filling has come to a record.
type refusing struct {
	driver.Store
	left atomic.Int32 // commits until then
}

func (s *refusing) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.left.Add(-1) == 0 {
		return nil, driver.ErrUnavailable
	}
	return s.Store.Commit(ctx, token, ops)
}

// A filling that the store does not let go on goes on a second later: what the catalog names is this program.
func TestBuildGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &refusing{Store: memory.New(nil)}
		store := repo.NewStore(bad, nil)
		defer store.Close()
		before := must[login](t, store, indexed())
		for i := range 100 {
			if err := before.Insert(t.Context(), &login{fmt.Sprint(i), "u", int64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		after := must[login](t, store, indexed(repo.Index{Name: "x", Partition: []string{"user"}, Sort: []string{"seen"}}), repo.WithBuildRate(20))
		time.Sleep(2 * time.Second)
		bad.left.Store(3)
		began := time.Now()
		if err := after.Ready(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second || bad.left.Load() >= 0 {
			t.Errorf("the filling goes on and ends after %s, %d commits before the failure", took, bad.left.Load())
		}
		checkClean(t, after)
	})
}

// A marking store walks ten rows at a time, and once knows a mark no more.
type marking struct {
	refusing
	forgets atomic.Bool
}

func (s *marking) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		if mark != "" && s.forgets.CompareAndSwap(true, false) {
			yield(driver.Chunk{}, fmt.Errorf("mark %q: %w", mark, driver.ErrInvalid))
			return
		}
		at, _ := strconv.Atoi(mark)
		for all, err := range s.Store.Walk(ctx, t, "") {
			for rows := all.Rows; at < len(rows); at += 10 {
				c := driver.Chunk{Rows: rows[at:min(at+10, len(rows))], Mark: strconv.Itoa(at + 10)}
				if !yield(c, err) {
					return
				}
			}
		}
	}
}

// A filling whose mark the store knows no more begins again.
func TestBuildWithoutItsMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := &marking{refusing: refusing{Store: memory.New(nil)}}
		store := repo.NewStore(bad, nil)
		defer store.Close()
		before := must[login](t, store, indexed())
		for i := range 200 {
			succeeds(t, before.Insert(t.Context(), &login{fmt.Sprint(i), "u", int64(i)}))
		}
		after := must[login](t, store, indexed(repo.Index{Name: "x", Partition: []string{"user"}, Sort: []string{"seen"}}), repo.WithBuildRate(10))
		time.Sleep(10 * time.Second) // it has noted a mark
		bad.forgets.Store(true)
		bad.left.Store(1)
		succeeds(t, after.Ready(t.Context(), "x"))
		if bad.forgets.Load() {
			t.Error("no walk began at a mark")
		}
		agrees(t, after)
	})
}

// A halfSecond store takes so long for a commit.
type halfSecond struct{ common }

func (s halfSecond) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	time.Sleep(500 * time.Millisecond)
	return s.common.Commit(ctx, token, ops)
}

// Two programs that fill an index do not take it from each other, however slow the store is.
func TestBuildersOnASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := newCommon(nil)
		store := fast.program(t)
		defer store.Close()
		before := must[login](t, store, indexed())
		for i := range 600 {
			succeeds(t, before.Insert(t.Context(), &login{fmt.Sprint(i), fmt.Sprint("u", i), int64(i)}))
		}
		schema := indexed(repo.Index{Name: "x", Partition: []string{"user"}, Unique: true})
		one, two := repo.NewStore(halfSecond{fast}, nil), repo.NewStore(halfSecond{fast}, nil)
		defer one.Close()
		defer two.Close()
		began, builder := time.Now(), must[login](t, one, schema, repo.WithBuild())
		must[login](t, two, schema, repo.WithBuild())
		succeeds(t, builder.Ready(t.Context(), "x"))
		if took := time.Since(began); took > 6*time.Minute { // 600 commits, two at a time, and as long a rest
			t.Errorf("ready after %s", took)
		}
		agrees(t, builder)
	})
}

// An index is built that is asked for when a build before it has seen that there is nothing to do, and has not ended.
func TestBuildThatIsAskedForLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saw, goOn := make(chan struct{}), make(chan struct{})
		var first sync.Once
		begin := func(ctx context.Context, e repo.Event) (context.Context, func(repo.Event)) {
			if e.Op != "build" {
				return ctx, nil
			}
			return ctx, func(repo.Event) {
				first.Do(func() {
					close(saw)
					<-goOn
				})
			}
		}
		store := repo.NewStore(memory.New(nil), &repo.Options{Tracer: repo.Tracer{Begin: begin}})
		defer store.Close()
		before := must[login](t, store, indexed(), repo.WithBuild())
		if err := before.Insert(t.Context(), &login{"1", "u", 1}); err != nil {
			t.Error(err)
		}
		<-saw
		after := must[login](t, store, indexed(repo.Index{Name: "x", Partition: []string{"user"}, Sort: []string{"seen"}}), repo.WithBuild())
		close(goOn)
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := after.Ready(ctx, "x"); err != nil {
			t.Error(err)
		}
	})
}

// Close does not wait for a filling, in whichever state the index is.
func TestCloseBesideABuild(t *testing.T) {
	for wait := range 8 {
		synctest.Test(t, func(t *testing.T) {
			store := repo.NewStore(memory.New(nil), nil)
			before := must[login](t, store, indexed())
			for i := range 100 {
				if err := before.Insert(t.Context(), &login{fmt.Sprint(i), "u", int64(i)}); err != nil {
					t.Fatal(err)
				}
			}
			after := must[login](t, store, indexed(repo.Index{Name: "x", Partition: []string{"user"}, Sort: []string{"seen"}}), repo.WithBuildRate(1))
			time.Sleep(time.Duration(wait) * 100 * time.Millisecond)
			began := time.Now()
			if err := store.Close(); err != nil || time.Since(began) > time.Second {
				t.Errorf("%d: Close took %s: %v", wait, time.Since(began), err)
			}
			if err := after.Ready(t.Context(), "x"); !errors.Is(err, repo.ErrClosed) {
				t.Errorf("%d: Ready after Close: %v, want ErrClosed", wait, err)
			}
		})
	}
}

// A filler whose view is over, since another index is added meanwhile, goes on by the next one.
func TestAddedWhileAnotherIsFilled(t *testing.T) {
	for name, newStore := range liveStores() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := programOf(t, newStore())
				before := must[login](t, store, indexed())
				for i := range 100 {
					if err := before.Insert(t.Context(), &login{fmt.Sprint(i), "u", int64(i)}); err != nil {
						t.Fatal(err)
					}
				}
				x := repo.Index{Name: "x", Partition: []string{"user"}, Sort: []string{"seen"}}
				must[login](t, store, indexed(x), repo.WithBuildRate(10))
				time.Sleep(8 * time.Second)
				after := must[login](t, store, indexed(x, repo.Index{Name: "y", Partition: []string{"user"}, Covers: []string{"*"}}), repo.WithBuild())
				for _, name := range []string{"x", "y"} {
					ctx, stop := context.WithTimeout(t.Context(), time.Minute)
					if err := after.Ready(ctx, name); err != nil {
						t.Error(err)
					}
					stop()
				}
				checkClean(t, after)
				store.Close()
			})
		})
	}
}

// An asked store counts the keys that it is asked for, by tables.
type asked struct {
	driver.Store
	mu   sync.Mutex
	keys map[string]int
}

func (s *asked) Get(ctx context.Context, t *driver.Table, keys []driver.Key, mask []int, rows []driver.Row) error {
	s.mu.Lock()
	s.keys[t.Name] += len(keys)
	s.mu.Unlock()
	return s.Store.Get(ctx, t, keys, mask, rows)
}

// Maintain asks for the rows of records that may have come late, and for no others.
func TestMaintainAsksForFewRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &asked{Store: newCommon(&memory.Options{Uncertain: true}), keys: map[string]int{}}
		store := repo.NewStore(d, nil)
		defer store.Close()
		x, y := repo.Index{Name: "x", Partition: []string{"user"}}, repo.Index{Name: "y", Partition: []string{"seen"}}
		must[login](t, store, indexed(x))
		logins := built[login](t, store, indexed(x, y))
		for i := range 30 {
			if i == 10 {
				time.Sleep(2 * time.Minute)
			}
			if err := logins.Insert(t.Context(), &login{fmt.Sprint(i), "u", int64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		clear(d.keys)
		done, err := logins.Maintain(t.Context())
		if err != nil || done.Mended != 0 || d.keys["logins.x"] != 0 || d.keys["logins.y"] != 10 {
			t.Errorf("%+v, %v, asked for %v; want ten of y", done, err, d.keys)
		}
	})
}
