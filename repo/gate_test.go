package repo_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
	"github.com/polystore/polystore/repotest"
)

// forever is longer than what does not hang can take on any machine.
const forever = 30 * time.Second

// untilLate calls fn with a deadline that is near until it fails, and returns how.
func untilLate(t *testing.T, fn func(ctx context.Context) error) error {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		for {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			err := fn(ctx)
			cancel()
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-time.After(forever):
		return errors.New("it hangs")
	}
}

// Who waits at the gate of a collection, because somebody within waits for a store that
// does not answer, waits no longer than the context lasts.
func TestDeadlinesAtTheGate(t *testing.T) {
	for _, tt := range []struct {
		stuck repotest.Call
		slow  func(r *repo.Repo[thing], store *repo.Store) error
		late  func(ctx context.Context, r *repo.Repo[thing], store *repo.Store) error
	}{
		{repotest.Define, opening, putting},
		{repotest.Commit, puttingForever, func(ctx context.Context, _ *repo.Repo[thing], store *repo.Store) error {
			_, err := repo.Open[thing](ctx, store, thingSchema())
			return err
		}},
		{repotest.Commit, puttingForever, func(ctx context.Context, _ *repo.Repo[thing], store *repo.Store) error {
			return repo.DropIndex(ctx, store, "things", "by_group")
		}},
	} {
		t.Run(tt.stuck.String(), func(t *testing.T) {
			s, err := repotest.New(memory.New(nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			store := repo.NewStore(s, nil)
			r, err := repo.Open[thing](t.Context(), store, thingSchema())
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Set(repotest.Rule{On: tt.stuck, Fault: repotest.Blocked, Table: "things"}); err != nil {
				t.Fatal(err)
			}
			var slow sync.WaitGroup
			slow.Go(func() {
				if err := tt.slow(r, store); err != nil {
					t.Errorf("the call that waited for the store: %v", err)
				}
			})
			err = untilLate(t, func(ctx context.Context) error {
				if err := tt.late(ctx, r, store); !errors.Is(err, repo.ErrNotFound) { // of the index
					return err
				}
				return nil
			})
			if !errors.Is(err, repo.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call with a deadline beside it: %v, want ErrTimeout and the context's error", err)
			}
			if err := s.Set(); err != nil {
				t.Fatal(err)
			}
			s.Release()
			slow.Wait()
			if err := putting(t.Context(), r, store); err != nil {
				t.Errorf("put when all is over: %v", err)
			}
		})
	}
}

func opening(_ *repo.Repo[thing], store *repo.Store) error {
	_, err := repo.Open[thing](context.Background(), store, thingSchema())
	return err
}

func putting(ctx context.Context, r *repo.Repo[thing], _ *repo.Store) error {
	return r.Put(ctx, &thing{ID: "a"})
}

func puttingForever(r *repo.Repo[thing], store *repo.Store) error {
	return putting(context.Background(), r, store)
}

type lease struct {
	ID      string    `repo:"id"`
	Mail    string    `repo:"mail"`
	Expires time.Time `repo:",expires"`
}

var leaseSchema = repo.Schema{Collection: "leases", Partition: []string{"id"},
	Indexes: []repo.Index{{Partition: []string{"mail"}, Unique: true}}}

// openLeases returns leases on a store whose clock is now.
func openLeases(t *testing.T, s *narrow, now *time.Time) (*repo.Store, *repo.Repo[lease]) {
	t.Helper()
	store := repo.NewStore(s, &repo.Options{Now: func() time.Time { return *now }})
	r, err := repo.Open[lease](t.Context(), store, leaseSchema)
	if err != nil {
		t.Fatal(err)
	}
	return store, r
}

func insertLease(t *testing.T, r *repo.Repo[lease], l lease) {
	t.Helper()
	if err := r.Insert(t.Context(), &l); err != nil {
		t.Fatal(err)
	}
}

// comesBack fails the test if fn hangs.
func comesBack(t *testing.T, what string, fn func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		return err
	case <-time.After(forever):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// A writer that finds an expired owner of its unique value deletes that first. It is
// within the gate then, and somebody else may be waiting there to be alone.
func TestExpiredOwnerWhileOthersOpen(t *testing.T) {
	s, now := newNarrow(), time.Now()
	store, r := openLeases(t, s, &now)
	insertLease(t, r, lease{ID: "b", Mail: "x", Expires: now.Add(time.Second)})
	now = now.Add(time.Minute)
	opened := make(chan error, 1)
	var once sync.Once
	s.meddle(func(op *driver.Op) fate {
		if op.Table.Class == driver.Claims {
			once.Do(func() {
				go func() {
					_, err := repo.Open[lease](context.Background(), store, leaseSchema)
					opened <- err
				}()
				time.Sleep(100 * time.Millisecond) // it waits by now, most likely
			})
		}
		return asUsual
	})
	err := comesBack(t, "the insert", func() error { return r.Insert(context.Background(), &lease{ID: "a", Mail: "x"}) })
	if err != nil {
		t.Errorf("insert with the value of one that has expired: %v", err)
	}
	if err := comesBack(t, "the open", func() error { return <-opened }); err != nil {
		t.Errorf("open: %v", err)
	}
	if l, err := r.One(t.Context(), repo.Where("mail", "x")); err != nil || l.ID != "a" {
		t.Errorf("%q has the value, %v; want a", l.ID, err)
	}
}

// loseClaims removes the claims of the leases, as a server that fails over may.
func loseClaims(t *testing.T, s *narrow) {
	t.Helper()
	table := s.tables["leases.by_mail"]
	for chunk, err := range s.Walk(t.Context(), table, "") {
		if err != nil {
			t.Fatal(err)
		}
		for i := range chunk.Rows {
			row := &chunk.Rows[i]
			op := driver.Op{Do: driver.Delete, Table: table, Row: driver.Row{Key: row.Key}, If: driver.AtRev, Rev: row.Rev}
			if refusal, err := s.Commit(t.Context(), driver.NewToken(), []driver.Op{op}); refusal != nil || err != nil {
				t.Fatal(refusal, err)
			}
		}
	}
}

// Rebuild gives a record its unique value back also where one that has expired since
// has taken it.
func TestRebuildBesideAnExpiredOwner(t *testing.T) {
	s, now := newNarrow(), time.Now()
	_, r := openLeases(t, s, &now)
	insertLease(t, r, lease{ID: "a", Mail: "x"})
	loseClaims(t, s)
	insertLease(t, r, lease{ID: "b", Mail: "x", Expires: now.Add(time.Second)})
	now = now.Add(time.Minute)
	if err := comesBack(t, "the rebuild", func() error { return r.Rebuild(context.Background(), "by_mail") }); err != nil {
		t.Errorf("rebuild: %v", err)
	}
	if l, err := r.One(t.Context(), repo.Where("mail", "x")); err != nil || l.ID != "a" {
		t.Errorf("%q has the value, %v; want a", l.ID, err)
	}
}
