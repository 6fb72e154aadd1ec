package repo_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/polystore/polystore/repo"
	"github.com/polystore/polystore/repo/driver"
)

// A silent store answers no drop of a claim, when it was told so.
type silent struct {
	*narrow
	told  atomic.Bool
	asked atomic.Int64
}

func (s *silent) Commit(ctx context.Context, token driver.Token, ops []driver.Op) (*driver.Refusal, error) {
	if s.told.Load() && ops[0].Do == driver.Delete && ops[0].Table.Class == driver.Claims {
		s.asked.Add(1)
		<-ctx.Done()
		return nil, fmt.Errorf("silent: %w", driver.ErrTimeout)
	}
	return s.narrow.Commit(ctx, token, ops)
}

// A store that is silent keeps no program from its end, however much is to be dropped.
func TestCloseBesideASilentStore(t *testing.T) {
	const records = 50
	synctest.Test(t, func(t *testing.T) {
		s := &silent{narrow: newNarrow()}
		store := repo.NewStore(s, nil)
		r, err := repo.Open[member](t.Context(), store, memberSchema)
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			insertMember(t, r, member{ID: fmt.Sprint(i), Mail: mail(fmt.Sprint("old ", i))})
		}
		s.told.Store(true)
		for i := range records {
			m := member{ID: fmt.Sprint(i), Mail: mail(fmt.Sprint("new ", i))}
			if err := r.Put(t.Context(), &m); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Minute || s.asked.Load() == 0 {
			t.Errorf("Close took %s, with %d drops that were asked for; want a minute at most, and some", took, s.asked.Load())
		}
	})
}
