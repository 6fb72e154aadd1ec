package repo_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A sojourn is a record that expires.
type sojourn struct {
	ID   string    `repo:"id"`
	Ends time.Time `repo:",expires"`
}

// A watched store is one that other programs may write to, and counts the rows of walks.
type watchedStore struct {
	driver.Store
	mu      sync.Mutex
	walked  map[string]int // rows, by table
	onChunk func(t *driver.Table)
}

func newWatched() *watchedStore {
	return &watchedStore{Store: memory.New(nil), walked: map[string]int{}}
}

func (s *watchedStore) Facts() driver.Facts {
	f := s.Store.Facts()
	f.OneProcess = false
	return f
}

func (s *watchedStore) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		for chunk, err := range s.Store.Walk(ctx, t, mark) {
			s.mu.Lock()
			s.walked[t.Name] += len(chunk.Rows)
			s.mu.Unlock()
			if s.onChunk != nil {
				s.onChunk(t)
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

func (s *watchedStore) rows(table string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.walked[table]
}

// fillSojourns makes collections of n records, of which every second has ended a minute later.
func fillSojourns(t *testing.T, s driver.Store, n int, collections ...string) *repo.Store {
	t.Helper()
	store := repo.NewStore(s, nil)
	for _, name := range collections {
		r, err := repo.Open[sojourn](t.Context(), store, repo.Schema{Collection: name, Partition: []string{"id"}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := r.Insert(t.Context(), &sojourn{fmt.Sprintf("%05d", i), time.Now().Add(time.Duration(1+100*(i%2)) * time.Minute)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return store
}

// turns notes what Done is told.
type turns struct {
	mu   sync.Mutex
	list []string
}

func (n *turns) add(collection string, done repo.Reclaimed, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text := fmt.Sprint(collection, " ", done.Expired)
	if err != nil {
		text += " " + err.Error()
	}
	n.list = append(n.list, text)
}

func (n *turns) take() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.Sort(n.list) // who is first is chance
	text := strings.Join(n.list, ", ")
	n.list = nil
	return text
}

// A single pass maintains all collections, or those that are named, and says which it cannot.
func TestMaintainOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n turns
		for _, s := range []driver.Store{memory.New(nil), newWatched()} {
			store := fillSojourns(t, s, 10, "b", "a", "c")
			time.Sleep(2 * time.Minute)
			if err := store.Maintain(t.Context(), &repo.MaintainOptions{Collections: []string{"c"}, Done: n.add}); err != nil || n.take() != "c 5" {
				t.Errorf("of one: %v", err)
			}
			if err := store.Maintain(t.Context(), &repo.MaintainOptions{Done: n.add}); err != nil {
				t.Error(err)
			}
			if got := n.take(); got != "a 5, b 5, c 0" {
				t.Errorf("maintained were %s", got)
			}
			if err := store.Maintain(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if err := store.Maintain(t.Context(), &repo.MaintainOptions{Collections: []string{"d"}}); !errors.Is(err, repo.ErrNotFound) {
				t.Errorf("of none: %v, want ErrNotFound", err)
			}
			if err := store.Maintain(t.Context(), &repo.MaintainOptions{Every: -1}); !errors.Is(err, repo.ErrInvalid) {
				t.Errorf("a negative Every: %v, want ErrInvalid", err)
			}
			if names, err := repo.Collections(t.Context(), store); !slices.Equal(names, []string{"a", "b", "c"}) || err != nil {
				t.Errorf("the collections are %q, %v", names, err)
			}
			if err := repo.DropCollection(t.Context(), store, "b"); err != nil {
				t.Fatal(err)
			}
			if err := store.Maintain(t.Context(), &repo.MaintainOptions{Done: n.add}); err != nil || n.take() != "a 0, c 0" {
				t.Errorf("after a drop: %v", err)
			}
			if rows := catalogRows(t, s); rows != 4 {
				t.Errorf("%d rows in the catalog, want two of each collection", rows)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := repo.NewStore(memory.New(nil), nil).Maintain(t.Context(), nil); err != nil {
			t.Errorf("of an empty store: %v", err)
		}
		if err := repo.NewStore(nil, nil).Maintain(t.Context(), nil); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("without a backend: %v", err)
		}
		if err := repo.NewStore(memory.New(nil), nil).Maintain(nil, nil); !errors.Is(err, repo.ErrInvalid) { //nolint:staticcheck // what a nil context does
			t.Errorf("without a context: %v", err)
		}
	})
}

func catalogRows(t *testing.T, s driver.Store) (n int) {
	t.Helper()
	cat := &driver.Table{Name: "_catalog", Partition: []driver.Column{{Name: "collection", Kind: driver.String}}, Fields: []driver.Column{{Name: "entry", Kind: driver.String}}}
	if err := s.Attach(t.Context(), []*driver.Table{cat}); err != nil {
		t.Fatal(err)
	}
	for chunk, err := range s.Walk(t.Context(), cat, "") {
		if err != nil {
			t.Fatal(err)
		}
		n += len(chunk.Rows)
	}
	return n
}

// Loops of several programs give each collection one turn in the time, and end with their context.
func TestMaintainLoops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		store := fillSojourns(t, s, 10, "a", "b")
		var n turns
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 3)
		for range 3 {
			go func() {
				ended <- repo.NewStore(s, nil).Maintain(ctx, &repo.MaintainOptions{Every: time.Hour, Done: n.add})
			}()
		}
		time.Sleep(30 * time.Second)
		if got := n.take(); got != "a 0, b 0" {
			t.Errorf("at first: %s", got)
		}
		time.Sleep(50 * time.Minute)
		if got := n.take(); got != "" {
			t.Errorf("within the hour: %s", got)
		}
		time.Sleep(15 * time.Minute)
		if got := n.take(); got != "a 5, b 5" {
			t.Errorf("after an hour: %s", got)
		}
		time.Sleep(10 * time.Hour)
		if got := strings.Count(n.take(), "a "); got < 9 || got > 10 {
			t.Errorf("in ten hours more it was %d times", got)
		}
		cancel()
		for range 3 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the loop ended with %v", err)
			}
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if err := repo.NewStore(s, nil).Maintain(t.Context(), &repo.MaintainOptions{Every: time.Hour}); !errors.Is(err, repo.ErrClosed) {
			t.Errorf("on a store that was closed: %v", err)
		}
	})
}

