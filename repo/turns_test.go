package repo_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A sluggish store takes its time for a commit, and counts those that were refused.
type sluggish struct {
	driver.Store
	refused atomic.Int64
}

func (s *sluggish) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	time.Sleep(time.Millisecond)
	refusal, err := s.Store.Commit(ctx, token, ops)
	if refusal != nil {
		s.refused.Add(1)
	}
	return refusal, err
}

// Groups of one program that want the same record go one after the other, whatever else they write.
func TestTurnsOfGroups(t *testing.T) {
	t.Parallel()
	const writers, each = 32, 10
	s := &sluggish{Store: memory.New(nil)}
	l := openLibrary(t, s, nil)
	if err := l.shelves.Insert(t.Context(), &shelf{Owner: "ann", Name: "top"}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				g := l.store.Group()
				name := fmt.Sprint(w, "-", i)
				l.books.In(g).Insert(&book{Owner: "ann", Title: name, Code: name})
				l.shelves.In(g).Update(repo.Key{"ann", "top"}, func(s *shelf) error { s.Books++; return nil })
				if err := g.Commit(t.Context()); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	all.Wait()
	top, err := l.shelves.Get(t.Context(), repo.Key{"ann", "top"})
	if err != nil || top.Books != writers*each {
		t.Errorf("%d books are counted, %v; want %d", top.Books, err, writers*each)
	}
	if n := s.refused.Load(); n > writers*each/2 {
		t.Errorf("%d commits were refused of %d that were done", n, writers*each)
	}
}

// Two groups that want the same two records, each in the other's order, do not wait for each other.
func TestTurnsOfCrossedGroups(t *testing.T) {
	t.Parallel()
	s := &sluggish{Store: memory.New(nil)}
	l := openLibrary(t, s, nil)
	for _, name := range []string{"a", "b"} {
		if err := l.shelves.Insert(t.Context(), &shelf{Owner: "ann", Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for range 5 {
				g := l.store.Group()
				for i := range 2 {
					l.shelves.In(g).Update(repo.Key{"ann", string(rune('a' + (i+w)%2))}, func(s *shelf) error { s.Books++; return nil })
				}
				if err := g.Commit(t.Context()); err != nil {
					t.Errorf("writer %d: %v", w, err)
				}
			}
		})
	}
	all.Wait()
	for _, name := range []string{"a", "b"} {
		if got, err := l.shelves.Get(t.Context(), repo.Key{"ann", name}); err != nil || got.Books != 16*5 {
			t.Errorf("%d books are counted, %v; want %d", got.Books, err, 16*5)
		}
	}
}
