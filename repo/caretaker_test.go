package repo_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
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

// A strictStore refuses what it is told to.
type strictStore struct {
	*watchedStore
	attach func(*driver.Table) error
	commit func(*driver.Op) error

	mu     sync.Mutex
	tables map[*driver.Table]bool // that it knows
}

func newStrict() *strictStore {
	return &strictStore{watchedStore: newWatched(), tables: map[*driver.Table]bool{}}
}

func (s *strictStore) Attach(ctx context.Context, tables []*driver.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tables {
		s.tables[t] = true
		if s.attach != nil {
			if err := s.attach(t); err != nil {
				return err
			}
		}
	}
	return s.watchedStore.Attach(ctx, tables)
}

func (s *strictStore) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	for i := range ops {
		if s.commit != nil {
			if err := s.commit(&ops[i]); err != nil {
				return nil, err
			}
		}
	}
	return s.watchedStore.Commit(ctx, token, ops)
}

// A pass that is cancelled between two collections says so, and takes none of those that had no
// turn for one that is gone.
func TestMaintainIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		store := fillSojourns(t, s, 10, "a", "b", "c")
		if err := store.Maintain(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var n turns
		err := store.Maintain(ctx, &repo.MaintainOptions{Done: func(collection string, done repo.Reclaimed, err error) {
			n.add(collection, done, err)
			cancel()
		}})
		if got := n.take(); !errors.Is(err, context.Canceled) || got != "a 0" {
			t.Errorf("after the turns %q: %v, want that it was cancelled", got, err)
		}
		if rows := catalogRows(t, s); rows != 6 {
			t.Errorf("%d rows in the catalog, want two of each collection", rows)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A tombstone that cannot be removed is named, and keeps no other one.
func TestMaintainPassesATombstoneOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrict()
		s.Store = memory.New(&memory.Options{Uncertain: true})
		store := repo.NewStore(s, nil)
		schema := repo.Schema{Collection: "a", Partition: []string{"id"}, Sort: []string{"n"}, Fields: map[string]string{"id": "string", "n": "int"}}
		r, err := repo.Open[map[string]any](t.Context(), store, schema)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 20 {
			rec := map[string]any{"id": "x", "n": n}
			if err := errors.Join(r.Insert(t.Context(), &rec), r.Delete(t.Context(), repo.Key{"x", n})); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		s.commit = func(op *driver.Op) error {
			if op.Do == driver.Delete && strings.HasPrefix(op.Row.Key.Sort, "a7") {
				return driver.ErrCorrupt
			}
			return nil
		}
		done, err := r.Maintain(t.Context())
		if done.Dead != 19 || !errors.Is(err, repo.ErrCorrupt) || !strings.Contains(err.Error(), "record x/7:") {
			t.Errorf("%d tombstones were removed, %v; want 19 and an error that names the other", done.Dead, err)
		}
		s.commit = func(op *driver.Op) error {
			if op.Do == driver.Delete {
				return driver.ErrUnavailable
			}
			return nil
		}
		if done, err := r.Maintain(t.Context()); done.Dead != 0 || !errors.Is(err, repo.ErrUnavailable) {
			t.Errorf("of a store that is not there: %+v, %v", done, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// What a store that was slow for a while leaves undone is not made up for at more than the rate.
func TestMaintainDoesNotCatchUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		store := fillSojourns(t, s, 20_000, "a")
		s.onChunk = func(*driver.Table) {
			if s.rows("a") > 5000 {
				s.onChunk = nil
				time.Sleep(10 * time.Second)
			}
		}
		began := time.Now()
		if err := store.Maintain(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 28*time.Second || took > 31*time.Second {
			t.Errorf("at 1000 rows a second, after ten seconds without any, 20000 took %v", took)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// An upkeep at a low rate keeps its turn while it waits, and goes evenly through what it read at once.
func TestMaintainSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrict()
		store := fillSojourns(t, s, 500, "a")
		time.Sleep(2 * time.Minute)
		began, ended := time.Now(), make(chan error)
		var removed atomic.Int64
		s.commit = func(op *driver.Op) error {
			if op.Table.Name == "a" {
				removed.Add(1)
			}
			return nil
		}
		go func() {
			ended <- repo.NewStore(s, nil).Maintain(t.Context(), &repo.MaintainOptions{Rate: 1})
		}()
		for minute := range 8 {
			time.Sleep(time.Minute)
			if err := store.Maintain(t.Context(), nil); !errors.Is(err, repo.ErrConflict) {
				t.Errorf("after %v another program may maintain it, too: %v", time.Since(began), err)
			}
			if got, want := removed.Load(), int64(30*(minute+1)); got < want-3 || got > want+3 {
				t.Errorf("after %v %d records were removed, want %d", time.Since(began), got, want)
			}
		}
		if err := <-ended; err != nil || time.Since(began) < 499*time.Second {
			t.Errorf("500 rows took %v, %v", time.Since(began), err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A sweepingStore reads a thousand rows for each page of a sweep, of which it has five, and no row stays.
type sweepingStore struct{ *watchedStore }

func (s *sweepingStore) Sweep(_ context.Context, _ *driver.Table, mark string, _ func(*driver.Row) bool) (driver.Swept, error) {
	page, _ := strconv.Atoi(mark)
	if page == 4 {
		return driver.Swept{Read: 1000}, nil
	}
	return driver.Swept{Chunk: driver.Chunk{Mark: strconv.Itoa(page + 1)}, Read: 1000}, nil
}

// What a sweep reads counts, also if nothing of it is a record.
func TestMaintainRateOfSweeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fillSojourns(t, &sweepingStore{newWatched()}, 1, "a")
		began := time.Now()
		if err := store.Maintain(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("5000 rows took %v at 1000 a second", took)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A collection that cannot be opened is free for others at once.
func TestMaintainThatCannotOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrict()
		store := fillSojourns(t, s, 10, "a")
		s.attach = func(table *driver.Table) error {
			if table.Name == "a" {
				return driver.ErrUnavailable
			}
			return nil
		}
		var n turns
		seen := 0
		traced := &repo.Options{Tracer: ended(func(e repo.Event) {
			if errors.Is(e.Err, repo.ErrUnavailable) && e.Op == "maintain" {
				seen++
			}
		})}
		if err := repo.NewStore(s, traced).Maintain(t.Context(), &repo.MaintainOptions{Done: n.add}); !errors.Is(err, repo.ErrUnavailable) || seen == 0 {
			t.Errorf("%v, which was traced %d times", err, seen)
		}
		if got := n.take(); !strings.HasPrefix(got, "a 0 repo") {
			t.Errorf("Done was told %q", got)
		}
		s.attach = nil
		if err := store.Maintain(t.Context(), nil); err != nil {
			t.Errorf("another program: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Rows that the store refuses do not make an interrupted turn begin anew.
func TestMaintainGoesOnAfterFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrict()
		store := fillSojourns(t, s, 5000, "a")
		time.Sleep(2 * time.Minute)
		s.commit = func(op *driver.Op) error {
			if op.Table.Name == "a" {
				return driver.ErrInvalid
			}
			return nil
		}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			if err := store.Maintain(ctx, nil); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, repo.ErrInvalid) {
				t.Fatal(err)
			}
			cancel()
		}
		before := s.rows("a")
		if err := store.Maintain(t.Context(), nil); !errors.Is(err, repo.ErrInvalid) {
			t.Fatal(err)
		}
		if rest := s.rows("a") - before; rest > 2500 {
			t.Errorf("after three seconds of 5000 rows, at 1000 a second, %d more were walked", rest)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A loop tells once of a collection that is not there.
func TestMaintainLoopOfNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fillSojourns(t, newWatched(), 10, "a")
		var n turns
		ended := make(chan error)
		go func() {
			ended <- store.Maintain(t.Context(), &repo.MaintainOptions{Every: time.Hour, Collections: []string{"b"}, Done: n.add})
		}()
		time.Sleep(10*time.Minute + time.Second)
		if got := n.take(); !strings.HasPrefix(got, "b 0 repo maintain b: the store has no such collection") || strings.Contains(got, ", b") {
			t.Errorf("Done was told %q", got)
		}
		began := time.Now()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, repo.ErrClosed) || time.Since(began) > 0 {
			t.Errorf("the loop ends %v after the store was closed, with %v", time.Since(began), err)
		}
	})
}

// A turn under way ends when its store is closed, and another program goes on with it at once.
func TestMaintainEndsWithItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrict()
		fillSojourns(t, s, 5000, "a")
		shared := &unclosed{s}
		store := repo.NewStore(shared, nil)
		ended := make(chan error, 1)
		go func() { ended <- store.Maintain(t.Context(), &repo.MaintainOptions{Rate: 100}) }()
		time.Sleep(10 * time.Second)
		began := time.Now()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, repo.ErrClosed) || time.Since(began) > 0 {
			t.Errorf("it ends %v after the store was closed, with %v", time.Since(began), err)
		}
		before := s.rows("a")
		if err := repo.NewStore(shared, nil).Maintain(t.Context(), nil); err != nil || s.rows("a")-before > 4300 {
			t.Errorf("another program walks %d rows, %v", s.rows("a")-before, err)
		}
	})
}

// An unclosed store goes on when a program closes it, as a server does.
type unclosed struct{ driver.Store }

func (*unclosed) Close() error { return nil }

// What a backend knows of tables does not grow with each pass.
func TestMaintainOpensOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStrict()
		store := fillSojourns(t, s, 10, "a", "b")
		known := []int{}
		for range 3 {
			if err := store.Maintain(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			known = append(known, len(s.tables))
		}
		if slices.Max(known) != known[0] {
			t.Errorf("after each of three passes the store knows %d tables", known)
		}
		if err := repo.DropCollection(t.Context(), store, "b"); err != nil {
			t.Fatal(err)
		}
		fillSojourns(t, s, 10, "b")
		time.Sleep(2 * time.Minute)
		var n turns
		if err := store.Maintain(t.Context(), &repo.MaintainOptions{Done: n.add}); err != nil || n.take() != "a 5, b 5" {
			t.Errorf("after a collection was made anew: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