// It looks at so many rows in a second, and no more.
func TestMaintainRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := fillSojourns(t, newWatched(), 5000, "a")
		for rate, want := range map[int]time.Duration{0: 5 * time.Second, 500: 10 * time.Second, -1: 0} {
			began := time.Now()
			if err := store.Maintain(t.Context(), &repo.MaintainOptions{Rate: rate}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took < want || took > want+time.Second {
				t.Errorf("at %d rows a second 5000 took %v, want %v", rate, took, want)
			}
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A turn that is interrupted goes on where it was: by its context at once, by the death of its
// program when nothing was heard of it for some minutes. Until then others leave it alone.
func TestMaintainGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		store := fillSojourns(t, s, 5000, "a")
		time.Sleep(2 * time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		err := store.Maintain(ctx, nil)
		cancel()
		first := s.rows("a")
		if !errors.Is(err, context.DeadlineExceeded) || first < 2000 || first > 4000 {
			t.Fatalf("after three seconds %d rows were walked, %v", first, err)
		}
		var n turns
		if err := store.Maintain(t.Context(), &repo.MaintainOptions{Done: n.add}); err != nil {
			t.Fatal(err)
		}
		if rest := s.rows("a") - first; rest > 5000-first+300 || first+rest < 5000 {
			t.Errorf("%d rows were walked, then %d, of 5000", first, rest)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		store := fillSojourns(t, s, 20_000, "a")
		stuck, hold := make(chan struct{}), make(chan struct{})
		s.onChunk = func(table *driver.Table) {
			if table.Name == "a" && s.rows("a") > 15_000 {
				s.onChunk = nil
				close(stuck)
				<-hold // its program is dead
			}
		}
		ended := make(chan error)
		go func() { ended <- repo.NewStore(s, nil).Maintain(t.Context(), nil) }()
		<-stuck
		before := s.rows("a")
		err := store.Maintain(t.Context(), nil)
		if e, ok := errors.AsType[*repo.Error](err); !errors.Is(err, repo.ErrConflict) || !ok || !e.Retryable || s.rows("a") != before {
			t.Errorf("while another one is at it: %v", err)
		}
		time.Sleep(4 * time.Minute)
		if err := store.Maintain(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if rest := s.rows("a") - before; rest < 5000 || rest > 12_000 { // what was noted last is some seconds old
			t.Errorf("%d rows were walked, then %d, of 20000", before, rest)
		}
		close(hold)
		if err := <-ended; !errors.Is(err, repo.ErrConflict) {
			t.Errorf("the one that was stuck ends with %v, want ErrConflict", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A mark that the store knows no more lets the turn begin anew.
func TestMaintainAfterABadMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		store := fillSojourns(t, s, 3000, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := store.Maintain(ctx, nil); err == nil {
			t.Fatal("it was not interrupted")
		}
		cancel()
		bad := &badMarks{watchedStore: s}
		other := repo.NewStore(bad, nil)
		before := s.rows("a")
		if err := other.Maintain(t.Context(), nil); err != nil || s.rows("a")-before != 3000 || bad.refused != 1 {
			t.Errorf("%d rows, %d marks refused, %v; want all 3000", s.rows("a")-before, bad.refused, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

type badMarks struct {
	*watchedStore
	refused int
}

func (s *badMarks) Walk(ctx context.Context, t *driver.Table, mark string) iter.Seq2[driver.Chunk, error] {
	if mark != "" {
		s.refused++
		return func(yield func(driver.Chunk, error) bool) { yield(driver.Chunk{}, driver.ErrInvalid) }
	}
	return s.watchedStore.Walk(ctx, t, mark)
}

// What another program adds to a schema, and an upkeep comes upon, is nothing to the
// repositories that are open.
func TestMaintainDisturbsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newWatched()
		schema := repo.Schema{Collection: "songs", Partition: []string{"id"}}
		store, other := repo.NewStore(s, nil), repo.NewStore(s, nil)
		songs, err := repo.Open[song](t.Context(), store, schema)
		if err != nil {
			t.Fatal(err)
		}
		schema.Indexes = []repo.Index{{Name: "by_year", Partition: []string{"year"}, Kind: "native"}}
		if _, err := repo.Open[song](t.Context(), other, schema, repo.WithBuild()); err != nil {
			t.Fatal(err)
		}
		if err := store.Maintain(t.Context(), nil); err != nil {
			t.Error(err)
		}
		if err := songs.Insert(t.Context(), &song{ID: "1"}); err != nil {
			t.Errorf("an insert after it: %v", err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}
