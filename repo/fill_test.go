package repo_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/backends/memory"
	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A fillStore is a store of several programs of which one fills an index.
type fillStore struct {
	common
	takes time.Duration // a commit of a filler
	meets answer        // the first commit

	mu    sync.Mutex
	under int   // commits
	most  int   // at the same time
	sizes []int // records of each
	began time.Time
	ended time.Time // of the last
}

// An answer is what becomes of a commit that would be sent.
type answer func(send func() (*driver.Refusal, error)) (*driver.Refusal, error)

// Commit counts those of records that are not written anew, or as they were: nobody else has such.
func (s *fillStore) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	records := 0
	for i := range ops {
		if op := &ops[i]; op.Table.Name == "logins" && op.If == driver.AtRev && op.Do == driver.Fence {
			records++
		}
	}
	send := func() (*driver.Refusal, error) { return s.common.Commit(ctx, token, ops) }
	if records == 0 {
		return send()
	}
	s.mu.Lock()
	if s.under++; s.began.IsZero() {
		s.began = time.Now()
	}
	s.most = max(s.most, s.under)
	s.sizes = append(s.sizes, records)
	meets := s.meets
	s.meets = nil
	s.mu.Unlock()
	time.Sleep(s.takes)
	defer func() {
		s.mu.Lock()
		s.under, s.ended = s.under-1, time.Now()
		s.mu.Unlock()
	}()
	if meets != nil {
		return meets(send)
	}
	return send()
}

// filledBy fills an index of a hundred records.
func filledBy(t *testing.T, s *fillStore, option repo.OpenOption) {
	t.Helper()
	store := repo.NewStore(s, nil)
	defer store.Close()
	before := must[login](t, store, indexed())
	for i := range 100 {
		if err := before.Insert(t.Context(), &login{fmt.Sprint(i), "u", int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	after := must[login](t, store, indexed(repo.Index{Name: "x", Partition: []string{"user"}, Sort: []string{"seen"}}), option)
	if err := after.Ready(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	checkClean(t, after)
}

// A filler that was given no rate leaves room for writers, one that was given a great one does not.
func TestFillPolitely(t *testing.T) {
	for _, tt := range []struct {
		option repo.OpenOption
		size   int // of a commit
		most   int // commits at once
		takes  time.Duration
	}{
		{repo.WithBuild(), 8, 1, 12500 * time.Millisecond}, // 13 commits, and a rest between each two
		{repo.WithBuildRate(1_000_000), 32, 4, 500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &fillStore{common: newCommon(&memory.Options{Uncertain: true}), takes: 500 * time.Millisecond}
			filledBy(t, s, tt.option)
			sum := 0
			for _, n := range s.sizes {
				sum += n
			}
			if largest := slices.Max(s.sizes); sum != 100 || largest != tt.size || s.most != tt.most || s.ended.Sub(s.began) != tt.takes {
				t.Errorf("%d records in commits of %d at most, %d at once, in %s; want 100, %d, %d, %s",
					sum, largest, s.most, s.ended.Sub(s.began), tt.size, tt.most, tt.takes)
			}
		})
	}
}

// Of a commit that is refused, or whose answer is lost, one record after the other gets its row.
func TestFillOneByOne(t *testing.T) {
	for name, meets := range map[string]func(*testing.T, *fillStore) answer{
		"another writer was faster": overtaken,
		"no answer": func(*testing.T, *fillStore) answer {
			return func(send func() (*driver.Refusal, error)) (*driver.Refusal, error) {
				if refusal, err := send(); refusal != nil || err != nil {
					return refusal, err
				}
				return nil, driver.ErrUnknownOutcome
			}
		},
		"nor was it done": func(*testing.T, *fillStore) answer {
			return func(func() (*driver.Refusal, error)) (*driver.Refusal, error) { return nil, driver.ErrUnknownOutcome }
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &fillStore{common: newCommon(&memory.Options{Uncertain: true})}
			s.meets = meets(t, s)
			filledBy(t, s, repo.WithBuildRate(1_000_000))
			single := 0
			for _, n := range s.sizes {
				if n == 1 {
					single++
				}
			}
			if first := s.sizes[0]; first < 2 || single < first { // those beside it may be overtaken, too
				t.Errorf("%s: commits of %v records, want that those of the first are done one by one", name, s.sizes)
			}
		})
	}
}

// overtaken lets another program change the records first.
func overtaken(t *testing.T, s *fillStore) answer {
	return func(send func() (*driver.Refusal, error)) (*driver.Refusal, error) {
		other := must[login](t, s.program(t), indexed())
		for i := range 100 {
			if _, err := other.Patch(t.Context(), repo.Key{fmt.Sprint(i)}, repo.Add("seen", 1000)); err != nil {
				t.Error(err)
			}
		}
		refusal, err := send()
		if refusal == nil {
			t.Errorf("the commit was not refused: %v", err)
		}
		return refusal, err
	}
}
